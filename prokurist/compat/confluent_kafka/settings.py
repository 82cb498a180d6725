"""confluent-kafka's configuration: the callbacks that a face calls itself, and the rest."""

import logging
import warnings
from collections.abc import Callable, Mapping
from dataclasses import fields
from typing import Any, Final

from prokurist.compat.brokers import read_brokers
from prokurist.compat.confluent_kafka.error import KafkaError, KafkaException
from prokurist.compat.confluent_kafka.errors_of import error_of, exception_of
from prokurist.compat.confluent_kafka.missing import MissingTopics
from prokurist.compat.confluent_kafka.offsets import as_partitions
from prokurist.compat.confluent_kafka.partitioners import DEFAULT, PARTITIONERS
from prokurist.config import AdminConfig, ConsumerConfig, ProducerConfig
from prokurist.config.connection import ConnectionKeys
from prokurist.config.kinds import Boolean, Integer, Rejected, millis
from prokurist.config.report import Verdict
from prokurist.consumer.commit_queue import CommitCallback, Offsets
from prokurist.errors import ConfigException, ConfigWarning
from prokurist.errors import KafkaException as OurException
from prokurist.lazy_dataclasses import dataclass

_CALLBACKS: Final = (
    "error_cb",
    "stats_cb",
    "on_commit",
    "on_delivery",
    "dr_cb",
    "throttle_cb",
)
_THROTTLE: Final = (
    "throttle_cb is accepted without effect: on_event hears of `broker_throttled`"
)
_OF_THE_CLIENT: Final = {"interceptor.classes", "enable.metrics.push"}
_LOGGER: Final = (
    "logger is accepted without effect: this client logs to Python's logger `prokurist`"
)

_HEARTBEAT: Final = 3000
"""Milliseconds between two heartbeats by default."""

_ISOLATION: Final = "isolation.level"
"""librdkafka's default is `read_committed`, and Java's `read_uncommitted`."""

_LARGEST: Final = 1_000_000
"""Bytes of key and value that a message has at most: librdkafka's `message.max.bytes`."""
_SIZES: Final = {"message.max.bytes", "max.request.size"}
_MOST: Final = "queue.buffering.max.messages"
_QUEUE: Final = 100_000
_BLOCKS: Final = 30_000
"""Milliseconds for which librdkafka waits for a topic that does not exist."""

_ATTEMPT: Final = ("request.timeout.ms", "socket.timeout.ms")
"""Time limit of an attempt, as librdkafka spells it."""


@dataclass(frozen=True, slots=True)
class Settings:
    """Settings from a configuration.

    Attributes:
        rest: What the client below reads, in any client's spelling.
        wait: Seconds that a call waits which is given no timeout.
        stores: `enable.auto.offset.store`.
        error_cb: Called with a `KafkaError` when no broker can be reached.
        stats_cb: Called with numbers as JSON.
        stats_interval: Seconds from one call of it to the next; 0 for never.
        on_delivery: Called for each record that has no callback of its own.
        only_errors: `delivery.report.only.error`.
        tells_ends: `enable.partition.eof`.
        missing: Hears which topics do not exist.
        most: Messages of a producer that have not ended, or that no poll has told yet.
        block: Seconds that a message waits whose topic does not exist.
        largest: Bytes of key and value of a message; None where the client below says it.
        is_transactional: A producer has a `transactional.id`.
    """

    rest: Mapping[str, Any]
    wait: float
    stores: bool = True
    error_cb: Callable[[KafkaError], object] | None = None
    stats_cb: Callable[[str], object] | None = None
    stats_interval: float = 0
    on_delivery: Callable[..., object] | None = None
    only_errors: bool = False
    tells_ends: bool = False
    missing: MissingTopics | None = None
    most: int = _QUEUE
    block: float = _BLOCKS / 1000
    largest: int | None = None
    is_transactional: bool = False


