"""One visit to the cluster: clients for as long as one call, under one deadline.

Thread: the caller's.
Invariants: every look-up gets the time left until the deadline, and no more; at the end of a
visit, also by an error, its clients are closed. A late visit ends in one TimeoutException,
about the whole of it.

A client that lasts no longer than a call can be used by no second thread, is lost in no
fork, and keeps no connection open for a job that commits once an hour. For that a call
costs ten milliseconds more.
"""

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import replace
from datetime import timedelta
from typing import Final, TypeVar

from prokurist.consumer.consumer import KafkaConsumer
from prokurist.errors import (
    CommitFailedException,
    KafkaException,
    TimeoutException,
    UnknownTopicOrPartitionException,
)
from prokurist.events.clock import Clock, Deadline, as_seconds
from prokurist.spark.errors import GroupInUseException
from prokurist.types import OffsetAndMetadata, PartitionInfo, TopicPartition, named

CLOSE: Final = 5.0
"""Seconds for closing a client, where the deadline leaves as many."""

Topics = str | TopicPartition | re.Pattern[str] | Iterable[str | TopicPartition]
Answer = TypeVar("Answer")


@contextmanager
def visiting(
    operation: str, keys: Mapping[str, object], timeout: float | timedelta, clock: Clock
) -> Iterator["ClusterSession"]:
    """Open a `ClusterSession` for one call, and close it.

    Args:
        operation: Its purpose, for errors.
        keys: The clients' configuration.
        timeout: Seconds for all of it.
        clock: The clock.

    Raises:
        TimeoutException: The time is over.
    """
    began = clock.now()
    visit = ClusterSession(keys, Deadline.after(began, timeout), clock)
    try:
        yield visit
    except TimeoutException as error:
        raise retold(
            error, operation, as_seconds(timeout), clock.now() - began
        ) from error.__cause__
    finally:
        visit.close()


class ClusterSession:
    """Clients for one call, under one deadline; an `OffsetLookup`."""

    def __init__(self, keys: Mapping[str, object], deadline: Deadline, clock: Clock) -> None:
        self._keys = keys
        self._deadline = deadline
        self._clock = clock
        self._clients: dict[str | None, KafkaConsumer] = {}
        self._beginnings: dict[TopicPartition, int] = {}
        self._ends: dict[TopicPartition, int] = {}

    def close(self) -> None:
        """Close the clients within the time left."""
        for client in self._clients.values():
            with suppress(KafkaException):
                client.close(min(self.left(), CLOSE))

    def left(self) -> float:
        """The seconds until the deadline."""
        return self._deadline.remaining(self._clock.now())

    def partitions(self, topics: Topics) -> dict[TopicPartition, PartitionInfo]:
        """The partitions of topics, in order.

        Args:
            topics: Names, partitions, or a pattern that matches whole names; Kafka's own
                topics, whose names begin with two underscores, are matched by none.

        Raises:
            UnknownTopicOrPartitionException: One of them does not exist.
        """
        client = self._client(None)
        if isinstance(topics, re.Pattern):
            listed = client.list_topics(self.left())
            fitting = [
                info
                for name, infos in listed.items()
                if topics.fullmatch(name) and not name.startswith("__")
                for info in infos
            ]
            if not fitting:
                raise UnknownTopicOrPartitionException(
                    f"no topic's whole name matches {topics.pattern!r}"
                )
            return _by_partition(fitting)
        wanted = _names_and_partitions(topics)
        names = {each if isinstance(each, str) else each.topic for each in wanted}
        listed = client.list_topics(self.left(), topics=names)
        chosen: dict[TopicPartition, PartitionInfo] = {}
        for each in wanted:
            topic = each if isinstance(each, str) else each.topic
            if not listed.get(topic):
                raise UnknownTopicOrPartitionException(
                    f"the topic {topic!r} does not exist: is its name right?"
                )
            found = _by_partition(listed[topic])
            if isinstance(each, str):
                chosen.update(found)
            elif each in found:
                chosen[each] = found[each]
            else:
                raise UnknownTopicOrPartitionException(
                    f"{each} does not exist: {topic} has the partitions 0 to {len(found) - 1}"
                )
        return dict(sorted(chosen.items()))

    def all_partitions(self) -> dict[TopicPartition, PartitionInfo]:
        """All partitions that the user may describe."""
        listed = self._client(None).list_topics(self.left())
        return _by_partition(info for infos in listed.values() for info in infos)

    def beginnings(self, partitions: Collection[TopicPartition]) -> dict[TopicPartition, int]:
        """See `OffsetLookup`; known answers are not requested again."""
        return _remembered(
            self._beginnings,
            partitions,
            lambda asked: self._client(None).beginning_offsets(asked, self.left()),
        )

    def ends(self, partitions: Collection[TopicPartition]) -> dict[TopicPartition, int]:
        """See `OffsetLookup`; known answers are not requested again."""
        return _remembered(
            self._ends,
            partitions,
            lambda asked: self._client(None).end_offsets(asked, self.left()),
        )

    def at_times(
        self, moments: Mapping[TopicPartition, int]
    ) -> dict[TopicPartition, int | None]:
        """See `OffsetLookup`."""
        found = self._client(None).offsets_for_times(moments, self.left())
        return {tp: None if at is None else at.offset for tp, at in found.items()}

    def committed(
        self, group: str | None, partitions: Collection[TopicPartition]
    ) -> dict[TopicPartition, int | None]:
        """See `OffsetLookup`."""
        found = self.notes(group, partitions)
        return {tp: None if kept is None else kept.offset for tp, kept in found.items()}

    def notes(
        self, group: str | None, partitions: Collection[TopicPartition]
    ) -> dict[TopicPartition, OffsetAndMetadata | None]:
        """Committed offsets with their metadata."""
        return self._client(group).committed(partitions, self.left())

    def commit(self, group: str, offsets: Mapping[TopicPartition, OffsetAndMetadata]) -> None:
        """Commit for a group without being a member.

        Raises:
            GroupInUseException: It has members.
        """
        try:
            self._client(group).commit_sync(offsets, self.left())
        except CommitFailedException as error:
            # A coordinator takes a stranger's commit only while a group has no members.
            raise GroupInUseException(
                f"the group {group!r} has live members, whose own commits these would "
                f"contradict, and nothing was committed for {named(offsets)}: stop them, or "
                "commit for another group",
                group=group,
            ) from error

    def _client(self, group: str | None) -> KafkaConsumer:
        """The client of a group; without one, any client that is open."""
        own = self._keys.get("group.id")
        key = group if group is not None else None if own is None else str(own)
        if key not in self._clients:
            given = dict(self._keys)
            if key is not None:
                given["group.id"] = key
            self._clients[key] = KafkaConsumer(given)
        return self._clients[key]


