"""aiokafka's consumer over ours.

Thread: the event loop's.
"""

import asyncio
import re
import sys
from collections.abc import Awaitable, Callable, Iterable
from contextlib import suppress
from functools import partial
from types import MappingProxyType, TracebackType
from typing import Any, ClassVar, Final, Self, TypeVar

from prokurist.aio import KafkaConsumer
from prokurist.compat.aiokafka.abc import ConsumerRebalanceListener
from prokurist.compat.aiokafka.bootstrapping import answered
from prokurist.compat.aiokafka.errors import (
    ConsumerStoppedError,
    IllegalStateError,
    KafkaError,
    as_theirs,
    for_code,
)
from prokurist.compat.aiokafka.looking_up import MILLISECOND, LookingUp, require_partitions
from prokurist.compat.aiokafka.one_reads import OneReads
from prokurist.compat.aiokafka.settings import TokensOfLoop, consumer_settings
from prokurist.compat.aiokafka.structs import ConsumerRecord, record_of
from prokurist.compat.aiokafka.without_group import WithoutGroup
from prokurist.compat.patterns import beginning_as
from prokurist.compat.waiting import LONGEST
from prokurist.config import ConsumerConfig
from prokurist.errors import (
    KafkaException,
    NoOffsetForPartitionException,
    TimeoutException,
    TopicAuthorizationException,
    UnknownTopicOrPartitionException,
    WakeupException,
)
from prokurist.errors.local_variables import without_locals
from prokurist.events.clock import CallersClock, MonotonicClock
from prokurist.records.consumer_records import ConsumerRecord as OurRecord
from prokurist.records.consumer_records import ConsumerRecords
from prokurist.types import TopicPartition

T = TypeVar("T")

UNKNOWN_TOPIC: Final = 3
"""The broker's number for it."""


