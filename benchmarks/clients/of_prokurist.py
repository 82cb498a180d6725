"""prokurist, as its peers are measured: in a process of its own, nothing else in it."""

from typing import Any

from clients.frame import TOPIC, UNHEARD_OF, run

from prokurist import KafkaConsumer, OffsetAndMetadata, TopicPartition

TP = TopicPartition(TOPIC, 0)


class Prokurist:
    """See `frame.Client`."""

    def __init__(self, bootstrap: str) -> None:
        self.consumer = KafkaConsumer(bootstrap_servers=bootstrap, group_id="prokurist")

    def prepare(self) -> None:
        """See `frame.Client`."""
        self.consumer.assign(TP)
        self.commit_sync(10.0)
        self.committed(10.0)
        self.consumer.position(TP, 10.0)
        self.consumer.poll(0.2)

    def commit_sync(self, seconds: float) -> None:
        """One offset."""
        self.consumer.commit_sync({TP: OffsetAndMetadata(1)}, seconds)

    def committed(self, seconds: float) -> object:
        """One partition."""
        return self.consumer.committed(TP, seconds)

    def position(self, seconds: float) -> int:
        """At the end, so that it has to be looked up."""
        self.consumer.seek_to_end(TP)
        return self.consumer.position(TP, seconds)

    def beginning_offsets(self, seconds: float) -> object:
        """One partition."""
        return self.consumer.beginning_offsets([TP], seconds)

    def end_offsets(self, seconds: float) -> object:
        """One partition."""
        return self.consumer.end_offsets([TP], seconds)

    def offsets_for_times(self, seconds: float) -> object:
        """One partition."""
        return self.consumer.offsets_for_times({TP: 1}, seconds)

    def list_topics(self, seconds: float) -> object:
        """All of them."""
        return self.consumer.list_topics(seconds)

    def partitions_for(self, seconds: float) -> object:
        """Of a topic that there is not."""
        return self.consumer.partitions_for(UNHEARD_OF, seconds)

    def poll(self, seconds: float) -> object:
        """See `frame.Client`."""
        return self.consumer.poll(seconds)

    def close(self, seconds: float) -> None:
        """With nothing under way."""
        self.consumer.close(seconds)

    def figures(self) -> dict[str, Any]:
        """Turns of the loop, and all that is pending anywhere."""
        side = self.consumer._built()  # noqa: SLF001 - what no user needs to see
        return {
            "turns": side.thread.turns,
            "calls": len(side.calls),
            "timer": len(side.timer),
            "in flight": side.client.in_flight,
            "unsent": side.client.waiting,
        }


if __name__ == "__main__":
    run(Prokurist)
