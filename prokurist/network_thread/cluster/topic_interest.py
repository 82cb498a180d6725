"""Which topics the client wants to know of.

Thread: the network thread alone.

What is read lasts, for as long as it is assigned; a call's interest goes with the
call. Nothing else is ever asked for; unless somebody looks for topics by a pattern:
then all that there are.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager

from prokurist.network_thread.broker_errors import invalid_topics

LONGEST_NAME = 32767
"""Bytes that the protocol has room for; Kafka's own limit, 249, is the broker's to say."""


class TopicInterest:
    """See the module.

    Args:
        lasting: Tells the topics that are read at the moment.
        follows_pattern: Tells whether these are what a pattern matches.

    Attributes:
        everything: Whether somebody wants to know of every topic that there is.
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
        """Be interested in topics for as long as this lasts.

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
        """All that somebody is interested in at the moment."""
        return self._read() | self._tracked.keys()

    @property
    def of_nobody(self) -> frozenset[str]:
        """Those that no call asks about: what is wrong with them is told to the next poll."""
        return self._read() - self._tracked.keys()

    @property
    def may_create(self) -> bool:
        """Whether asking for these topics may have a broker create them.

        What a pattern matches is only ever found, and not named by the user: asked for by
        name after it was deleted, it would come back.
        """
        return not self._follows_pattern()

    def _read(self) -> frozenset[str]:
        # Whoever asks for a position in a topic of another name hears that it is none.
        return frozenset(filter(can_be_sent, self._lasting()))

    def __repr__(self) -> str:
        return f"Interest({len(self.topics)} topics)"


def check_names(names: Iterable[str]) -> None:
    """See that the protocol has room for some names.

    Raises:
        InvalidTopicException: It has none for these.
    """
    bad = tuple(sorted(name for name in names if not can_be_sent(name)))
    if bad:
        raise invalid_topics(bad)


def can_be_sent(name: str) -> bool:
    """Whether the protocol can carry a name, whatever brokers think of it."""
    try:
        return len(name.encode()) <= LONGEST_NAME
    except UnicodeEncodeError:
        return False
