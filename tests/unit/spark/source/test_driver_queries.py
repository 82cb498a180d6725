"""What of the brokers' topics is read, when they are asked, and what is known of them."""

from collections.abc import Iterable, Mapping
from typing import Any
from uuid import UUID

import pytest

from prokurist.config import ConsumerConfig
from prokurist.errors import TopicAuthorizationException, UnknownTopicOrPartitionException
from prokurist.spark.source import driver_queries as module
from prokurist.spark.source.driver_queries import DriverQueries
from prokurist.spark.source.java_patterns import java_pattern
from prokurist.spark.source.partition_selection import (
    INTERNAL,
    Matching,
    Partitions,
    Topics,
)
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
        self.hidden: set[str] = set()
        self.refused: set[str] = set()

    def _of(self, name: str) -> tuple[PartitionInfo, ...]:
        return (PartitionInfo(name, 0, None, topic_id=self.topics[name]),)

    def list_topics(
        self, _timeout: float, /, *, topics: Iterable[str] | None = None
    ) -> dict[str, tuple[PartitionInfo, ...]]:
        """All, or some of them, as a broker tells it now."""
        self.asked.append("all" if topics is None else ", ".join(sorted(topics)))
        if self.refused and topics is not None and self.refused & set(topics):
            raise TopicAuthorizationException(topics=tuple(self.refused))
        seen = self.topics.keys() - self.hidden - self.refused if topics is None else topics
        return {name: self._of(name) for name in seen if name in self.topics}


@pytest.fixture
def consumer(monkeypatch: pytest.MonkeyPatch) -> PaperConsumer:
    """The client that is made."""
    found = PaperConsumer()
    monkeypatch.setattr(module, "made", lambda _config: found)
    return found


ORDERS = [TopicPartition("orders", 0)]


def test_all_topics_that_are_named_are_asked_for_at_once(consumer: PaperConsumer) -> None:
    """By one request, however many there are; leaders and ids likewise."""
    brokers = DriverQueries({})
    bills = TopicPartition("bills", 0)
    assert brokers.partitions(Topics(("orders", "bills"))) == [bills, *ORDERS]
    assert brokers.partitions(Partitions(tuple(ORDERS))) == ORDERS
    assert brokers.leaders([bills, *ORDERS, TopicPartition("no", 0)]) == {
        bills: None,
        ORDERS[0]: None,
    }
    assert brokers.topic_ids({"bills", "no"}) == {"bills": UUID(int=2)}
    assert consumer.asked == ["bills, orders", "orders", "bills, no, orders", "bills, no"]


@pytest.mark.parametrize(
    ("selection", "told"),
    [
        (Topics(("orders", "no")), "there is no topic 'no'"),
        (Partitions((*ORDERS, TopicPartition("no", 0))), "there is no topic 'no'"),
        (Partitions((TopicPartition("orders", 7),)), "orders-7 does not exist"),
    ],
)
def test_what_is_named_and_does_not_exist(
    consumer: PaperConsumer, selection: Topics | Partitions, told: str
) -> None:
    """It is an error that names it, at once."""
    with pytest.raises(UnknownTopicOrPartitionException, match=told):
        DriverQueries({}).partitions(selection)
    assert len(consumer.asked) == 1


def test_a_list_that_lacks_a_topic_that_is_known(consumer: PaperConsumer) -> None:
    """Of a broker that lags, or of a user without the right: the topic is asked for by name."""
    brokers, orders = DriverQueries({}), Matching(java_pattern("ord", "subscribePattern"))
    consumer.hidden = {"orders"}
    assert brokers.listing(orders, {"orders"}).partitions == tuple(ORDERS)
    consumer.hidden, consumer.refused = set(), {"orders"}
    listing = brokers.listing(orders, {"orders", "no"})
    assert not listing.partitions
    assert listing.refused == {"orders"}
    assert consumer.asked == ["all", "orders", "all", "no, orders", "no"]


def test_kafka_s_own_topics_match_no_pattern(consumer: PaperConsumer) -> None:
    """As with Spark's own source."""
    consumer.topics |= {each: UUID(int=9) for each in INTERNAL}
    found = DriverQueries({}).partitions(Matching(java_pattern(".*", "subscribePattern")))
    assert found == [TopicPartition("bills", 0), *ORDERS]


def test_topics_are_known_by_their_ids(consumer: PaperConsumer) -> None:
    """Those that are read, and no others: one created again is told by it."""
    brokers = DriverQueries({})
    for selection in (Topics(("orders",)), Matching(java_pattern("ord", "subscribePattern"))):
        for number in (1, 3):
            consumer.topics["orders"] = UUID(int=number)
            listing = brokers.listing(selection)
            assert listing.topic_ids == {"orders": UUID(int=number)}


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