def retold(
    error: TimeoutException, operation: str, timeout: float, elapsed: float
) -> TimeoutException:
    """The error of a look-up as that of the whole call."""
    before = max(0.0, elapsed - (error.elapsed or 0.0))
    return TimeoutException(
        operation=f"{operation} (its {error.operation})",
        timeout=timeout,
        elapsed=elapsed,
        partitions=error.partitions,
        topic=error.topic,
        attempts=[
            replace(
                each,
                started=each.started + before,
                ended=None if each.ended is None else each.ended + before,
            )
            for each in error.attempts
        ],
        waits=[
            replace(each, started=each.started + before, ended=each.ended + before)
            for each in error.waits
        ],
        last_error=error.last_error,
        may_have_happened=error.may_have_happened,
    )


def _by_partition(infos: Iterable[PartitionInfo]) -> dict[TopicPartition, PartitionInfo]:
    return {
        TopicPartition(info.topic, info.partition): info
        for info in sorted(infos, key=lambda each: (each.topic, each.partition))
    }


def _names_and_partitions(topics: Topics) -> list[str | TopicPartition]:
    # A TopicPartition is a tuple, hence iterable: it has to be asked for first.
    if isinstance(topics, (str, TopicPartition)):
        return [topics]
    given: object = topics
    several: list[object] = list(given) if isinstance(given, Iterable) else [given]
    wanted: list[str | TopicPartition] = []
    for each in several:
        if not isinstance(each, (str, TopicPartition)):
            raise TypeError(
                'topics are names, TopicPartitions or a re.Pattern, such as ["orders"], not '
                f"{each!r}"
            )
        wanted.append(each)
    if not wanted:
        raise ValueError("there are no topics: name at least one")
    return wanted


def _remembered(
    known: dict[TopicPartition, int],
    partitions: Collection[TopicPartition],
    ask: Callable[[list[TopicPartition]], Mapping[TopicPartition, int]],
) -> dict[TopicPartition, int]:
    if asked := [tp for tp in partitions if tp not in known]:
        known.update(ask(asked))
    return {tp: known[tp] for tp in partitions}
