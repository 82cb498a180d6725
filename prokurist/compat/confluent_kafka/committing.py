"""Commits of a confluent-kafka consumer: messages, offsets, or returned or stored positions.

Thread: the application's. A part of the face's `Consumer`.
"""

from collections.abc import Callable, Mapping

from prokurist.compat.confluent_kafka.error import KafkaError, KafkaException
from prokurist.compat.confluent_kafka.offsets import as_committed, offsets_in
from prokurist.compat.confluent_kafka.settings import Settings, connections_of
from prokurist.compat.confluent_kafka.subscribing import Subscribing
from prokurist.compat.confluent_kafka.values import Message, TopicPartition
from prokurist.config import ConsumerConfig
from prokurist.consumer.consumer import KafkaConsumer
from prokurist.events.clock import Deadline
from prokurist.types import OffsetAndMetadata
from prokurist.types import TopicPartition as OurPartition


class Committing(Subscribing):
    """The part that commits and stores."""

    _settings: Settings
    _now: Callable[[], float]

    def commit(
        self,
        message: Message | None = None,
        offsets: list[TopicPartition] | None = None,
        asynchronous: bool = True,
    ) -> list[TopicPartition] | None:
        """Commit a message, offsets, or all that was returned or stored.

        Args:
            message: It and all before it in its partition are done.
            offsets: For each partition the next offset to read.
            asynchronous: Do not wait; `on_commit` of the configuration is told.

        Returns:
            What is committed, and `OFFSET_INVALID` for what else is assigned; None where it is
            not waited for.

        Raises:
            KafkaException: It has failed; `_NO_OFFSET` if there is nothing to commit, and it
                is waited for.
            ValueError: A message and offsets are given.
        """
        wanted = self._to_commit(message, offsets)
        if asynchronous and not wanted:
            return None
        if not wanted:
            raise KafkaException(
                KafkaError(KafkaError._NO_OFFSET, "there is nothing to commit")
            )
        if not asynchronous and offsets is not None:
            deadline = Deadline.after(self._now(), self._wait)
            for tp in wanted:
                self._look_whether_it_exists(tp, KafkaError.UNKNOWN_TOPIC_OR_PART, deadline)
        if self._is_outside:
            self._commit_from_outside(wanted)
        elif asynchronous:
            with self._converted():
                self._consumer.commit_async(wanted)
        else:
            with self._converted():
                self._consumer.commit_sync(wanted)
        if asynchronous:
            return None
        told = set(wanted)
        if message is None and offsets is None:
            told |= self._consumer.assignment()
        return [as_committed(TopicPartition(*tp), wanted.get(tp)) for tp in sorted(told)]

    def store_offsets(
        self, message: Message | None = None, offsets: list[TopicPartition] | None = None
    ) -> None:
        """Mark what is done, with `enable.auto.offset.store=false`.

        Of several partitions those that are not assigned are passed over.

        Raises:
            KafkaException: `_INVALID_ARG`: `enable.auto.offset.store` is true; `_STATE`: none
                of the partitions is assigned.
            ValueError: Neither or both are given.
        """
        if (message is None) == (offsets is None):
            raise ValueError("store_offsets takes either a message or offsets")
        done = offsets_in(message, offsets)
        with self._converted():
            assigned = self._consumer.assignment()
            if self._settings.stores:
                text = "store_offsets is for enable.auto.offset.store=false: set it"
                raise KafkaException(KafkaError(KafkaError._INVALID_ARG, text))
            if not assigned.isdisjoint(done):
                done = {tp: place for tp, place in done.items() if tp in assigned}
            self._consumer.store_offsets(done)

    def _to_commit(
        self, message: Message | None, offsets: list[TopicPartition] | None
    ) -> dict[OurPartition, OffsetAndMetadata]:
        if message is not None and offsets is not None:
            raise ValueError("commit takes a message or offsets, not both")
        if message is not None or offsets is not None:
            return offsets_in(message, offsets)
        with self._converted():
            progress = self._consumer.progress()
        found = {}
        for tp, each in progress.items():
            place = each.returned if self._settings.stores else each.stored
            # As there, it moves the group's offset forward, and never back.
            if place is not None and (each.committed is None or place.offset > each.committed):
                found[tp] = place
        return found

    def _look_whether_it_exists(self, tp: OurPartition, code: int, deadline: Deadline) -> None:
        """Refuse a partition that does not exist, which the consumer below would wait for.

        Raises:
            KafkaException: It does not; the error has this code.
        """
        with self._converted():
            if tp in self._consumer.assignment():
                return
            found = self._consumer.partitions_for(tp.topic, deadline.remaining(self._now()))
        if tp.partition not in [each.partition for each in found]:
            raise KafkaException(KafkaError(code, f"{tp} does not exist"))

    @property
    def _is_outside(self) -> bool:
        """True before the first poll of a subscribed consumer has joined the group."""
        with self._converted():
            if not self._consumer.subscription():
                return False
            return self._consumer.group_metadata().generation_id < 0

    def _commit_from_outside(self, offsets: Mapping[OurPartition, OffsetAndMetadata]) -> None:
        """Commit as one that is no member, which a group without members accepts."""
        config = connections_of(ConsumerConfig, self._settings.rest)
        config["group.id"] = self._consumer.group_metadata().group_id
        with self._converted(), KafkaConsumer(config) as consumer:
            consumer.commit_sync(offsets, self._wait)
