"""Subscriptions with callbacks, assignments and seeks of a confluent-kafka consumer.

Thread: the application's. A part of the face's `Consumer`, which holds what it stands on.

In a rebalance callback librdkafka is told the assignment; here it stands already, and what
the callback says is taken as places to read from.
"""

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, TypeAlias

from prokurist.compat.confluent_kafka.client import ConfluentClient
from prokurist.compat.confluent_kafka.error import KafkaError, KafkaException
from prokurist.compat.confluent_kafka.errors_of import exception_of
from prokurist.compat.confluent_kafka.values import (
    OFFSET_BEGINNING,
    OFFSET_END,
    OFFSET_INVALID,
    OFFSET_STORED,
    TopicPartition,
    ours,
)
from prokurist.consumer.consumer import KafkaConsumer
from prokurist.errors import KafkaException as OurException
from prokurist.types import OffsetAndMetadata
from prokurist.types import TopicPartition as OurPartition

Hears: TypeAlias = Callable[[Any, list[TopicPartition]], object]
"""A rebalance callback: it is given the consumer, and the partitions."""


class Subscribing(ConfluentClient):
    """The part that subscribes, assigns and seeks."""

    _consumer: KafkaConsumer
    _wait: float
    _ends_told: dict[OurPartition, int]
    """By partition: the end that was told last, with `enable.partition.eof`."""
    _raised: Exception | None = None
    """Error of a rebalance callback, on its way out through the consumer below."""
    _given: dict[OurPartition, int]
    """The offset that each partition was assigned with."""
    _hears: bool = False
    """True if there is a callback for revoked partitions."""
    _leaves: bool = False
    """True if the next `poll` leaves the group, and calls the callback."""
    _rebalancing: bool = False
    _closed: bool = False

    def subscribe(
        self,
        topics: list[str],
        on_assign: Hears | None = None,
        on_revoke: Hears | None = None,
        on_lost: Hears | None = None,
    ) -> None:
        """Subscribe to topics; one that begins with `^` is a pattern.

        Args:
            topics: Their names, in a list.
            on_assign: Called with this consumer and the partitions that come.
            on_revoke: The same for what goes, and for what is lost without `on_lost`.
            on_lost: The same for what is lost.

        Raises:
            KafkaException: The state does not allow it; `_INVALID_ARG` for no topic, or
                an empty name.
            TypeError: `topics` are no list of names, or a callback cannot be called.
        """
        if not isinstance(topics, list):
            raise TypeError(f"topics are a list of names, not {topics!r}")
        for each in topics:
            if not isinstance(each, str):
                raise TypeError(f"a topic is a str, not {each!r}")
        callbacks = {"on_assign": on_assign, "on_revoke": on_revoke, "on_lost": on_lost}
        for name, callback in callbacks.items():
            if callback is not None and not callable(callback):
                raise TypeError(f"{name} is a function, not {callback!r}")
        if not self._closed and not all(topics or ("",)):
            raise _invalid(f"topics have names, not {topics!r}; unsubscribe() ends it")
        lost = on_lost or on_revoke
        if self._leaves:
            self._leave()
        self._hears = lost is not None
        with self._converted():
            self._consumer.subscribe(
                wanted(topics),
                on_assigned=lambda given: self._hear(on_assign, given),
                on_revoked=lambda given: self._hear(on_revoke, given, going=True),
                on_lost=lambda given: self._hear(lost, given, going=True),
            )

    def unsubscribe(self) -> None:
        """Leave the group, and give up all partitions: in the next `poll`, if that is heard."""
        with self._converted():
            member = self._consumer.subscription() and self._consumer.assignment()
        if self._hears and member:
            self._leaves = True
        else:
            self._leave()

    def _leave(self) -> None:
        self._leaves = False
        with self._converted():
            self._consumer.unsubscribe()
        self._forget()
        self._given.clear()

    def assign(self, partitions: list[TopicPartition]) -> None:
        """Read these partitions and no others, each from its offset if it has one.

        In `on_assign` the partitions are those of the group, and their offsets are sought.

        Raises:
            KafkaException: `_INVALID_ARG`: a partition is there twice.
            TypeError: They are no list of partitions.
        """
        given = offsets_of(partitions)
        if self._leaves:
            self._leave()
        self._given = dict(given)
        if self._rebalancing:
            self._seek_given(given)
            return
        with self._converted():
            before = self._consumer.assignment()
            self._consumer.assign(given)
        self._forget(before - given.keys())
        self._seek_given(given)

    def incremental_assign(self, partitions: list[TopicPartition]) -> None:
        """Read these partitions too.

        Raises:
            KafkaException: `_CONFLICT`: one is assigned already; `_INVALID_ARG`: one is there
                twice. Nothing is assigned then.
            TypeError: They are no list of partitions.
        """
        given = offsets_of(partitions)
        if not self._rebalancing:
            with self._converted():
                before = self._consumer.assignment()
                for tp in given:
                    if tp in before:
                        raise KafkaException(
                            KafkaError(KafkaError._CONFLICT, f"{tp} is assigned already")
                        )
                self._consumer.assign(before | given.keys())
        self._given.update(given)
        self._seek_given(given)

    def incremental_unassign(self, partitions: list[TopicPartition]) -> None:
        """Read these partitions no more; in a rebalance callback they go by themselves.

        Raises:
            KafkaException: `_INVALID_ARG`: one is not assigned, or there twice. All go on then.
            TypeError: They are no list of partitions.
        """
        gone = offsets_of(partitions).keys()
        if self._rebalancing:
            return
        with self._converted():
            before = self._consumer.assignment()
            for tp in gone:
                if tp not in before:
                    raise _invalid(f"{tp} is not assigned, so it cannot be taken away")
            self._consumer.assign(before - gone)
        self._forget(gone)

    def unassign(self) -> None:
        """Read nothing more; in a rebalance callback partitions go by themselves."""
        if not self._rebalancing:
            self.unsubscribe()

    def assignment(self) -> list[TopicPartition]:
        """Return the assigned partitions, each with its offset in `assign`."""
        with self._converted():
            assigned = sorted(self._consumer.assignment())
        return [TopicPartition(*tp, self._given.get(tp, OFFSET_INVALID)) for tp in assigned]

    def seek(self, partition: TopicPartition) -> None:
        """Read on from a partition's offset.

        Raises:
            KafkaException: It is not assigned: `_STATE`, or `_UNKNOWN_PARTITION` where nothing
                of its topic is read.
        """
        tp = ours(partition)
        with self._converted():
            assigned = self._consumer.assignment()
            if tp not in assigned:
                read = {each.topic for each in assigned} | self._consumer.subscription()
                is_read = tp.topic in read
                code = KafkaError._STATE if is_read else KafkaError._UNKNOWN_PARTITION
                raise KafkaException(KafkaError(code, f"{tp} is not assigned"))
        self._seek_given({tp: partition.offset})

    def pause(self, partitions: list[TopicPartition]) -> None:
        """Return nothing of these until `resume`; one not assigned is passed over."""
        with self._converted():
            self._consumer.pause(self._assigned_of(partitions))

    def resume(self, partitions: list[TopicPartition]) -> None:
        """Go on with paused partitions; one not assigned is passed over.

        So a program may resume what it has paused after a rebalance has taken some of it.
        """
        with self._converted():
            self._consumer.resume(self._assigned_of(partitions))

    # --- within ----------------------------------------------------------------------

    def _assigned_of(self, partitions: list[TopicPartition]) -> list[OurPartition]:
        """Those of these partitions that are assigned."""
        assigned = self._consumer.assignment()
        return [tp for tp in map(ours, partitions) if tp in assigned]

    def _seek_given(self, given: Mapping[OurPartition, int]) -> None:
        """Seek each offset that says something."""
        consumer = self._consumer
        with self._converted():
            of_group = [tp for tp, offset in given.items() if offset == OFFSET_STORED]
            for tp, place in consumer.committed(of_group).items() if of_group else ():
                if place is not None:
                    self._seek(tp, place)
            for tp, offset in given.items():
                if offset >= 0:
                    self._seek(tp, OffsetAndMetadata(offset))
                elif offset == OFFSET_BEGINNING:
                    self._forget((tp,))
                    consumer.seek_to_beginning(tp)
                elif offset == OFFSET_END:
                    self._forget((tp,))
                    consumer.seek_to_end(tp)

    def _seek(self, tp: OurPartition, place: OffsetAndMetadata) -> None:
        self._forget((tp,))
        self._consumer.seek(tp, place)

    def _forget(self, partitions: Collection[OurPartition] | None = None) -> None:
        """Forget which ends were told, of some partitions or of all."""
        for tp in tuple(self._ends_told) if partitions is None else partitions:
            self._ends_told.pop(tp, None)

    def _hear(
        self, callback: Hears | None, given: Iterable[OurPartition], *, going: bool = False
    ) -> None:
        """Call a rebalance callback, and keep what it raises."""
        partitions = sorted(given)
        self._rebalancing = True
        try:
            if callback is not None:
                callback(self, [TopicPartition(*each) for each in partitions])
        except Exception as error:
            self._raised = error
            raise
        finally:
            self._rebalancing = False
            if going:
                self._forget(partitions)
                for tp in partitions:
                    self._given.pop(tp, None)

    @contextmanager
    def _converted(self) -> Iterator[None]:
        """Raise errors as confluent-kafka's.

        Raises:
            Exception: What a rebalance callback has raised.
            KafkaException: What the consumer below has.
            RuntimeError: It is closed.
        """
        try:
            yield
        except OurException as error:
            raise self._as_theirs(error) from error

    def _as_theirs(self, error: OurException) -> Exception:
        raised, self._raised = self._raised, None
        if raised is not None:
            return raised
        if self._closed:
            return RuntimeError("Consumer closed")
        return exception_of(error)


def offsets_of(partitions: list[TopicPartition]) -> dict[OurPartition, int]:
    """Partitions to assign, each with its offset.

    Raises:
        KafkaException: `_INVALID_ARG`: one is there twice.
        TypeError: They are no list of partitions.
    """
    if not isinstance(partitions, list):
        raise TypeError(f"partitions are a list of TopicPartition, not {partitions!r}")
    found = {ours(each): each.offset for each in partitions}
    if len(found) < len(partitions):
        raise _invalid(f"a partition is there twice: {partitions}")
    return found


def _invalid(text: str) -> KafkaException:
    return KafkaException(KafkaError(KafkaError._INVALID_ARG, text))


def wanted(topics: Iterable[str]) -> list[str] | re.Pattern[str]:
    """Return the topics to subscribe to: names, or one pattern if any of them is a pattern."""
    names = list(topics)
    if not any(each.startswith("^") for each in names):
        return names
    # librdkafka looks whether a topic begins so; ours is for the whole name.
    each = (
        rf"(?:{name})[\s\S]*" if name.startswith("^") else re.escape(name) for name in names
    )
    return re.compile("|".join(f"(?:{part})" for part in each))
