"""What faces say of what they do not have, and of what they cannot use."""

import enum
import inspect
import logging
import warnings
from collections.abc import Callable
from importlib import import_module
from typing import Any

import confluent_kafka as real_confluent_kafka
import confluent_kafka.admin as real_admin
import confluent_kafka.cimpl as real_cimpl
import pytest

from prokurist import ConfigException, ConfigWarning, ConsumerConfig, ProducerConfig
from prokurist.compat import confluent_kafka, kafka
from prokurist.compat.confluent_kafka import admin as face_admin
from prokurist.compat.confluent_kafka import cimpl as face_cimpl
from prokurist.compat.confluent_kafka.errors_of import error_of
from prokurist.compat.confluent_kafka.offsets import as_bytes, from_bytes
from prokurist.compat.confluent_kafka.partitioners import any_of, consistent
from prokurist.compat.confluent_kafka.settings import connections_of, producer_settings
from prokurist.compat.confluent_kafka.settings import (
    consumer_settings as confluent_settings,
)
from prokurist.compat.kafka import errors
from prokurist.compat.kafka.settings import consumer_settings
from prokurist.errors import (
    AuthenticationException,
    BufferExhaustedException,
    CommitFailedException,
    DeliveryAbortedException,
    DisconnectException,
    IllegalGenerationException,
    KafkaException,
    NetworkThreadDiedException,
    RetriableCommitFailedException,
    TimeoutException,
    UnknownTopicOrPartitionException,
)
from prokurist.types import ConsumerGroupMetadata
from prokurist.version import VERSION

with warnings.catch_warnings():
    # It reads its own schemas in a way that Python 3.11 deprecates.
    warnings.simplefilter("ignore", DeprecationWarning)
    import kafka as real_kafka  # type: ignore[import-untyped]
    import kafka.admin as real_kafka_admin  # type: ignore[import-untyped]
    import kafka.errors as real_errors  # type: ignore[import-untyped]

SERVERS = {"bootstrap.servers": "localhost:1"}
CLASSES: list[tuple[Any, Any, Callable[[], Any]]] = [
    (
        real_confluent_kafka.Consumer,
        confluent_kafka.Consumer,
        lambda: confluent_kafka.Consumer({**SERVERS, "group.id": "billing"}),
    ),
    (
        real_confluent_kafka.Producer,
        confluent_kafka.Producer,
        lambda: confluent_kafka.Producer(SERVERS),
    ),
    (
        real_admin.AdminClient,
        face_admin.AdminClient,
        lambda: face_admin.AdminClient(SERVERS),
    ),
    (
        real_kafka.KafkaAdminClient,
        kafka.KafkaAdminClient,
        lambda: kafka.KafkaAdminClient(bootstrap_servers="localhost:1"),
    ),
    (real_confluent_kafka.Message, confluent_kafka.Message, confluent_kafka.Message),
    (
        real_confluent_kafka.KafkaError,
        confluent_kafka.KafkaError,
        lambda: confluent_kafka.KafkaError(3),
    ),
    (
        real_kafka.KafkaConsumer,
        kafka.KafkaConsumer,
        lambda: kafka.KafkaConsumer(bootstrap_servers="localhost:1"),
    ),
    (
        real_kafka.KafkaProducer,
        kafka.KafkaProducer,
        lambda: kafka.KafkaProducer(bootstrap_servers="localhost:1"),
    ),
]
UNDER_THE_HOOD = {
    "DEFAULT_CONFIG",
    "DEFAULT_SESSION_TIMEOUT_MS_PRE_KIP_735",
    "DEPRECATED_CONFIGS",
    "max_usable_produce_magic",
    "string_type",
    # Of share groups, and of deserializing consumers, which are left out.
    "delivery_count",
    "deserialized_key",
    "deserialized_value",
}
"""Names that no program calls."""


@pytest.mark.parametrize(("theirs", "face", "make"), CLASSES)
def test_each_name_is_here_or_told(theirs: Any, face: Any, make: Callable[[], Any]) -> None:
    """B336: every public name of a peer's class, on an object of the face."""
    made = make()
    try:
        for name in dir(theirs):
            if name.startswith("_") or name in UNDER_THE_HOOD or hasattr(face, name):
                continue
            with pytest.raises(AttributeError, match=f"has no {name}, which this face leaves"):
                getattr(made, name)
        with pytest.raises(AttributeError, match="no_such_name"):
            _ = made.no_such_name
    finally:
        getattr(made, "close", lambda: None)()


