"""The topics that metadata requests ask for.

Thread: the network thread alone.

What is read lasts, for as long as it is assigned; a call's interest goes with the
call. Nothing else is ever asked for, but for a subscription by a pattern, which
needs all topics.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager

from prokurist.network_thread.broker_errors import invalid_topics

LONGEST_NAME = 32767
"""Bytes that the protocol has room for; Kafka's own limit, 249, is the broker's to say."""


class TopicInterest:
    """The topics that the client reads, and those that calls ask about.

    Args:
        lasting: Tells the topics that are read at the moment.
        follows_pattern: Tells whether these are what a pattern matches.

    Attributes:
        everything: Whether all topics are asked for, because of a pattern.
    """

    def __init__(
        self, lasting: Callable[[], frozenset[str]], follows_pattern: Callable[[], bool]
    ) -> None:
        self._lasting = lasting
        self._follows_pattern = follows_pattern
        self._tracked: Counter[str] = Counter()
        self.everything: bool = False

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
        """Whether asking for these topics may have a broker create them.

        What a pattern matches is only ever found, and not named by the user: asked for by
        name after it was deleted, it would come back.
        """
        return not self._follows_pattern()

    @property
    def read(self) -> frozenset[str]:
        """The topics that are read, regardless of calls that ask about them."""
        # A call about a topic of another name is refused as invalid.
        return frozenset(filter(can_be_sent, self._lasting()))

    def __repr__(self) -> str:
        return f"Interest({len(self.topics)} topics)"


def check_names(names: Iterable[str]) -> None:
    """Raise if topics have names that the protocol cannot carry.

    Raises:
        InvalidTopicException: It has none for these.
    """
    bad = tuple(sorted(name for name in names if not can_be_sent(name)))
    if bad:
        raise invalid_topics(bad)


def can_be_sent(name: str) -> bool:
    """Whether the protocol can carry a name, valid or not."""
    try:
        return len(name.encode()) <= LONGEST_NAME
    except UnicodeEncodeError:
        return False