class AIOKafkaConsumer(LookingUp):
    """A consumer with the calls of aiokafka's.

    Every call but those that read ends by `request_timeout_ms`. Several tasks may read.

    Args:
        topics: What to subscribe to.
        configs: Keys of aiokafka, or ours.

    Raises:
        KafkaConfigurationError: The configuration cannot be used.
        ValueError: A value is none of aiokafka's.
    """

    _left_out: ClassVar[MappingProxyType[str, str]] = MappingProxyType(
        {"last_poll_timestamp": "health().answer_age of a prokurist.aio.KafkaConsumer"}
    )

    @without_locals
    def __init__(self, *topics: str, **configs: Any) -> None:
        keys, found = consumer_settings(configs)
        self._tokens = keys.get("sasl_oauth_token_provider")
        self._wire(KafkaConsumer(keys), found, MonotonicClock())
        if topics:
            self.subscribe(topics)

    @classmethod
    def over(cls, consumer: KafkaConsumer, found: ConsumerConfig, clock: CallersClock) -> Self:
        """The face of a consumer that is there already."""
        self = cls.__new__(cls)
        self._tokens = None
        self._wire(consumer, found, clock)
        return self

    def _wire(
        self, consumer: KafkaConsumer, found: ConsumerConfig, clock: CallersClock
    ) -> None:
        self._consumer = consumer
        self._group = found.group_id
        self._wait = found.request_timeout_ms / 1000
        self._shows_internal = not found.exclude_internal_topics
        self._reads_committed = found.isolation_level == "read_committed"
        self._now = clock.now
        self._closed = False
        self._started = False
        self._reading = OneReads(consumer.wakeup)
        every = found.metadata_max_age_ms / 1000
        self._without_group = WithoutGroup(consumer, clock.now, every)
        self._leaving: asyncio.Task[None] | None = None
        self._then: Callable[[], None] | None = None

    # --- beginning and end -----------------------------------------------------------

    async def start(self) -> None:
        """Connect, and wait for the topics and for the group to give partitions.

        A group that has given none by `request_timeout_ms` is waited for in the calls that
        read.

        Raises:
            IllegalStateError: It was started before.
            KafkaConnectionError: No broker can be reached.
            KafkaError: What the group or a listener has raised.
            UnknownTopicOrPartitionError: A topic does not exist by `request_timeout_ms`.
        """
        if self._started:
            raise IllegalStateError("start was called before")
        if isinstance(self._tokens, TokensOfLoop):
            self._tokens.loop = asyncio.get_running_loop()
        self._started = True
        until = self._now() + self._wait
        asked = self._consumer.list_topics(self._wait, topics=self.subscription() or None)
        try:
            with self._converted():
                await answered(asked, self._consumer._obstacles.reachability)
            if self._without_group.is_used:
                await self._find_topics(until)
            if self._subscribed or self._consumer.assignment():
                with self._converted():
                    await self._get_ready(until)
        except BaseException:
            # As there, the application may try again until a broker or the topic is there.
            self._started = False
            raise

    async def _get_ready(self, until: float) -> None:
        """Wait for partitions and positions: what is written from then on is read."""
        async with self._reading:
            try:
                await self._consumer.wait_until_ready(max(0.0, until - self._now()))
            except TimeoutException as error:
                # Without a topic nothing comes; with a slow group, it comes later.
                if not self._subscribed:
                    return
                kinds = UnknownTopicOrPartitionException, TopicAuthorizationException
                if isinstance(error.last_error, kinds):
                    raise as_theirs(error) from error
            except NoOffsetForPartitionException:
                return  # The call that reads raises it.
            except WakeupException:
                return  # Another task reads, and joins so.

    async def _find_topics(self, until: float) -> None:
        missing = self._without_group.topics
        while (left := until - self._now()) > 0:
            with self._converted():
                missing = await self._without_group.find(left)
            if not missing:
                return
            await asyncio.sleep(min(self._without_group.until_next(), until - self._now()))
        raise for_code(UNKNOWN_TOPIC)(f"{', '.join(sorted(missing))}: no such topic")

    async def stop(self) -> None:
        """Commit if `enable_auto_commit` is set, leave the group and close the consumer."""
        if self._closed:
            return
        await self._end()
        await self._consumer.close()

    async def __aenter__(self) -> Self:
        try:
            await self.start()
        except BaseException:
            await self._consumer.__aexit__(*sys.exc_info())
            self._closed = True
            raise
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._closed:
            return
        # What an error has stopped was not worked on: it is not committed.
        await self._end()
        await self._consumer.__aexit__(kind, error, trace)

    async def _end(self) -> None:
        self._refuse_in_listener("stop")
        self._closed = True
        if self._placing is not None:
            self._placing.cancel()
        try:
            await self._left()
        except KafkaError:
            pass  # What did not leave by itself leaves by the close.
        except BaseException:
            await self._consumer.__aexit__(*sys.exc_info())
            raise
        finally:
            if self._heard is not None:
                self._heard.is_left = True

    def _refuse_in_listener(self, operation: str) -> None:
        """Refuse what waits for the call that runs this listener.

        Raises:
            IllegalStateError: It would wait for itself.
        """
        if self._consumer._caller.is_reading:
            raise IllegalStateError(
                f"{operation} inside a listener: commit, seek and look up there, and "
                f"{operation} when it has returned"
            )

    # --- what is read ----------------------------------------------------------------

    def subscribe(
        self,
        topics: "tuple[str, ...] | set[str] | list[str]" = (),
        pattern: str | None = None,
        listener: ConsumerRebalanceListener | None = None,
    ) -> None:
        """Subscribe to topics, or to those that begin as a pattern says.

        Args:
            topics: Their names.
            pattern: A regular expression, in place of them.
            listener: Hears which partitions come and go.

        Raises:
            IllegalStateError: Partitions are assigned by hand.
            TypeError: Neither or both of topics and pattern; or an argument is of a wrong
                type.
            ValueError: The pattern is no regular expression.
        """
        if not topics and not pattern:
            raise TypeError("You should provide either `topics` or `pattern`")
        if topics and pattern:
            raise TypeError("You can't provide both `topics` and `pattern`")
        if listener is not None and not isinstance(listener, ConsumerRebalanceListener):
            raise TypeError("listener should be an instance of ConsumerRebalanceListener")
        wanted: frozenset[str] | re.Pattern[str]
        if pattern:
            try:
                wanted = beginning_as(pattern)
            except re.error as error:
                raise ValueError(f"{pattern!r} is not a valid pattern: {error}") from error
        elif isinstance(topics, tuple | set | list):
            wanted = frozenset(topics)
        else:
            raise TypeError("Topics should be list of strings")
        self._once_left(partial(self._subscribe, wanted, listener))

    _subscribed = False
    """True after `subscribe` with a group."""
    _heard: "Heard | None" = None

    def _subscribe(
        self,
        wanted: "frozenset[str] | re.Pattern[str]",
        listener: ConsumerRebalanceListener | None,
    ) -> None:
        with self._converted():
            if self._group is not None:
                self._heard = None if listener is None else Heard(listener)
                self._consumer.subscribe(wanted, self._heard)
                self._subscribed = True
                return
            if self._consumer.assignment() and not self._without_group.is_used:
                raise IllegalStateError(_ONE_WAY)
            self._without_group.read(wanted)

    def assignment(self) -> set[TopicPartition]:
        """Return the assigned partitions."""
        with self._converted():
            return set() if self._leaving is not None else set(self._consumer.assignment())

    def subscription(self) -> frozenset[str]:
        """The topics that are subscribed to, or whose partitions are assigned by hand."""
        if self._leaving is not None:
            return frozenset()
        with self._converted():
            topics = self._consumer.subscription() or self._without_group.topics
            return topics or frozenset(each.topic for each in self._consumer.assignment())

    def assign(self, partitions: Iterable[TopicPartition]) -> None:
        """Read these partitions and no others.

        Raises:
            IllegalStateError: Topics are subscribed to.
        """
        wanted = list(partitions)
        if self._without_group.is_used:
            raise IllegalStateError(_ONE_WAY)
        with self._converted():
            self._once_left(partial(self._assign, wanted))

    def _assign(self, partitions: list[TopicPartition]) -> None:
        self._consumer.assign(partitions)
        if self._started:
            # As there, what is written from now on is read, also if the reading begins later.
            self._placing = asyncio.get_running_loop().create_task(self._place(partitions))

    _placing: "asyncio.Task[None] | None" = None
    """Looks positions up; the newest one."""

    async def _place(self, partitions: list[TopicPartition]) -> None:
        for tp in partitions:
            with suppress(KafkaException):  # The call that reads raises it.
                await self._consumer.position(tp, self._wait)

    def unsubscribe(self) -> None:
        """Leave the group, and give up all partitions: in a task, which later calls await."""
        self._without_group.read(frozenset())
        self._subscribed = False
        self._then = None
        if self._heard is not None:
            self._heard.is_left = True
        if self._leaving is None:
            self._leaving = asyncio.get_running_loop().create_task(self._leave())

    async def _leave(self) -> None:
        try:
            async with self._reading:
                await self._consumer.unsubscribe(self._wait)
        finally:
            self._leaving = None
            if (then := self._then) is not None:
                self._then = None
                then()

    async def _left(self) -> None:
        """Wait for a group that is being left."""
        if (leaving := self._leaving) is not None:
            with self._converted():
                await asyncio.shield(leaving)

    def _once_left(self, call: Callable[[], None]) -> None:
        """Make a call when the group that is being left is left."""
        if self._leaving is None:
            call()
        else:
            self._then = call

    # --- reading ---------------------------------------------------------------------

    async def getone(self, *partitions: TopicPartition) -> ConsumerRecord[Any, Any]:
        """Wait for one record, of some partitions or of all.

        Raises:
            ConsumerStoppedError: The consumer was stopped.
            KafkaError: Something has failed in the background, too.
        """
        only = self._only(partitions)
        while True:
            record = await self._read(self._next, only, LONGEST)
            if record is not None:
                return record_of(record)

    async def _next(self, only: frozenset[TopicPartition], wait: float) -> OurRecord | None:
        if not only:
            return await self._consumer.next(wait)
        for record in await self._consumer.poll(wait, max_records=1):
            return record
        return None

    async def getmany(
        self,
        *partitions: TopicPartition,
        timeout_ms: float = 0,
        max_records: int | None = None,
    ) -> dict[TopicPartition, list[ConsumerRecord[Any, Any]]]:
        """Records by partition, as soon as there are some; none when the time is over.

        Args:
            partitions: Of these alone; of none, of all that are assigned.
            timeout_ms: Milliseconds.
            max_records: The most; None for `max_poll_records`.

        Raises:
            ConsumerStoppedError: The consumer was stopped.
            KafkaError: Something has failed in the background, too.
            ValueError: `max_records` is not positive.
        """
        most: object = max_records
        if most is not None and (not isinstance(most, int) or most < 1):
            raise ValueError(f"max_records is a positive int, not {max_records!r}")
        only = self._only(partitions)

        async def poll(_only: frozenset[TopicPartition], wait: float) -> ConsumerRecords:
            return await self._consumer.poll(wait, max_records=max_records)

        until = self._now() + min(timeout_ms * MILLISECOND, LONGEST)
        while True:
            try:
                records = await self._read(poll, only, max(0.0, until - self._now()))
            except ConsumerStoppedError:
                return {}  # As there, it was asked for before.
            if records:
                return {
                    tp: [record_of(each) for each in records.records(tp)]
                    for tp in records.partitions()
                }
            if self._now() >= until:
                return {}

    def _only(self, partitions: tuple[TopicPartition, ...]) -> frozenset[TopicPartition]:
        """The partitions to read, of a consumer that can.

        Raises:
            ConsumerStoppedError: The consumer was stopped.
            IllegalStateError: It was not started.
            TypeError: One is no TopicPartition.
        """
        require_partitions(partitions)
        self._require_open()
        if not self._started:
            raise IllegalStateError("await start() before records are read")
        return frozenset(partitions)

    def _require_open(self) -> None:
        if self._closed:
            raise ConsumerStoppedError

    async def _read(
        self,
        read: Callable[[frozenset[TopicPartition], float], Awaitable[T | None]],
        only: frozenset[TopicPartition],
        wait: float,
    ) -> T | None:
        """Read when it is this task's turn; None where it is over, or the time is."""
        self._refuse_in_listener("read")
        await self._left()
        async with self._reading:
            self._require_open()
            with self._converted():
                await self._without_group.look(wait)
                wait = self._reading.wait_at_most(min(wait, self._without_group.until_next()))
                if self._without_group.is_used and not self._consumer.assignment():
                    await asyncio.sleep(wait)
                    return None
                self._consumer._collector.only = only
                try:
                    return await read(only, wait)
                except WakeupException:
                    return None  # Another task wants to read, too.
                finally:
                    self._consumer._collector.only = frozenset()

    def __aiter__(self) -> Self:
        self._require_open()
        return self

    async def __anext__(self) -> ConsumerRecord[Any, Any]:
        try:
            return await self.getone()
        except ConsumerStoppedError:
            raise StopAsyncIteration from None

    def pause(self, *partitions: TopicPartition) -> None:
        """Return nothing of these partitions until `resume`."""
        require_partitions(partitions)
        with self._converted():
            self._consumer.pause(partitions)

    def paused(self) -> set[TopicPartition]:
        """Return the paused partitions."""
        with self._converted():
            return set(self._consumer.paused())

    def resume(self, *partitions: TopicPartition) -> None:
        """Go on with paused partitions."""
        require_partitions(partitions)
        with self._converted():
            self._consumer.resume(partitions)

    def __repr__(self) -> str:
        return f"AIOKafkaConsumer({self.__dict__.get('_consumer')!r})"


_ONE_WAY: Final = "subscribe to topics, or assign partitions, but not both: unsubscribe() first"


class Heard:
    """aiokafka's listener as one of ours.

    Args:
        listener: The user's.

    Attributes:
        is_left: True once the consumer leaves: as there, its listener does not hear of that.
    """

    def __init__(self, listener: ConsumerRebalanceListener) -> None:
        self._listener = listener
        self.is_left = False

    def on_partitions_revoked(self, partitions: frozenset[TopicPartition]) -> object:
        """See `abc.ConsumerRebalanceListener`."""
        return None if self.is_left else self._listener.on_partitions_revoked(set(partitions))

    def on_partitions_assigned(self, partitions: frozenset[TopicPartition]) -> object:
        """See `abc.ConsumerRebalanceListener`."""
        return self._listener.on_partitions_assigned(set(partitions))

    def __repr__(self) -> str:
        return f"Heard({self._listener!r})"