@pytest.mark.parametrize(
    ("theirs", "face"),
    [
        (real_confluent_kafka, confluent_kafka),
        (real_admin, face_admin),
        (real_cimpl, face_cimpl),
        (real_kafka, kafka),
        (real_kafka_admin, kafka.admin),
    ],
)
def test_each_name_of_a_package_is_here_or_told(theirs: Any, face: Any) -> None:
    """B336: what a program imports."""
    public = getattr(theirs, "__all__", None) or [
        name
        for name in dir(theirs)
        if not name.startswith("_") and not inspect.ismodule(getattr(theirs, name))
    ]
    for name in public:
        if not hasattr(face, name):
            with pytest.raises(AttributeError, match=f"has no {name}"):
                getattr(face, name)
    with pytest.raises(AttributeError, match=r"has no nothing$"):
        _ = face.nothing
    assert set(face.__all__) <= set(dir(face))


def test_the_numbers_are_confluent_kafkas() -> None:
    """B335: every constant of `KafkaError`."""
    theirs, ours = real_confluent_kafka.KafkaError, confluent_kafka.KafkaError
    constants = [name for name in dir(theirs) if name.lstrip("_").isupper()]
    assert len(constants) > 150
    assert all(getattr(ours, name) == getattr(theirs, name) for name in constants)
    assert all(ours(getattr(ours, name)).name() == name for name in constants)
    assert ours(ours._PARTITION_EOF).str() == "Local: partition eof"
    assert ours(3).str().startswith("Broker: ")


def test_the_classes_are_kafka_pythons() -> None:
    """B335: by name, by number, and what catches them."""
    kinds: list[tuple[str, Any]] = inspect.getmembers(real_errors, inspect.isclass)
    for name, kind in kinds:
        if not issubclass(kind, real_errors.BrokerResponseError) or not kind.errno:
            continue
        if kind.__name__ == name and name != "IncompatibleBrokerVersion":
            ours = getattr(errors, name)
            assert (ours.__name__, ours.errno) == (name, kind.errno)
            assert errors.for_code(kind.errno) is ours
            assert issubclass(ours, errors.BrokerResponseError)
    with pytest.raises(AttributeError, match="has no NoSuchError"):
        _ = errors.NoSuchError


def caused(error: KafkaException, cause: Exception) -> KafkaException:
    """An error with a cause."""
    error.__cause__ = cause
    return error


ERRORS = [
    (TimeoutException("t"), "_TIMED_OUT", "KafkaTimeoutError"),
    (BufferExhaustedException("t"), "_QUEUE_FULL", "KafkaTimeoutError"),
    (DisconnectException("t"), "_TRANSPORT", "KafkaConnectionError"),
    (AuthenticationException("t"), "_AUTHENTICATION", "KafkaError"),
    (DeliveryAbortedException("t"), "_PURGE_QUEUE", "Cancelled"),
    (NetworkThreadDiedException("t"), "_FAIL", "KafkaError"),
    (
        UnknownTopicOrPartitionException("t"),
        "UNKNOWN_TOPIC_OR_PART",
        "UnknownTopicOrPartitionError",
    ),
    (CommitFailedException("t"), "_ASSIGNMENT_LOST", "CommitFailedError"),
    (
        caused(CommitFailedException("t"), IllegalGenerationException("c")),
        "ILLEGAL_GENERATION",
        "CommitFailedError",
    ),
    (
        caused(RetriableCommitFailedException("t"), DisconnectException("t")),
        "_TRANSPORT",
        "KafkaConnectionError",
    ),
]


@pytest.mark.parametrize(
    ("error", "code", "name"),
    ERRORS,
    ids=[f"{type(each[0]).__name__} {each[1]}" for each in ERRORS],
)
def test_each_error_has_a_counterpart(error: KafkaException, code: str, name: str) -> None:
    """B335: a number there, a class here, and our text."""
    told = error_of(error)
    assert (told.name(), told.str()) == (code, "t")
    assert (told.retriable(), told.fatal()) == (error.retriable, error.fatal)
    theirs = errors.as_theirs(error)
    assert (type(theirs).__name__, str(theirs)) == (name, "t")


def test_a_late_delivery_has_a_number_of_its_own() -> None:
    """B335: of what a message has failed with."""
    assert error_of(TimeoutException("t"), delivery=True).name() == "_MSG_TIMED_OUT"
    error = DeliveryAbortedException("t")
    error.may_have_happened = True
    assert error_of(error, delivery=True).name() == "_PURGE_INFLIGHT"


@pytest.mark.parametrize(
    ("kind", "keys"),
    [(confluent_kafka.Consumer, {"group.id": "billing"}), (confluent_kafka.Producer, {})],
)
def test_confluent_kafkas_configuration_is_refused_with_the_way_out(
    kind: Any, keys: dict[str, Any]
) -> None:
    """B335: all faults at once, as `_INVALID_ARG`."""
    with pytest.raises(confluent_kafka.KafkaException) as raised:
        kind({**SERVERS, **keys, "no.such.key": 1, "topic.blacklist": "x"})
    [error] = raised.value.args
    assert error.code() == confluent_kafka.KafkaError._INVALID_ARG
    assert "unknown key no.such.key" in error.str()
    assert "topic.blacklist: cannot be used here: topics cannot be hidden" in error.str()
    cause = raised.value.__cause__
    assert isinstance(cause, ConfigException)
    assert len(cause.faults) == 2
    with pytest.raises(TypeError, match="error_cb is called"):
        kind({**SERVERS, **keys, "error_cb": 1})


