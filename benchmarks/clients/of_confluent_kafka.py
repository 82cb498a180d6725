"""confluent-kafka: librdkafka's consumer. Where a call takes no timeout, none is given."""

from typing import Any

from clients.frame import TOPIC, UNHEARD_OF, run
from confluent_kafka import OFFSET_END, Consumer, TopicPartition


class ConfluentKafka:
    """See `frame.Client`."""

    def __init__(self, bootstrap: str) -> None:
        self.consumer = Consumer(
            {"bootstrap.servers": bootstrap, "group.id": "confluent-kafka", "log_level": 0}
        )

    def prepare(self) -> None:
        """See `frame.Client`."""
        self.consumer.assign([TopicPartition(TOPIC, 0)])
        self.commit_sync(0.0)
        self.committed(10.0)
        self.end_offsets(10.0)
        self.consumer.poll(0.5)

    def commit_sync(self, _seconds: float) -> None:
        """It takes no timeout."""
        self.consumer.commit(offsets=[TopicPartition(TOPIC, 0, 1)], asynchronous=False)

    def committed(self, seconds: float) -> object:
        """One partition."""
        return self.consumer.committed([TopicPartition(TOPIC, 0)], timeout=seconds)

    def position(self, _seconds: float) -> int:
        """At the end; it takes no timeout."""
        self.consumer.seek(TopicPartition(TOPIC, 0, OFFSET_END))
        return int(self.consumer.position([TopicPartition(TOPIC, 0)])[0].offset)

    def beginning_offsets(self, seconds: float) -> object:
        """Both ends are one call."""
        return self.consumer.get_watermark_offsets(TopicPartition(TOPIC, 0), timeout=seconds)

    def end_offsets(self, seconds: float) -> object:
        """Both ends are one call."""
        return self.consumer.get_watermark_offsets(TopicPartition(TOPIC, 0), timeout=seconds)

    def offsets_for_times(self, seconds: float) -> object:
        """One partition."""
        return self.consumer.offsets_for_times([TopicPartition(TOPIC, 0, 1)], timeout=seconds)

    def list_topics(self, seconds: float) -> object:
        """All of them."""
        return self.consumer.list_topics(timeout=seconds)

    def partitions_for(self, seconds: float) -> object:
        """Of a topic that there is not."""
        return self.consumer.list_topics(UNHEARD_OF, timeout=seconds)

    def poll(self, seconds: float) -> object:
        """See `frame.Client`."""
        return self.consumer.poll(seconds)

    def close(self, _seconds: float) -> None:
        """It takes no timeout."""
        self.consumer.close()

    def figures(self) -> dict[str, Any]:
        """Nothing that one could ask."""
        return {}


if __name__ == "__main__":
    run(ConfluentKafka)