def consumer_settings(
    config: Mapping[str, Any] | None, keywords: Mapping[str, Any], logger: object = None
) -> Settings:
    """Read a consumer's configuration.

    Raises:
        KafkaException: `_INVALID_ARG`, with every fault and the way out.
        TypeError: A callback cannot be called.
    """
    rest, callbacks = _split({**(config or {}), **keywords}, logger)
    tells_ends = _taken_switch(rest, "enable.partition.eof")
    stats_interval = _taken_interval(rest)
    if callbacks["on_commit"] is not None:
        rest["on_committed"] = _as_ours(callbacks["on_commit"])
    _drop_others(ConsumerConfig, ProducerConfig, rest)
    if _ISOLATION not in {each.replace("_", ".") for each in rest}:
        rest[_ISOLATION] = "read_committed"
    found = _checked(ConsumerConfig, rest)
    missing = None
    if not found.allow_auto_create_topics:
        rest["on_event"] = missing = MissingTopics(found.on_event)
    return Settings(
        rest,
        found.default_api_timeout_ms / 1000,
        stores=found.enable_auto_offset_store,
        error_cb=callbacks["error_cb"],
        stats_cb=callbacks["stats_cb"],
        stats_interval=stats_interval,
        tells_ends=tells_ends,
        missing=missing,
    )


def producer_settings(
    config: Mapping[str, Any] | None, keywords: Mapping[str, Any], logger: object = None
) -> Settings:
    """Read a producer's configuration.

    Raises:
        KafkaException: `_INVALID_ARG`, with every fault and the way out.
        TypeError: A callback cannot be called.
    """
    rest, callbacks = _split({**(config or {}), **keywords}, logger)
    _choose_partitioner(rest)
    _drop_others(ProducerConfig, ConsumerConfig, rest)
    _fit_attempts(rest)
    given = {each.replace("_", ".") for each in rest}
    if "max.block.ms" not in given:
        rest["max.block.ms"] = _BLOCKS
    only_errors = _taken_switch(rest, "delivery.report.only.error")
    stats_interval = _taken_interval(rest)
    most = _taken_count(rest, _MOST)
    found = _checked(ProducerConfig, rest)
    return Settings(
        rest,
        found.delivery_timeout_ms / 1000,
        error_cb=callbacks["error_cb"],
        stats_cb=callbacks["stats_cb"],
        stats_interval=stats_interval,
        on_delivery=callbacks["on_delivery"] or callbacks["dr_cb"],
        only_errors=only_errors,
        most=most,
        block=found.max_block_ms / 1000,
        largest=None if given & _SIZES else _LARGEST,
        is_transactional=found.transactional_id is not None,
    )


def admin_settings(
    config: Mapping[str, Any], keywords: Mapping[str, Any], logger: object = None
) -> Settings:
    """Read an administrator's configuration.

    Raises:
        KafkaException: `_INVALID_ARG`, with every fault and the way out.
        TypeError: A callback cannot be called.
    """
    rest, _callbacks = _split({**config, **keywords}, logger)
    given = {each.replace("_", ".") for each in rest}
    attempt = next((rest[name] for name in rest if name.replace("_", ".") in _ATTEMPT), None)
    if attempt is not None and "default.api.timeout.ms" not in given:
        rest["default.api.timeout.ms"] = attempt
    _drop_others(AdminConfig, ConsumerConfig, rest)
    _drop_others(AdminConfig, ProducerConfig, rest)
    found = _checked(AdminConfig, rest)
    return Settings(rest, found.default_api_timeout_ms / 1000)


def connections_of(kind: Any, rest: Mapping[str, Any]) -> dict[str, object]:
    """Select the keys of a configuration of ours that concern connections."""
    names = {each.name.replace("_", ".") for each in fields(ConnectionKeys)} - _OF_THE_CLIENT
    translated = kind.check(rest).translated
    return {name: value for name, value in translated.items() if name in names}


def _split(config: dict[str, Any], logger: object) -> tuple[dict[str, Any], dict[str, Any]]:
    callbacks = {name: config.pop(name, None) for name in _CALLBACKS}
    if callbacks["throttle_cb"] is not None:
        warnings.warn(_THROTTLE, ConfigWarning, stacklevel=4)
    of_topics = config.pop("default.topic.config", None)
    if isinstance(of_topics, Mapping):
        config = {**of_topics, **config}
    if config.get("client.id", "") is None:
        del config["client.id"]  # There it is the default's word for nothing.
    _fit_heartbeats(config)
    for name, callback in callbacks.items():
        if callback is not None and not callable(callback):
            raise TypeError(f"{name} is called, and {callback!r} cannot be")
    given = config.pop("logger", logger)
    if isinstance(given, logging.Logger):
        warnings.warn(_LOGGER, ConfigWarning, stacklevel=5)
    read_brokers(config)
    return config, callbacks


