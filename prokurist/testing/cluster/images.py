"""Past metadata of the cluster, for brokers that learn of changes late.

Each broker follows the cluster's metadata log by itself, in order: its image is a past state of
the cluster. Images are kept only while a broker lags.

Thread: the one that drives the model.
"""

from collections.abc import Iterable, Mapping
from copy import copy
from typing import Final

from prokurist.lazy_dataclasses import dataclass
from prokurist.testing.cluster.topics import Topic

APART: Final = 1e-6
"""Least time between two images, in seconds: one replaces the other later."""

ROUNDING: Final = 1e-9


@dataclass(slots=True)
class Lag:
    """Delay with which a broker learns of metadata.

    Attributes:
        seconds: How late; infinite for metadata that stand still.
        since: The start of the delay: the image is never older than its state then.
    """

    seconds: float = 0.0
    since: float = 0.0

    def moment(self, now: float) -> float:
        """Return the time of the image known now."""
        return max(self.since, now - self.seconds)


@dataclass(frozen=True, slots=True)
class Image:
    """The cluster's metadata from a moment on.

    Attributes:
        at: The moment.
        topics: Topics by name; their partitions share log and copies with the real ones.
        registered: The brokers that are counted on.
    """

    at: float
    topics: dict[str, Topic]
    registered: frozenset[int]


class Images:
    """The images that a broker may still know, oldest first."""

    __slots__ = ("_facts", "_images")

    def __init__(self) -> None:
        self._images: list[Image] = []
        self._facts: tuple[object, ...] = ()

    def __repr__(self) -> str:
        return f"Images({len(self._images)})"

    def note(
        self, now: float, topics: Mapping[str, Topic], registered: Iterable[int]
    ) -> float | None:
        """Keep an image of the present; return its time, or None if nothing has changed."""
        known = frozenset(registered)
        # Compared before anything is copied: nearly always nothing has changed.
        facts = (known, *(facts_of(topic) for topic in topics.values()))
        if self._images and facts == self._facts:
            return None
        at = max(now, self._images[-1].at + APART) if self._images else now
        self._images.append(
            Image(at, {name: copied(topic) for name, topic in topics.items()}, known)
        )
        self._facts = facts
        return at

    def at(self, moment: float) -> Image:
        """Return the image of a moment; of moments before the first image, the first."""
        known = [each for each in self._images if each.at <= moment + ROUNDING]
        return known[-1] if known else self._images[0]

    def is_latest(self, moment: float) -> bool:
        """True if nothing has changed since a moment."""
        return not self._images or self._images[-1].at <= moment + ROUNDING

    def forget(self, before: float) -> None:
        """Drop images that are outdated at a moment."""
        while len(self._images) > 1 and self._images[1].at <= before + ROUNDING:
            del self._images[0]


def copied(topic: Topic) -> Topic:
    """A topic as it is now: leaders and ISRs stay as they are, logs are the real ones."""
    partitions = [copy(each) for each in topic.partitions]
    for each in partitions:
        each.isr = list(each.isr)
    return Topic(topic.name, topic.id, partitions, topic.config)


def facts_of(topic: Topic) -> tuple[object, ...]:
    """Return the facts of a topic that metadata show, to compare them."""
    parts = (
        (each.leader, each.epoch, tuple(each.isr), each.replicas) for each in topic.partitions
    )
    return (topic.name, topic.id, *parts)
