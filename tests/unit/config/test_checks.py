"""What must hold between keys."""

from collections.abc import Callable, Mapping

import pytest

from prokurist.config import ConsumerConfig, ProducerConfig
from prokurist.errors import ConfigException

Build = Callable[[Mapping[str, object]], ConsumerConfig]
BuildProducer = Callable[[Mapping[str, object]], ProducerConfig]


@pytest.mark.parametrize(
    ("keys", "on"),
    [
        ({}, False),
        ({"enable.auto.commit": False}, False),
        ({"group.id": "g"}, True),
        ({"group.id": "g", "enable.auto.commit": True}, True),
        ({"group.id": "g", "enable.auto.commit": False}, False),
    ],
)
def test_auto_commit_without_group(
    consumer: Build, keys: Mapping[str, object], *, on: bool
) -> None:
    """B57: unset and without a group, automatic commits are off."""
    assert consumer(keys).enable_auto_commit is on


@pytest.mark.parametrize("keys", [{}, {"group.id": None}])
def test_auto_commit_asked_for_without_group(
    consumer: Build, keys: Mapping[str, object]
) -> None:
    """B57: explicitly on without a group is an error."""
    with pytest.raises(ConfigException, match=r"enable\.auto\.commit=True needs a group"):
        consumer({"enable.auto.commit": True, **keys})


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("session.timeout.ms", 45_000),
        ("heartbeat.interval.ms", 3_000),
        ("partition.assignment.strategy", "range"),
    ],
)
def test_what_the_broker_decides(consumer: Build, key: str, value: object) -> None:
    """B136: given with group.protocol=consumer, even at its default, the key is an error."""
    with pytest.raises(ConfigException, match=rf"^{key} cannot be given with .*broker decides"):
        consumer({"group.protocol": "consumer", key: value})
    assert key in consumer({"group.protocol": "classic", key: value}).given


def test_the_new_protocol_alone(consumer: Build) -> None:
    """B136: classic defaults are no obstacle, and a remote assignor belongs here."""
    config = consumer({"group.protocol": "Consumer", "group.remote.assignor": "uniform"})
    assert config.group_protocol == "consumer"
    assert config.group_remote_assignor == "uniform"


def test_remote_assignor_with_classic(consumer: Build) -> None:
    """A remote assignor is an error where the members assign."""
    with pytest.raises(ConfigException, match=r"'uniform' cannot be given with .*=classic"):
        consumer({"group.remote.assignor": "uniform"})


@pytest.mark.parametrize("beat", [6000, 7000])
def test_heartbeat_below_session(consumer: Build, beat: int) -> None:
    """A heartbeat as rare as the session is long is an error, as in Java."""
    with pytest.raises(ConfigException, match=f"={beat} must be lower than session"):
        consumer({"heartbeat.interval.ms": beat, "session.timeout.ms": 6000})
    config = consumer({"heartbeat.interval.ms": 5999, "session.timeout.ms": 6000})
    assert config.heartbeat_interval_ms == 5999


def test_a_fetch_that_waits_too_long(consumer: Build) -> None:
    """A broker told to wait for as long as the client does would end every connection."""
    with pytest.raises(ConfigException, match=r"fetch\.max\.wait\.ms=900 .*request\.timeout"):
        consumer({"fetch.max.wait.ms": 900, "request.timeout.ms": 900})
    assert consumer({"request.timeout.ms": 400}).fetch_max_wait_ms == 500


@pytest.mark.parametrize(
    ("keys", "longest"),
    [
        ({}, 1000),
        ({"reconnect.backoff.ms": 20}, 20),
        ({"reconnect.backoff.ms": 5000}, 5000),
        ({"reconnect.backoff.max.ms": 10}, 10),
        ({"reconnect.backoff.ms": 20, "reconnect.backoff.max.ms": 90}, 90),
    ],
)
def test_reconnect_backoff(consumer: Build, keys: Mapping[str, object], longest: int) -> None:
    """The first pause given alone is every pause, as in Java."""
    assert consumer(keys).reconnect_backoff_max_ms == longest


@pytest.mark.parametrize(
    ("keys", "pushes"), [({}, False), ({"enable.metrics.push": True}, True)]
)
def test_metrics_push(consumer: Build, keys: Mapping[str, object], *, pushes: bool) -> None:
    """Pushing metrics is off, unless it is asked for."""
    assert consumer(keys).enable_metrics_push is pushes


@pytest.mark.parametrize(
    ("keys", "delivery"),
    [
        ({}, 120_000),
        ({"request.timeout.ms": 130_000}, 130_005),
        ({"linger.ms": 2**63 - 1}, 2**31 - 1),
        ({"delivery.timeout.ms": 30_005}, 30_005),
    ],
)
def test_delivery_timeout(
    producer: BuildProducer, keys: Mapping[str, object], delivery: int
) -> None:
    """B238: left alone, the delivery timeout makes room for one whole attempt."""
    assert producer(keys).delivery_timeout_ms == delivery


@pytest.mark.parametrize("spelling", ["delivery.timeout.ms", "message.timeout.ms"])
def test_delivery_timeout_too_short(producer: BuildProducer, spelling: str) -> None:
    """B238: given and shorter than linger and one attempt, it is an error."""
    with pytest.raises(ConfigException, match=r"=30004 must be at least .* so 30005"):
        producer({spelling: 30_004})


@pytest.mark.parametrize(
    ("keys", "on"),
    [
        ({}, True),
        ({"acks": 1}, False),
        ({"acks": "0"}, False),
        ({"acks": -1}, True),
        ({"retries": 0}, False),
        ({"enable.idempotence": False}, False),
        ({"enable.idempotence": False, "max.in.flight": 6}, False),
        ({"enable.idempotence": True, "acks": "all", "retries": 1, "max.in.flight": 5}, True),
    ],
)
def test_idempotence(producer: BuildProducer, keys: Mapping[str, object], *, on: bool) -> None:
    """Idempotence gives way to what rules it out, if it was not given."""
    assert producer(keys).enable_idempotence is on


@pytest.mark.parametrize(
    ("keys", "text"),
    [
        ({"enable.idempotence": True, "acks": 1}, "acks=1"),
        ({"enable.idempotence": True, "retries": 0, "acks": 0}, "retries=0 and acks=0"),
        ({"enable.idempotence": True, "max.in.flight": 6}, "at most 5"),
        ({"max.in.flight": 6}, "at most 5"),
        ({"transactional.id": "t", "enable.idempotence": False}, "'t' needs enable.idempot"),
        ({"transactional.id": "t", "acks": 1}, "'t' needs enable.idempotence=True"),
        ({"transactional.id": "t", "retries": 0}, "'t' needs enable.idempotence=True"),
        (
            {"transactional.id": "t", "transaction.two.phase.commit.enable": True},
            "ends its transactions itself",
        ),
        ({"transactional.id": ""}, "not blank"),
        (
            {"transaction.two.phase.commit.enable": True, "transaction.timeout.ms": 60_000},
            "does not expire",
        ),
    ],
)
def test_idempotence_asked_for(
    producer: BuildProducer, keys: Mapping[str, object], text: str
) -> None:
    """What was asked for and cannot be had is an error, as in Java since 4.0."""
    with pytest.raises(ConfigException, match=text):
        producer(keys)