def _as_ours(on_commit: Callable[..., object]) -> CommitCallback:
    """A user's `on_commit`, as ours is called."""

    def on_committed(offsets: Offsets, error: OurException | None) -> None:
        on_commit(None if error is None else error_of(error), as_partitions(offsets))

    return on_committed


def _taken_switch(rest: dict[str, Any], name: str) -> bool:
    """Take a switch that the face itself minds."""
    if name not in rest:
        return False
    try:
        return bool(Boolean().read(rest.pop(name)))
    except Rejected as rule:
        raise exception_of(ConfigException(f"{name}: {rule}")) from None


def _drop_others(kind: Any, other: Any, rest: dict[str, Any]) -> None:
    """Take out what is a key of the other client alone, with a warning, as librdkafka does."""
    faulty = {each.key for each in kind.check(rest).findings if each.verdict is Verdict.FAULTY}
    dropped = []
    for key in [each for each in rest if each in faulty]:
        (finding,) = (each for each in other.check({key: rest[key]}).findings if each.key)
        if finding.verdict is not Verdict.FAULTY:
            del rest[key]
            dropped.append(key)
    if dropped:
        text = f"keys of the other client have no effect here: {', '.join(dropped)}"
        warnings.warn(text, ConfigWarning, stacklevel=5)


def _choose_partitioner(rest: dict[str, Any]) -> None:
    """Put librdkafka's partitioner in, by its name."""
    name = rest.get("partitioner", DEFAULT)
    if isinstance(name, str) and name in PARTITIONERS and "partitioner.class" not in rest:
        rest.pop("partitioner", None)
        if (partitioner := PARTITIONERS[name]) is not None:
            rest["partitioner"] = partitioner


def _fit_attempts(rest: dict[str, Any]) -> None:
    """Let no attempt take longer than a message has, where that is less: as librdkafka does."""
    given: Mapping[str, Any] = ProducerConfig.check(rest).translated
    try:
        has = int(given["delivery.timeout.ms"])
        lingers, takes = (
            int(given.get("linger.ms", 5)),
            int(given.get("request.timeout.ms", 30_000)),
        )
    except KeyError:
        return
    except (TypeError, ValueError):
        return  # The check of all keys says what is wrong.
    if lingers < has < lingers + takes:
        for name in [each for each in rest if each.replace("_", ".") in _ATTEMPT]:
            del rest[name]
        rest["request.timeout.ms"] = has - lingers


def _fit_heartbeats(config: dict[str, Any]) -> None:
    """Lower the heartbeat interval to a third of a short session, as no rule does there."""
    given = {each.replace("_", "."): each for each in config}
    if "heartbeat.interval.ms" in given or "session.timeout.ms" not in given:
        return
    try:
        session = int(config[given["session.timeout.ms"]])
    except (TypeError, ValueError):
        return  # The check of all keys says what is wrong.
    if 0 < session <= _HEARTBEAT:
        config["heartbeat.interval.ms"] = max(1, session // 3)


def _taken_count(rest: dict[str, Any], name: str) -> int:
    """Take a number of messages that the face itself minds; librdkafka's default is 100 000."""
    try:
        return int(Integer(1, 2**31 - 1).read(rest.pop(name, _QUEUE)))
    except Rejected as rule:
        raise exception_of(ConfigException(f"{name}: {rule}")) from None


def _taken_interval(rest: dict[str, Any]) -> float:
    """Take `statistics.interval.ms`, in seconds."""
    name = "statistics.interval.ms"
    try:
        return int(millis(0, 86_400_000).read(rest.pop(name, 0))) / 1000
    except Rejected as rule:
        raise exception_of(ConfigException(f"{name}: {rule}")) from None


def _checked(kind: Any, rest: Mapping[str, Any]) -> Any:
    report = kind.check(rest)
    if report.faults:
        text = "\n- ".join(report.faults)
        error = ConfigException(text, faults=report.faults)
        raise KafkaException(KafkaError(KafkaError._INVALID_ARG, text)) from error
    return kind(report.translated)