@pytest.mark.parametrize("kind", [kafka.KafkaConsumer, kafka.KafkaProducer])
def test_kafka_pythons_configuration_is_refused_with_the_way_out(kind: Any) -> None:
    """B335: all faults at once."""
    with pytest.raises(errors.KafkaConfigurationError, match="unknown key no_such_key"):
        kind(no_such_key=1, ssl_context=object())


def test_switches_of_the_face() -> None:
    """B335: they are read as others are; a logger is warned of."""
    with pytest.raises(
        confluent_kafka.KafkaException, match=r"enable\.partition\.eof: must be"
    ):
        confluent_kafka.Consumer(
            {**SERVERS, "group.id": "billing", "enable.partition.eof": "maybe"}
        )
    with pytest.raises(confluent_kafka.KafkaException, match="must be a whole number"):
        confluent_kafka.Producer({**SERVERS, "statistics.interval.ms": -1})
    assert producer_settings({**SERVERS, "delivery.report.only.error": True}, {}).only_errors
    with pytest.warns(ConfigWarning, match="Python's logger `prokurist`") as warned:
        confluent_kafka.Producer(SERVERS, logger=logging.getLogger("mine")).close()
    assert warned[0].filename == __file__
    rest, found = consumer_settings({"group_id": None, "consumer_timeout_ms": 5})
    assert rest == {"bootstrap_servers": "localhost:9092", "allow_auto_create_topics": True}
    assert found.group_id is None


@pytest.mark.parametrize("name", ["error", "cimpl"])
def test_where_else_confluent_kafka_has_its_errors(name: str) -> None:
    """B336: modules that programs import from."""
    module = import_module(f"prokurist.compat.confluent_kafka.{name}")
    assert module.KafkaError is confluent_kafka.KafkaError
    assert module.KafkaException is confluent_kafka.KafkaException


def test_where_else_confluent_kafka_has_its_metadata() -> None:
    """B336: in its module for administration."""
    assert face_admin.ClusterMetadata is confluent_kafka.ClusterMetadata


def test_the_numbers_of_administration_are_confluent_kafkas() -> None:
    """B670: of the C library's constants, and of the enumerations."""
    theirs, face = real_cimpl, face_cimpl
    for name in dir(theirs):
        if name.isupper() and isinstance(getattr(theirs, name), int) and hasattr(face, name):
            assert getattr(face, name) == getattr(theirs, name)
    enumerations = 0
    for real, made in (
        (real_confluent_kafka, confluent_kafka),
        (real_admin, face_admin),
    ):
        for name, kind in inspect.getmembers(real, inspect.isclass):
            if issubclass(kind, enum.Enum) and not name.startswith("_") and hasattr(made, name):
                enumerations += 1
                members = getattr(made, name).__members__
                assert {each: members[each].value for each in members} == {
                    each: member.value for each, member in kind.__members__.items()
                }
    assert enumerations > 9


def signature(call: Any) -> list[str]:
    """The parameters that can be given by position."""
    kinds = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    found = inspect.signature(call).parameters.values()
    return [each.name for each in found if each.kind in kinds]


@pytest.mark.parametrize(
    ("theirs", "face"),
    [
        (real_admin.AdminClient, face_admin.AdminClient),
        (real_kafka.KafkaAdminClient, kafka.KafkaAdminClient),
    ],
)
def test_administrators_take_the_same_arguments(theirs: Any, face: Any) -> None:
    """B670, B673: by the same names, in the same order."""
    compared = 0
    for name, call in inspect.getmembers(theirs, inspect.isfunction):
        there = [each for each in signature(call) if each not in {"args", "kwargs"}]
        if name.startswith("_") or not hasattr(face, name) or len(there) == 1:
            continue
        assert signature(getattr(face, name))[: len(there)] == there, name
        compared += 1
    assert compared > 13


class Partitions:
    """A cluster with twelve partitions of every topic."""

    def partitions_of(self, _topic: str) -> range:
        """Their numbers."""
        return range(12)


