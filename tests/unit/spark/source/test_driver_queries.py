"""What of the brokers' topics is read, when they are asked, and what is known of them."""

from collections.abc import Mapping
from typing import Any
from uuid import UUID

import pytest

from prokurist.config import ConsumerConfig
from prokurist.spark.source import driver_queries as module
from prokurist.spark.source.driver_queries import DriverQueries
from prokurist.spark.source.java_patterns import java_pattern
from prokurist.spark.source.partition_selection import Matching, Partitions, Topics
from prokurist.types import PartitionInfo, TopicPartition


class PaperConsumer:
    """A client whose topics are written down here.

    Attributes:
        topics: The id of each topic of one partition.
        asked: What it was asked, in order.
    """

    def __init__(self) -> None:
        self.topics = {"orders": UUID(int=1), "bills": UUID(int=2)}
        self.asked: list[str] = []

    def _of(self, name: str) -> tuple[PartitionInfo, ...]:
        return (PartitionInfo(name, 0, None, topic_id=self.topics[name]),)

    def list_topics(self, _timeout: float, /) -> Mapping[str, tuple[PartitionInfo, ...]]:
        """All, as a broker tells it now."""
        self.asked.append("all")
        return {name: self._of(name) for name in self.topics}

    def partitions_for(self, name: str, _timeout: float, /) -> tuple[PartitionInfo, ...]:
        """One, as it is known."""
        self.asked.append(name)
        return self._of(name)


@pytest.fixture
def consumer(monkeypatch: pytest.MonkeyPatch) -> PaperConsumer:
    """The client that is made."""
    found = PaperConsumer()
    monkeypatch.setattr(module, "made", lambda _config: found)
    return found


ORDERS = [TopicPartition("orders", 0)]


def test_a_topic_is_looked_up_again_only_on_demand(consumer: PaperConsumer) -> None:
    """What the client knows is young enough for each trigger."""
    brokers = DriverQueries({})
    assert brokers.partitions(Topics(("orders",))) == ORDERS
    assert consumer.asked == ["orders"]
    assert brokers.partitions(Topics(("orders",)), fresh=True) == ORDERS
    assert consumer.asked == ["orders", "all"]
    assert brokers.partitions(Partitions(tuple(ORDERS))) == ORDERS
    assert consumer.asked == ["orders", "all"]


def test_kafka_s_own_topics_match_no_pattern(consumer: PaperConsumer) -> None:
    """As with Spark's own source."""
    consumer.topics |= {each: UUID(int=9) for each in module.INTERNAL}
    found = DriverQueries({}).partitions(Matching(java_pattern(".*", "subscribePattern")))
    assert found == [TopicPartition("bills", 0), *ORDERS]


def test_topics_are_known_by_their_ids(consumer: PaperConsumer) -> None:
    """Those that are read, and no others: one created again is told by it."""
    brokers = DriverQueries({})
    for selection in (Topics(("orders",)), Matching(java_pattern("ord", "subscribePattern"))):
        for number in (1, 3):
            consumer.topics["orders"] = UUID(int=number)
            brokers.partitions(selection)
            assert brokers.topic_ids == {"orders": UUID(int=number)}


@pytest.mark.parametrize("given", [{}, {"metadata.max.age.ms": "700"}])
def test_a_partition_that_was_added_is_noticed_soon(
    monkeypatch: pytest.MonkeyPatch, given: dict[str, str]
) -> None:
    """Within five seconds, unless the user says otherwise."""
    configs: list[Mapping[str, Any]] = []

    def made(config: Mapping[str, Any]) -> PaperConsumer:
        configs.append(config)
        return PaperConsumer()

    monkeypatch.setattr(module, "made", made)
    DriverQueries(given).partitions(Topics(("orders",)))
    (config,) = configs
    assert config["metadata.max.age.ms"] == given.get("metadata.max.age.ms", "5000")


@pytest.mark.parametrize("given", [{}, {"request.timeout.ms": "20000"}])
def test_a_broker_that_is_silent_is_given_up_soon(
    monkeypatch: pytest.MonkeyPatch, given: dict[str, str]
) -> None:
    """Within five seconds, so that a step has time to ask another; or as the user says."""
    configs: list[Mapping[str, Any]] = []

    def made(config: Mapping[str, Any]) -> PaperConsumer:
        configs.append(config)
        return PaperConsumer()

    monkeypatch.setattr(module, "made", made)
    DriverQueries(given).partitions(Topics(("orders",)))
    (config,) = configs
    assert config["request.timeout.ms"] == given.get("request.timeout.ms", "5000")
    ConsumerConfig({"bootstrap.servers": "b:9092", **config})


@pytest.mark.parametrize(
    ("step", "part", "left"), [(100.0, 0.0, False), (0.0, 100.0, False), (100.0, 50.0, True)]
)
def test_a_part_of_a_step_ends_no_later_than_the_step(
    step: float,
    part: float,
    left: bool,  # noqa: FBT001 - a parameter of the test
) -> None:
    """And gives the rest of the step's time back."""
    brokers = DriverQueries({})
    seen = []
    with brokers.within(step):
        with brokers.at_most(part):
            seen.append(brokers.has_time)
        seen.append(brokers.has_time)
    assert seen == [left, step > 0]
