"""kafka-python's configuration: what a face minds itself, its defaults, and the rest."""

import math
from collections.abc import Callable, Mapping
from typing import Any, Final

from prokurist.compat.brokers import read_brokers
from prokurist.compat.kafka.errors import KafkaConfigurationError, as_theirs
from prokurist.compat.kafka.structs import OffsetAndMetadata
from prokurist.compat.user_code import OfNull, Partitioner
from prokurist.config import AdminConfig, ConsumerConfig, ProducerConfig
from prokurist.errors import ConfigException, KafkaException
from prokurist.types import OffsetAndMetadata as OurOffset
from prokurist.types import TopicPartition

_OF_ITS_OWN_WORKS: Final = ("bootstrap_timeout_ms", "kafka_client", "metric_group_prefix")
"""Keys of kafka-python's administrator that concern nothing here."""


def consumer_settings(configs: Mapping[str, Any]) -> tuple[dict[str, Any], ConsumerConfig]:
    """Read a consumer's configuration.

    Returns:
        What the client below reads, and what it comes to.

    Raises:
        KafkaConfigurationError: It has every fault and the way out.
    """
    rest = _given(configs)
    rest.pop("consumer_timeout_ms", None)
    rest.setdefault("allow_auto_create_topics", True)
    if "group_id" not in rest:
        # There it has no effect.
        rest.pop("enable_auto_commit", None)
    if callable(told := rest.get("default_offset_commit_callback")):
        del rest["default_offset_commit_callback"]
        rest.setdefault("on_committed", _Committed(told))
    found: ConsumerConfig = _checked(ConsumerConfig, rest)
    return rest, found


def producer_settings(configs: Mapping[str, Any]) -> tuple[dict[str, Any], ProducerConfig]:
    """Read a producer's configuration.

    Returns:
        What the client below reads, and what it comes to.

    Raises:
        KafkaConfigurationError: It has every fault and the way out.
    """
    rest = _given(configs)
    if rest.get("retries") == math.inf:
        del rest["retries"]
    if callable(partitioner := rest.get("partitioner")):
        rest["partitioner"] = Partitioner(partitioner)
    for key in ("key_serializer", "value_serializer"):
        if key in rest:
            rest[key] = OfNull(rest[key])
    found: ProducerConfig = _checked(ProducerConfig, rest)
    return rest, found


def admin_settings(configs: Mapping[str, Any]) -> tuple[dict[str, Any], AdminConfig]:
    """Read an administrator's configuration.

    Returns:
        What the client below reads, and what it comes to.

    Raises:
        KafkaConfigurationError: It has every fault and the way out.
    """
    rest = _given(configs)
    for name in _OF_ITS_OWN_WORKS:
        rest.pop(name, None)
    if "request_timeout_ms" in rest:
        rest.setdefault("default_api_timeout_ms", rest["request_timeout_ms"])
    found: AdminConfig = _checked(AdminConfig, rest)
    return rest, found


def _given(configs: Mapping[str, Any]) -> dict[str, Any]:
    """Without what is None: there it is the default's word for nothing."""
    given = {key: value for key, value in configs.items() if value is not None}
    given.setdefault("bootstrap_servers", "localhost:9092")
    read_brokers(given)
    return given


def _checked(kind: Any, rest: Mapping[str, Any]) -> Any:
    report = kind.check(rest)
    if report.faults:
        text = "\n- ".join(report.faults)
        raise KafkaConfigurationError(text) from ConfigException(text, faults=report.faults)
    return kind(report.translated)


class _Committed:
    """kafka-python's callback of automatic commits as ours.

    Args:
        told: Called with the offsets, and an exception or None.
    """

    def __init__(self, told: Callable[[Any, Exception | None], object]) -> None:
        self._told = told

    def __call__(
        self, done: Mapping[TopicPartition, OurOffset], error: KafkaException | None
    ) -> None:
        theirs = {tp: OffsetAndMetadata.of(place) for tp, place in done.items()}
        self._told(theirs, None if error is None else as_theirs(error))

    def __repr__(self) -> str:
        return f"_Committed({self._told!r})"
