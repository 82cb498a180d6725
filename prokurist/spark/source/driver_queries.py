"""Looks up, on the driver, partitions, ends of logs, offsets by time, and a group's offsets.

Thread: whichever uses it, one at a time. The client is built when it is first needed, so
what holds this can be pickled until then, and built again where it was not.

Invariants: `within` bounds all look-ups of one step by one deadline; an error
of that deadline says what the last question waited for.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager
from functools import cached_property
from typing import Final
from uuid import UUID

from prokurist.config import ConsumerConfig
from prokurist.consumer.consumer import KafkaConsumer
from prokurist.errors import (
    ConfigException,
    TimeoutException,
    TopicAuthorizationException,
)
from prokurist.events.clock import Deadline, MonotonicClock
from prokurist.spark.source.partition_selection import Matching, Selection, Topics
from prokurist.spark.source.topic_listing import Listing
from prokurist.spark.source.worker_consumers import made
from prokurist.spark.worker_clients import CLOSE
from prokurist.types import TopicPartition

FRESH: Final = {"metadata.max.age.ms": "5000"}
"""Time until an added partition is noticed, unless the user sets it."""
BRIEF: Final = {"request.timeout.ms": "5000", "fetch.max.wait.ms": "500"}
"""Time that a broker may be silent before another one is asked, unless the user sets it; the
second key must not contradict the first, as nothing is fetched here."""


class DriverQueries:
    """Look-ups of the driver; an `OffsetLookup`.

    Args:
        config: Configuration of the client, without a group.
        group: Whose offsets `committed` means.
    """

    def __init__(self, config: Mapping[str, str], group: str | None = None) -> None:
        self._config = dict(config)
        self._group = group
        self._clock = MonotonicClock()
        self._consumer: KafkaConsumer | None = None
        self._deadline: Deadline | None = None

    @contextmanager
    def within(self, seconds: float) -> Iterator[None]:
        """Set the deadline of all look-ups inside the `with` block.

        Raises:
            TimeoutException: The time was over; which question has met its end is a matter of
                chance, so the option that gives more is named.
        """
        self._deadline = Deadline.after(self._clock.now(), seconds)
        try:
            yield
        except TimeoutException as error:
            error.add_note(f"All of this step had the {seconds:g} s of driverDeadlineMs.")
            raise
        finally:
            self._deadline = None

    def partitions(self, selection: Selection) -> list[TopicPartition]:
        """The partitions of a selection, in order.

        Raises:
            UnknownTopicOrPartitionException: A topic or a partition that is named does not
                exist.
        """
        listing = self.listing(selection)
        listing.check()
        return list(listing.partitions)

    def listing(self, selection: Selection, known: Collection[str] = ()) -> Listing:
        """List the topics of a selection, as a broker tells them now.

        Args:
            selection: Which topics or partitions.
            known: Topics that a pattern matched before. A list of all topics that lacks one
                of them may come from a broker that lags, or the user may not see it any more;
                so such a topic is asked for by its name.
        """
        if not isinstance(selection, Matching):
            named = (
                selection.names
                if isinstance(selection, Topics)
                else {tp.topic for tp in selection.partitions}
            )
            listed = self._client().list_topics(self._left, topics=named)
            return Listing.of(listed, selection)
        listed = self._client().list_topics(self._left)
        lacking = {name for name in known if name not in listed}
        refused: set[str] = set()
        while lacking:
            try:
                listed |= self._client().list_topics(self._left, topics=lacking)
                break
            except TopicAuthorizationException as error:
                refused |= lacking.intersection(error.topics) or lacking
                lacking -= refused
        found = {name: infos for name, infos in listed.items() if selection.matches(name)}
        return Listing.of(found, selection, frozenset(refused))

    def topic_ids(self, topics: Collection[str]) -> dict[str, UUID | None]:
        """The ids of topics, as a broker tells them now; without those that do not exist."""
        listed = self._client().list_topics(self._left, topics=topics)
        return {name: infos[0].topic_id for name, infos in listed.items() if infos}

    def leaders(self, partitions: Iterable[TopicPartition]) -> dict[TopicPartition, int | None]:
        """The id of each partition's leader; None where there is none.

        A partition that does not exist is left out.
        """
        wanted = set(partitions)
        listed = self._client().list_topics(self._left, topics={tp.topic for tp in wanted})
        return {
            tp: None if each.leader is None else each.leader.id
            for name, infos in listed.items()
            for each in infos
            if (tp := TopicPartition(name, each.partition)) in wanted
        }

    def beginnings(
        self, partitions: Collection[TopicPartition]
    ) -> Mapping[TopicPartition, int]:
        """See `OffsetLookup`."""
        return self._client().beginning_offsets(partitions, self._left)

    def ends(self, partitions: Collection[TopicPartition]) -> Mapping[TopicPartition, int]:
        """See `OffsetLookup`."""
        return self._client().end_offsets(partitions, self._left)

    @cached_property
    def reads_committed(self) -> bool:
        """True if `ends` are last stable offsets: `isolation.level=read_committed`."""
        return ConsumerConfig(self._client_config()).isolation_level == "read_committed"

    def log_ends(self, partitions: Collection[TopicPartition]) -> Mapping[TopicPartition, int]:
        """The ends of logs behind open transactions, looked up by a client of its own."""
        config = self._client_config() | {"isolation.level": "read_uncommitted"}
        with made(config) as consumer:
            return consumer.end_offsets(partitions, self._left)

    def at_times(
        self, moments: Mapping[TopicPartition, int]
    ) -> Mapping[TopicPartition, int | None]:
        """See `OffsetLookup`."""
        found = self._client().offsets_for_times(moments, self._left)
        return {tp: None if each is None else each.offset for tp, each in found.items()}

    def committed(
        self, group: str | None, partitions: Collection[TopicPartition]
    ) -> Mapping[TopicPartition, int | None]:
        """See `OffsetLookup`. The group is asked by a client of its own, and not joined.

        Raises:
            ConfigException: No group is named.
        """
        asked = group or self._group
        if asked is None:
            raise ConfigException(
                "startingOffsets=committed needs a group: write committed:GROUP, or set "
                "kafka.group.id"
            )
        config = self._config | {"group.id": asked}
        with made(config, enable_auto_commit=False) as consumer:
            found = consumer.committed(partitions, self._left)
        return {tp: None if each is None else each.offset for tp, each in found.items()}

    @contextmanager
    def at_most(self, seconds: float) -> Iterator[None]:
        """Bound look-ups inside the `with` block by a part of the time."""
        whole = self._deadline
        part = Deadline.after(self._clock.now(), seconds)
        self._deadline = part if whole is None else whole.earlier(part)
        try:
            yield
        finally:
            self._deadline = whole

    @property
    def has_time(self) -> bool:
        """True before the deadline."""
        return self._left is None or self._left > 0

    @property
    def _left(self) -> float | None:
        """The seconds until the deadline."""
        deadline = self._deadline
        return None if deadline is None else deadline.remaining(self._clock.now())

    def _client(self) -> KafkaConsumer:
        if self._consumer is None:
            self._consumer = made(self._client_config())
        return self._consumer

    def _client_config(self) -> dict[str, str]:
        brief = {} if "request.timeout.ms" in self._config else BRIEF
        return FRESH | self._config | brief

    @cached_property
    def max_age(self) -> float:
        """Seconds for which a list of topics is believed: `metadata.max.age.ms`."""
        return ConsumerConfig(self._client_config()).metadata_max_age_ms / 1000

    @cached_property
    def request_timeout(self) -> float:
        """Seconds for which one request may be unanswered: `request.timeout.ms`."""
        return ConsumerConfig(self._client_config()).request_timeout_ms / 1000

    def close(self) -> None:
        """Close the client, which is built again when it is needed."""
        consumer, self._consumer = self._consumer, None
        if consumer is not None:
            consumer.close(CLOSE)

    def __getstate__(self) -> tuple[dict[str, str], str | None]:
        return self._config, self._group

    def __setstate__(self, state: tuple[dict[str, str], str | None]) -> None:
        self.__init__(*state)  # type: ignore[misc]  # a copy is made as the first one was
