"""A real Kafka of each version and the model beside it, shared by all scenarios."""

from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from typing import Any, Final

import pytest

from prokurist.testing.broker import EmbeddedBroker
from prokurist.testing.cluster import GroupSettings, TransactionSettings
from prokurist.testing.kafka import KafkaUnavailable, RealKafka, is_required
from tests.conformance.model_side import ModelSide
from tests.conformance.real_side import RealSide
from tests.conformance.stage import Pair

VERSIONS: Final = ("4.3.1", "3.9.2")
PROPERTIES: Final[dict[str, object]] = {
    "auto.create.topics.enable": "false",
    "group.max.size": "3",
    "group.consumer.max.size": "3",
    "group.consumer.session.timeout.ms": "60000",
    "producer.id.expiration.check.interval.ms": "500",
    "transaction.abort.timed.out.transaction.cleanup.interval.ms": "200",
}
PATIENCE: Final[dict[str, object]] = {
    "broker.session.timeout.ms": 120_000,
    "replica.lag.time.max.ms": 120_000,
}
OF_VERSION: Final[dict[str, dict[str, object]]] = {
    # A real broker puts off assignments by a second, which would be a wait and no fact.
    "4.3.1": {
        "group.consumer.assignment.interval.ms": "0",
        "group.consumer.assignor.offload.enable": "false",
        "group.share.assignment.interval.ms": "0",
    },
    "3.9.2": {"group.coordinator.rebalance.protocols": "classic,consumer"},
}


FILE: Final = {"log.retention.ms": "-1", "log.index.size.max.bytes": "65536"}
"""Properties of topics in the files of real nodes."""


def settings(version: str) -> GroupSettings:
    """What the model's brokers are told, so that they are like the real ones."""
    return GroupSettings(
        min_session_timeout=0.1,
        max_size=3,
        consumer_session_timeout=60.0,
        consumer_heartbeat_interval=1.0,
        older_epochs_commit=version != "3.9.2",
        offsets_partitions=5,
    )


def started(version: str, nodes: int, more: Mapping[str, object]) -> RealKafka:
    """A real Kafka that is ready."""
    properties: dict[str, Any] = {**PROPERTIES, **OF_VERSION[version], **more}
    kafka = RealKafka(nodes, version, properties=properties, controls=True)
    kafka.start()
    return kafka


def paired(stack: ExitStack, version: str, nodes: int, more: Mapping[str, object]) -> Pair:
    """A real Kafka and a model of as many nodes, until the stack is closed."""
    kafka = started(version, nodes, more)
    stack.callback(kafka.close)
    transactions = TransactionSettings(version=0 if version == "3.9.2" else 2)
    broker = EmbeddedBroker(nodes, groups=settings(version), transactions=transactions)
    model = stack.enter_context(broker)
    model.let_followers_serve()
    with model._change() as (cluster, _):
        cluster.state.configs.file = dict(FILE)
        if version == "3.9.2":
            cluster.state.configs.given.clear()
    return Pair(RealSide(kafka), ModelSide(model))


# The older one doubles the time: it is played where there are minutes.
@pytest.fixture(
    scope="session",
    params=[VERSIONS[0], pytest.param(VERSIONS[1], marks=pytest.mark.minutes)],
)
def version(request: pytest.FixtureRequest) -> str:
    """The version of Kafka to hold the model against."""
    return str(request.param)


def pair_of(version: str, nodes: int, **more: object) -> Iterator[Pair]:
    """A real Kafka of a version and a model; skips, or fails, where there is no Kafka."""
    with ExitStack() as stack:
        try:
            made = paired(stack, version, nodes, more)
        except KafkaUnavailable as error:
            if is_required():
                raise
            pytest.skip(error.reason)
        yield made


@pytest.fixture(scope="module")
def pair(version: str) -> Iterator[Pair]:
    """A real Kafka of that version and a model, one node each."""
    yield from pair_of(version, 1)


@pytest.fixture(scope="module")
def guarded_pair(version: str) -> Iterator[Pair]:
    """A pair with an authorizer that allows everything to those who do not authenticate."""
    authorizer = "org.apache.kafka.metadata.authorizer.StandardAuthorizer"
    properties = {"authorizer.class.name": authorizer, "super.users": "User:ANONYMOUS"}
    yield from pair_of(version, 1, **properties)


@pytest.fixture
def own_pair(version: str) -> Iterator[Pair]:
    """A pair that no other scenario is played to."""
    yield from pair_of(version, 1)


@pytest.fixture
def forgetful_pair(version: str) -> Iterator[Pair]:
    """A pair whose transactional ids are forgotten after a second."""
    properties = {
        "transactional.id.expiration.ms": 1000,
        "transaction.remove.expired.transaction.cleanup.interval.ms": 200,
    }
    yield from pair_of(version, 1, **properties)


@pytest.fixture
def own_pair_of_three(version: str) -> Iterator[Pair]:
    """The same with three nodes each."""
    yield from pair_of(version, 3)


@pytest.fixture
def patient_pair_of_three(version: str) -> Iterator[Pair]:
    """The same, and a node that is frozen stays in the cluster, and in sync."""
    yield from pair_of(version, 3, **PATIENCE)


@pytest.fixture
def lone_pair_of_three(version: str) -> Iterator[Pair]:
    """The same, and each coordinator has the one copy of what it writes down."""
    topics = ("offsets.topic", "transaction.state.log")
    copies = {f"{topic}.replication.factor": 1 for topic in topics}
    yield from pair_of(version, 3, **PATIENCE, **copies, **{"transaction.state.log.min.isr": 1})


@pytest.fixture(scope="module")
def pair_of_three(version: str) -> Iterator[Pair]:
    """The same with three nodes each."""
    yield from pair_of(version, 3)
