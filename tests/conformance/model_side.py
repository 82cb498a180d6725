"""The model as a side of a scenario: what happens behind the protocol, by its controls."""

from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import replace
from uuid import UUID

from prokurist.testing.broker import EmbeddedBroker
from prokurist.testing.cluster.apis import KEYS
from prokurist.testing.cluster.configs import ResourceType
from prokurist.types import TopicPartition
from tests.conformance.sides import Side, transactional


class ModelSide(Side):
    """The model, served over loopback."""

    first_node = 1

    def __init__(self, broker: EmbeddedBroker) -> None:
        super().__init__(broker.bootstrap.split(","))
        self._broker = broker
        self._producers: dict[str, int] = {}
        with broker._change() as (cluster, _):
            for each in cluster.brokers():
                each.node = replace(each.node, rack=f"rack-{each.node.id - 1}")
            for name, key in KEYS.items():
                if key in cluster.offered:
                    self.versions[name] = cluster.offered[key]

    def create_topics(
        self, names: Sequence[str], partitions: int, config: Mapping[str, str] | None = None
    ) -> dict[str, UUID]:
        """Through the controls."""
        for each in names:
            self._broker.create_topic(each, partitions, replication=1)
            with self._broker._change() as (cluster, _):
                topic = cluster.state.topics[each]
                topic.given = named(config)
                cluster.state.configs_changed(topic)
        return {each: self._id_of(each) for each in names}

    def place_topic(
        self,
        name: str,
        replicas: Sequence[Sequence[int]],
        config: Mapping[str, str] | None = None,
    ) -> UUID:
        """Made somewhere, and then placed."""
        self._broker.create_topic(name, len(replicas), replication=1)
        with self._broker._change() as (cluster, _):
            topic = cluster.state.topics[name]
            for each, nodes in zip(topic.partitions, replicas, strict=True):
                each.replicas, each.isr, each.leader = tuple(nodes), list(nodes), nodes[0]
            topic.given = named(config)
            cluster.state.configs_changed(topic)
        return self._id_of(name)

    def delete_topic(self, name: str) -> None:
        """Through the controls."""
        self._broker.delete_topic(name)

    def delete_records(self, name: str, partition: int, before: int) -> None:
        """Through the controls."""
        tp = TopicPartition(name, partition)
        self._broker.delete_records(tp, self._broker.offsets(tp)[1] if before < 0 else before)

    def move_leader(
        self,
        name: str,
        partition: int,
        node: int,
        *,
        settled: bool = True,  # noqa: ARG002 - nothing has to settle here
    ) -> None:
        """Through the controls."""
        if self._broker.leader(TopicPartition(name, partition))[0] != node:
            self._broker.move_leader(TopicPartition(name, partition), node)
            # An administrator elects the replica that is named first.
            with self._broker._change() as (cluster, _):
                moved = cluster.state.topics[name].partitions[partition]
                others = (each for each in moved.replicas if each != node)
                moved.replicas = (node, *others)

    def stopped(self, node: int) -> AbstractContextManager[object]:
        """Through the controls."""
        return self._broker.stop_following(node)

    def frozen(self, node: int) -> AbstractContextManager[object]:
        """Through the controls."""
        return self._broker.freeze(node)

    def killed(self, node: int, *names: str) -> AbstractContextManager[object]:  # noqa: ARG002
        """Through the controls."""
        return self._broker.kill(node)

    def until_in_sync(self, name: str, partition: int, size: int) -> None:
        """Through the controls."""
        self._broker.shrink_isr(TopicPartition(name, partition), size)

    def elect_unclean(self, name: str, partition: int, node: int) -> None:
        """Through the controls."""
        self._broker.elect_unclean(TopicPartition(name, partition), node)

    def restart(self, node: int) -> None:
        """Through the controls."""
        self._broker.kill(node)
        self._broker.restart(node)

    def expire_producer(self, name: str, partition: int, producer_id: int) -> None:
        """Through the controls: the model goes by the time of the append."""
        self._broker.forget_producers(TopicPartition(name, partition), producer_id)

    def expire_transaction(self, name: str) -> None:
        """Through the controls."""
        self._broker.forget_transaction(name)

    def finalize(self, feature: str, level: int) -> None:
        """Through the controls."""
        self._broker.finalize(feature, level)

    def begin_transaction(self, name: str, partition: int, who: str, *values: bytes) -> None:
        """As bytes, without a coordinator."""
        number = self._producers.setdefault(f"{name}-{who}", 5000 + len(self._producers))
        self._broker.append_bytes(
            TopicPartition(name, partition), transactional(values, number)
        )

    def end_transaction(self, name: str, partition: int, who: str, *, commit: bool) -> None:
        """Through the controls."""
        number = self._producers[f"{name}-{who}"]
        self._broker.end_transaction(TopicPartition(name, partition), number, committed=commit)

    def settle_metadata(self) -> None:
        """At once: the model's brokers know what one of them has answered."""

    def configure_group(self, group: str, **settings: str) -> None:
        """Through the state, for a group that there is not yet."""
        with self._broker._change() as (cluster, _):
            cluster.state.configs.replace(ResourceType.GROUP, group, named(settings))

    def _id_of(self, name: str) -> UUID:
        with self._broker._change() as (cluster, _):
            return cluster.state.topics[name].id


def named(config: Mapping[str, str] | None) -> dict[str, str]:
    """A topic's properties by Kafka's names."""
    return {name.replace("_", "."): value for name, value in (config or {}).items()}
