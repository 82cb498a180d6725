"""Judges whether readable records are returned within their bound.

The judge knows nothing of brokers or clients: an adapter says at each look what is due of
which partition, and what has befallen partitions in between. Time is what the adapter
says it is.
"""

import math
from collections.abc import Callable, Collection, Hashable, Mapping
from dataclasses import dataclass
from typing import Generic, TypeVar

from tests.oracles.bounds import Settings, returned_within

Key = TypeVar("Key", bound=Hashable)

TOLD = 20


@dataclass(slots=True)
class Wait:
    """What is known of one partition.

    Attributes:
        befell: When something last befell it: it was assigned, resumed or sought, its leader
            moved or could be reached again.
        owed: Since when a record has been due that nothing excuses; infinite for none.
    """

    befell: float
    owed: float = math.inf


class Liveness(Generic[Key]):
    """Holds a reader against the bound; see the module.

    Args:
        settings: The reader's.
        polls: The longest time between two of its polls.

    Attributes:
        wrongs: Records that were not returned in time, in words; each partition once until
            it goes on.
        longest: The longest that a record was due.
    """

    def __init__(self, settings: Settings, polls: float = 0.0) -> None:
        self.settings = settings
        self.wrongs: list[str] = []
        self.longest = 0.0
        self._polls = polls
        self._waits: dict[Key, Wait] = {}
        self._silent_until = -math.inf
        self._told: set[Key] = set()

    def befell(self, now: float, keys: Collection[Key] | None = None) -> None:
        """Something has befallen partitions, or all: their time begins again."""
        for key in list(self._waits) if keys is None else keys:
            if (wait := self._waits.get(key)) is not None:
                wait.befell = now

    def silent(self, now: float) -> None:
        """A broker takes requests and does not answer, or has done so until now."""
        self._silent_until = max(self._silent_until, now)

    def returned(self, key: Key, now: float) -> None:
        """A record of a partition was returned: the next one has its own time."""
        self._told.discard(key)
        if (wait := self._waits.get(key)) is not None and wait.owed < math.inf:
            wait.owed = now

    def away(self, seconds: float) -> None:
        """The application did not poll for so long, which is no fault of the client."""
        for wait in self._waits.values():
            wait.befell += seconds
            wait.owed += seconds

    def settled(self, key: Key, now: float) -> bool:
        """Whether nothing has befallen a partition for so long that its position is known."""
        wait = self._waits.get(key)
        return wait is not None and now - wait.befell > self.bound(wait.befell)

    def bound(self, since: float) -> float:
        """The bound for what has been due since a moment."""
        return returned_within(
            self.settings, silent=self._silent_until >= since, polls=self._polls
        )

    def look(
        self,
        now: float,
        due: Mapping[Key, object | None],
        describe: Callable[[Key], str] = str,
    ) -> None:
        """Judge what is due now.

        Args:
            now: The time.
            due: For each partition that is assigned, not paused, and whose leader can be
                reached: the record that has to be returned next; None where there is none.
            describe: What else to say of a partition whose record is overdue.
        """
        for key in [each for each in self._waits if each not in due]:
            del self._waits[key]
        for key, record in due.items():
            wait = self._waits.setdefault(key, Wait(now))
            if record is None:
                wait.owed = math.inf
                self._told.discard(key)
                continue
            wait.owed = min(wait.owed, now)
            since = max(wait.owed, wait.befell)
            self.longest = max(self.longest, now - since)
            bound = self.bound(since)
            if now - since > bound and key not in self._told:
                self._told.add(key)
                self._wrong(
                    f"liveness: {describe(key)}: {record} has been due for "
                    f"{now - since:.1f} s, and the bound is {bound:.1f} s"
                )

    def _wrong(self, words: str) -> None:
        if len(self.wrongs) < TOLD:
            self.wrongs.append(words)
