"""The topics that metadata requests ask for.

Thread: the network thread alone.

Interest in assigned partitions lasts as long as their assignment; a call's interest goes with
the call. Nothing else is ever requested, except for a subscription by a pattern, which needs
all topics.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from itertools import chain
from typing import NamedTuple

from prokurist.network_thread.broker_errors import invalid_topics

LONGEST_NAME = 32767
"""Bytes that the protocol has room for; Kafka's own limit, 249, is the broker's to say."""


class TopicSource(NamedTuple):
    """The topics that a part of the client uses.

    Attributes:
        topics: Returns the topics that are used at the moment.
        needing_leaders: Returns those that are asked for again while a partition lacks a
            leader. A call that asks about one as well may leave before it asks again.
        follows_pattern: Returns True if the topics are matches of a pattern.
    """

    topics: Callable[[], frozenset[str]]
    needing_leaders: Callable[[], frozenset[str]]
    follows_pattern: Callable[[], bool]


class TopicInterest:
    """The topics that the client uses, and those that calls ask about.

    Attributes:
        everything: True if a pattern needs all topics of the cluster.
    """

    def __init__(self) -> None:
        self._sources: tuple[TopicSource, ...] = ()
        self._tracked: Counter[str] = Counter()
        self.everything: bool = False

    def add(
        self,
        topics: Callable[[], frozenset[str]],
        *,
        needing_leaders: Callable[[], frozenset[str]] | None = None,
        follows_pattern: Callable[[], bool] | None = None,
    ) -> None:
        """Ask for topics for as long as a source names them; see `TopicSource`.

        Without `needing_leaders`, all of them need leaders.
        """
        source = TopicSource(topics, needing_leaders or topics, follows_pattern or never)
        self._sources = (*self._sources, source)

    @contextmanager
    def tracking(self, topics: Iterable[str]) -> Iterator[None]:
        """Ask for topics for as long as the `with` block lasts.

        Raises:
            InvalidTopicException: The protocol has no room for such names. They
                are refused here because they would spoil the question for all others.
        """
        names = frozenset(topics)
        check_names(names)
        for name in names:
            self._tracked[name] += 1
        try:
            yield
        finally:
            for name in names:
                self._tracked[name] -= 1
            self._tracked = +self._tracked

    @property
    def topics(self) -> frozenset[str]:
        """All topics that metadata is needed of at the moment."""
        return self.read | self._tracked.keys()

    @property
    def of_background(self) -> frozenset[str]:
        """The topics that no call asks about: their errors go to the next poll."""
        return self.read - self._tracked.keys()

    @property
    def may_create(self) -> bool:
        """True if requests for these topics may have a broker create them.

        Matches of a pattern are found, and not named by the user: a request by name after a
        deletion would create the topic again.
        """
        return not any(source.follows_pattern() for source in self._sources)

    @property
    def read(self) -> frozenset[str]:
        """The topics that are read, regardless of calls that ask about them."""
        # A call about a topic of another name is refused as invalid.
        names = chain.from_iterable(source.topics() for source in self._sources)
        return frozenset(filter(can_be_sent, names))

    @property
    def needing_leaders(self) -> frozenset[str]:
        """The topics that are asked for again while a partition lacks a leader."""
        names = chain.from_iterable(source.needing_leaders() for source in self._sources)
        return frozenset(filter(can_be_sent, names))

    def __repr__(self) -> str:
        return f"TopicInterest({len(self.topics)} topics)"


def never() -> bool:
    """Stand in for `follows_pattern` where there are no patterns."""
    return False


def check_names(names: Iterable[str]) -> None:
    """Raise if topics have names that the protocol cannot carry.

    Raises:
        InvalidTopicException: It has none for these.
    """
    bad = tuple(sorted(name for name in names if not can_be_sent(name)))
    if bad:
        raise invalid_topics(bad)


def can_be_sent(name: str) -> bool:
    """Return True if the protocol can carry a name, valid or not."""
    try:
        return len(name.encode()) <= LONGEST_NAME
    except UnicodeEncodeError:
        return False
