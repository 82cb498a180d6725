"""The topics of a producer: looked up for the first record, forgotten when none comes.

Thread: the network thread alone.
"""

from collections import Counter
from typing import Final

from prokurist.errors import KafkaException, UnknownTopicOrPartitionException
from prokurist.events.accumulator.accumulator import RecordAccumulator
from prokurist.events.application_events import AwaitTopic
from prokurist.events.backoff import Backoff
from prokurist.events.call import Call
from prokurist.events.cluster import ABSENT
from prokurist.network_thread.broker_errors import topic_error
from prokurist.network_thread.cluster.metadata_manager import MetadataManager
from prokurist.network_thread.cluster.topic_interest import check_names
from prokurist.network_thread.error_actions import PRODUCER_METADATA, Action
from prokurist.network_thread.operations.dispatch import Handlers
from prokurist.network_thread.operations.retries import Retries
from prokurist.network_thread.operations.timer import Timer
from prokurist.types import counted

LATELY: Final = 30.0
"""Seconds after the last record for which a topic's leaders are asked for."""


class ProducerTopics:
    """Topics of a producer, with their metadata.

    Args:
        accumulator: What is to be sent.
        metadata: Asks the cluster.
        timer: The Timer.
        backoff: `retry.backoff.ms` and its `.max.`.
        idle: `metadata.max.idle.ms`, in seconds.
    """

    def __init__(
        self,
        accumulator: RecordAccumulator,
        metadata: MetadataManager,
        timer: Timer,
        backoff: Backoff,
        idle: float,
    ) -> None:
        self._accumulator = accumulator
        self._metadata = metadata
        self._timer = timer
        self._backoff = backoff
        self._idle = idle
        self._used_at: dict[str, float] = {}
        self._awaited: Counter[str] = Counter()
        self._asked_again: dict[str, float] = {}
        metadata.interest.add(self.names, needing_leaders=self.busy)

    def handlers(self) -> Handlers:
        """Return the event of a `send` that waits for its topic."""
        return {AwaitTopic: lambda event: self.known(event.call, event.topic, event.partition)}

    def names(self) -> frozenset[str]:
        """The topics that metadata are asked for."""
        return frozenset(self._used_at)

    def busy(self) -> frozenset[str]:
        """The topics that something waits in, or was sent to lately.

        Records without a key pass by a partition without a leader, so that none waits for it;
        all the same it has to be found soon when it has one. Nothing needs it where nothing is
        sent.
        """
        since = self._timer.now - LATELY
        topics = self._accumulator.appender.topics
        used = {name for name, at in self._used_at.items() if at > since}
        used |= {name for name, topic in topics.items() if topic.is_used}
        return frozenset(used.union(batch.topic for batch in self._accumulator.snapshot()))

    def missed(self) -> frozenset[str]:
        """The topics that would be missed: a `send` waits for one, or it is busy."""
        return self.busy().union(self._awaited)

    async def known(self, call: Call, topic: str, partition: int | None) -> None:
        """Wait until a topic, and a partition of it, is known.

        Raises:
            InvalidTopicException: No topic can bear that name.
            KafkaException: The cluster refuses the topic.
        """
        check_names([topic])
        self._awaited[topic] += 1
        try:
            await self._found(call, topic, partition)
        finally:
            self._awaited[topic] -= 1
            if not self._awaited[topic]:
                del self._awaited[topic]

    async def _found(self, call: Call, topic: str, partition: int | None) -> None:
        retries = Retries(self._timer, self._backoff, call)
        cluster = self._metadata.cluster
        asked = False
        with self._metadata.interest.tracking([topic]):
            while True:
                # By hand: it reads the answers that `MetadataManager` has for all of them.
                view = cluster.topics.get(topic)
                count = 0 if view is None or view.error else len(view.partitions)
                if count and (partition is None or partition < count):
                    self._used_at[topic] = self._timer.now
                    self._accumulator.directory.update(cluster, [topic])
                    return
                if view is not None:
                    error = shortage(topic, view.error, count, partition)
                    is_fatal = PRODUCER_METADATA.of(view.error) is Action.FATAL
                    # What an earlier call was answered may be over: a right may be granted by
                    # now. Only the answer to its own question refuses a call.
                    if asked and is_fatal:
                        self._asked_again[topic] = self._timer.now + retries.next
                        raise error
                    call.met(error)
                    if not is_fatal:
                        await retries.pause()
                if not asked:
                    await self._pause(call, topic)
                cluster = await self._metadata.refreshed(call, f"metadata of {topic}", topic)
                asked = True

    async def _pause(self, call: Call, topic: str) -> None:
        """Wait until a topic that an earlier call was refused may be asked for again.

        Sends in a loop would else ask as fast as a broker answers.
        """
        left = self._asked_again.get(topic, self._timer.now) - self._timer.now
        if left > 0:
            call.wait_begins("retry backoff", self._timer.now)
            await self._timer.sleep(left, f"retry backoff of {call.operation}")
            call.wait_ends(self._timer.now)

    def forget_idle(self) -> None:
        """Forget the topics that nothing was sent to for `metadata.max.idle.ms`."""
        now = self._timer.now
        for name in [name for name, at in self._asked_again.items() if at <= now]:
            del self._asked_again[name]
        busy = {batch.topic for batch in self._accumulator.snapshot()}
        for name, topic in list(self._accumulator.appender.topics.items()):
            if topic.is_used or name in busy:
                topic.is_used = False
                self._used_at[name] = now
            elif now - self._used_at.get(name, now) >= self._idle:
                self._accumulator.directory.forget([name])
                self._used_at.pop(name, None)

    def __repr__(self) -> str:
        return f"ProducerTopics({len(self._used_at)} topics)"


def shortage(topic: str, code: int, count: int, partition: int | None) -> KafkaException:
    """Return the reason why nothing can be appended to a topic yet."""
    if code in ABSENT:
        return UnknownTopicOrPartitionException(
            f"{topic} does not exist: create it, or have the cluster create topics "
            f"(auto.create.topics.enable)"
        )
    if code:
        return topic_error(PRODUCER_METADATA, code, [topic])
    return UnknownTopicOrPartitionException(
        f"{topic} has {counted(count, 'partition')}, and the record is for partition "
        f"{partition}"
    )
