"""Content and time of the next Metadata request.

Thread: the network thread alone.

Either all topics of interest are wanted, or some that nothing is known of yet: those are
asked for alone (KIP-526), so that one new topic costs no answer about all others. Answers that
say the same again are asked for more and more seldom; a topic that was not asked for yet does
not wait for that, and takes nothing else along that does.
"""

from prokurist.events.backoff import Backoff
from prokurist.network_thread.cluster.topic_interest import TopicInterest
from prokurist.network_thread.operations.timer import Timer


class WantedMetadata:
    """Topics for the next Metadata request, and its earliest time.

    Args:
        interest: All topics that are of interest.
        timer: The Timer.
        backoff: `retry.backoff.ms` and its `.max.`.

    Attributes:
        all: Whether all topics of interest are wanted.
        again: Whether they are wanted once more because some were refused.
        is_second_look: Whether the request that was begun last is for that alone: a refusal
            that it meets again is no news.
        asks_all: Whether the request that was begun last is about them.
        asked_for_everything: Whether the last request was about all topics that there are.
        quiet_until: Until when nothing is asked for that was asked for before.
    """

    def __init__(self, interest: TopicInterest, timer: Timer, backoff: Backoff) -> None:
        self._interest = interest
        self._timer = timer
        self._backoff = backoff
        self.all: bool = False
        self.again: bool = False
        self.is_second_look: bool = False
        self.asks_all: bool = True
        self.asked_for_everything: bool = False
        self.quiet_until: float = timer.now
        self._alone: set[str] = set()
        self._asking_alone: frozenset[str] = frozenset()
        self._asked_for: frozenset[str] = frozenset()
        self._repeated = 0
        self._disputed = 0
        self._is_disputed = False

    def add(self, topic: str) -> None:
        """Want a topic; alone, unless all are asked for anyway."""
        self._alone.add(topic)

    def dispute(self) -> None:
        """Request all topics again, after a pause: answers of brokers contradict each other.

        Brokers that lag answer in turn from their own state, so no answer is like the last one.
        While they do, each pause is longer than the last.
        """
        self.all = True
        if not self._is_disputed:
            self._is_disputed = True
            self._disputed += 1
            pause = self._backoff.pause(self._disputed)
            self.quiet_until = max(self.quiet_until, self._timer.now + pause)

    def clear(self) -> None:
        """Want nothing more."""
        self.all = self.again = False
        self._alone.clear()

    @property
    def is_empty(self) -> bool:
        """Whether nothing is wanted."""
        return not (self.all or self.again or self._alone)

    @property
    def must_wait(self) -> bool:
        """True if the wanted topics were requested recently: the answer is likely the same."""
        return self._is_quiet and not self._has_more

    @property
    def _is_quiet(self) -> bool:
        return self._timer.now < self.quiet_until

    @property
    def _has_more(self) -> bool:
        """True if the last request left out a wanted topic."""
        if self._interest.everything or self.asked_for_everything:
            return self._interest.everything and not self.asked_for_everything
        wanted = self._interest.topics if self.all else self._alone
        return not wanted <= self._asked_for

    def begin(self) -> None:
        """Begin a request for all topics wanted now."""
        if not self._is_disputed:
            self._disputed = 0
        self._is_disputed = False
        new = self._alone - self._asked_for
        others = self._interest.topics - self._asked_for - new
        # What was asked for before stays wanted until the pause is over.
        self.asks_all = self._interest.everything or (
            (self.all or self.again) and not (self._is_quiet and new and not others)
        )
        self.is_second_look = self.again and not self.all
        if self.asks_all:
            self.all = self.again = False
        self._asking_alone = frozenset(self._alone)
        self._alone.clear()

    def names(self) -> tuple[str, ...] | None:
        """The topics to ask for in this attempt; None for all that there are."""
        topics = self._interest.topics
        self.asked_for_everything = self._interest.everything
        alone = self._asking_alone & topics
        if self.asks_all or self.asked_for_everything or not alone:
            # The calls that waited for a new topic may have left.
            self.asks_all = True
            self._asked_for = topics
            return None if self.asked_for_everything else tuple(sorted(topics))
        self._asked_for = (self._asked_for & topics) | alone
        return tuple(sorted(alone))

    def answered(self, *, same: bool, again: bool) -> None:
        """Take note of an answer.

        Args:
            same: True if it had nothing new.
            again: True to request it again.
        """
        if same:
            self._repeated += 1
        elif self.asks_all:
            self._repeated = 0
        if same or again:
            self.quiet_until = self._timer.now + self._backoff.pause(self._repeated)

    def __repr__(self) -> str:
        wanted = "all topics" if self.all else f"{len(self._alone)} topics alone"
        return f"WantedMetadata({wanted})"