@pytest.mark.parametrize(
    ("keys", "takes"),
    [
        ({}, 30_000),
        ({"message.timeout.ms": "5000"}, 4995),
        ({"delivery.timeout.ms": 5000, "linger.ms": 100, "request.timeout.ms": 6000}, 4900),
        ({"message.timeout.ms": 5000, "request.timeout.ms": 1000}, 1000),
        ({"message.timeout.ms": 5000, "socket.timeout.ms": 60_000}, 4995),
        ({"linger.ms": 100_000}, 30_000),
    ],
)
def test_an_attempt_takes_no_longer_than_a_message_has(
    keys: dict[str, Any], takes: int
) -> None:
    """In librdkafka a `message.timeout.ms` below `request.timeout.ms` is usual."""
    rest = producer_settings({**SERVERS, **keys}, {}).rest
    assert ProducerConfig(rest).request_timeout_ms == takes


@pytest.mark.parametrize("key", [b"a", b"key 7", bytes(range(256)), "ä".encode()])
def test_keys_stay_in_their_partitions(key: bytes) -> None:
    """B331: by librdkafka's own default, and its other names."""
    chosen = producer_settings(SERVERS, {}).rest["partitioner"]
    there = real_confluent_kafka.consistent(key, 12)
    assert chosen("t", key, b"", Partitions()) == there
    assert consistent("t", key, b"", Partitions()) == there
    assert {chosen("t", None, b"", Partitions()) for _ in range(500)} == set(range(12))
    assert any_of("t", key, b"", Partitions()) in range(12)
    for name in ("murmur2", "murmur2_random"):
        assert "partitioner" not in producer_settings({**SERVERS, "partitioner": name}, {}).rest
    with pytest.raises(confluent_kafka.KafkaException, match="partitioner='fnv1a'"):
        producer_settings({**SERVERS, "partitioner": "fnv1a"}, {})


def test_a_producers_look_up_of_all_topics_connects_alike() -> None:
    """B331: by the same addresses and secrets, and nothing of what is a producer's."""
    given = {
        **SERVERS,
        "security.protocol": "SASL_SSL",
        "sasl.mechanisms": "PLAIN",
        "sasl.username": "me",
        "sasl.password": "hush",
        "linger.ms": 3,
        "socket.keepalive.enable": True,
        "on_delivery": print,
    }
    settings = producer_settings(given, {})
    found = connections_of(ProducerConfig, settings.rest)
    config = ConsumerConfig(found)
    assert config.given == {
        "bootstrap.servers",
        "security.protocol",
        "sasl.mechanism",
        "sasl.username",
        "sasl.password",
        "socket.keepalive.enable",
    }
    assert config.sasl_password is not None
    assert config.sasl_password.reveal() == "hush"


def test_keys_of_the_other_client_are_dropped_with_a_warning() -> None:
    """B362: one configuration for both clients is usual there."""
    both = {**SERVERS, "group.id": "billing", "auto.offset.reset": "earliest", "acks": "all"}
    with pytest.warns(ConfigWarning, match=r"no effect here: group\.id, auto\.offset\.reset$"):
        producer = producer_settings(both, {})
    assert ProducerConfig(producer.rest).given >= {"bootstrap.servers", "acks"}
    with pytest.warns(ConfigWarning, match="no effect here: acks$"):
        consumer = confluent_settings(both, {})
    assert "acks" not in consumer.rest
    assert "group.id" in consumer.rest
    with pytest.raises(confluent_kafka.KafkaException, match="acks"):
        producer_settings({**SERVERS, "acks": "no such"}, {})


def test_the_version_is_told() -> None:
    """B336: by confluent-kafka's names for it; there is no library below."""
    assert confluent_kafka.version() == VERSION
    text, number = confluent_kafka.libversion()
    assert text == VERSION
    assert 0 <= number < 2**32


def test_errors_that_are_caught_can_be_imported() -> None:
    """B332: those too that only kafka-python's own works raise."""
    for name in ("NodeNotReadyError", "KafkaProtocolError", "IncompatibleBrokerVersion"):
        assert issubclass(getattr(errors, name), errors.KafkaError)
        assert getattr(errors, name) is getattr(errors, name)
    with pytest.raises(AttributeError, match="ends with KafkaTimeoutError"):
        _ = errors.NoBrokersAvailable


@pytest.mark.parametrize(
    "place",
    [
        ConsumerGroupMetadata("g"),
        ConsumerGroupMetadata("g", 7, "m"),
        ConsumerGroupMetadata("g", 7, "m", "static"),
        ConsumerGroupMetadata("g", 7, "m", ""),
    ],
)
def test_a_members_place_survives_its_bytes(place: ConsumerGroupMetadata) -> None:
    """B565: `consumer_group_metadata()` is read back by the producer."""
    assert from_bytes(as_bytes(place)) == place


@pytest.mark.parametrize("data", [None, "g", b"", b"CGMDv2:", b"CGMDv2:\1\0\0\0g", b"other"])
def test_bytes_that_are_no_members_place(data: object) -> None:
    """B565: the text says what to give."""
    with pytest.raises(TypeError, match=r"consumer\.consumer_group_metadata\(\)"):
        from_bytes(data)
