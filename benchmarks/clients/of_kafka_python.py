"""kafka-python. Where a call takes no timeout, none is given."""

from typing import Any

from clients.frame import TOPIC, UNHEARD_OF, run
from kafka import KafkaConsumer, OffsetAndMetadata, TopicPartition

TP = TopicPartition(TOPIC, 0)


class KafkaPython:
    """See `frame.Client`."""

    def __init__(self, bootstrap: str) -> None:
        self.consumer = KafkaConsumer(bootstrap_servers=bootstrap, group_id="kafka-python")

    def prepare(self) -> None:
        """See `frame.Client`."""
        self.consumer.assign([TP])
        self.commit_sync(10.0)
        self.committed(10.0)
        self.consumer.position(TP, timeout_ms=10_000)
        self.consumer.poll(timeout_ms=200)

    def commit_sync(self, seconds: float) -> None:
        """One offset."""
        self.consumer.commit({TP: OffsetAndMetadata(1, "", -1)}, timeout_ms=seconds * 1000)

    def committed(self, seconds: float) -> object:
        """One partition."""
        return self.consumer.committed(TP, timeout_ms=seconds * 1000)

    def position(self, seconds: float) -> object:
        """At the end, so that it has to be looked up."""
        self.consumer.seek_to_end(TP)
        return self.consumer.position(TP, timeout_ms=seconds * 1000)

    def beginning_offsets(self, seconds: float) -> object:
        """One partition."""
        return self.consumer.beginning_offsets([TP], timeout_ms=seconds * 1000)

    def end_offsets(self, seconds: float) -> object:
        """One partition."""
        return self.consumer.end_offsets([TP], timeout_ms=seconds * 1000)

    def offsets_for_times(self, seconds: float) -> object:
        """One partition."""
        return self.consumer.offsets_for_times({TP: 1}, timeout_ms=seconds * 1000)

    def list_topics(self, _seconds: float) -> object:
        """It takes no timeout."""
        return self.consumer.topics()

    def partitions_for(self, _seconds: float) -> object:
        """Of a topic that there is not; it takes no timeout."""
        return self.consumer.partitions_for_topic(UNHEARD_OF)

    def poll(self, seconds: float) -> object:
        """See `frame.Client`."""
        return self.consumer.poll(timeout_ms=seconds * 1000)

    def close(self, seconds: float) -> None:
        """With nothing under way."""
        self.consumer.close(timeout_ms=seconds * 1000)

    def figures(self) -> dict[str, Any]:
        """Nothing that one could ask."""
        return {}


if __name__ == "__main__":
    run(KafkaPython)
