"""kafka-python's configuration: what a face minds itself, its defaults, and the rest."""

import math
from collections.abc import Callable, Mapping
from typing import Any

from prokurist.compat.kafka.errors import KafkaConfigurationError
from prokurist.config import ConsumerConfig, ProducerConfig
from prokurist.errors import ConfigException


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
        rest["partitioner"] = _Partitioner(partitioner)
    found: ProducerConfig = _checked(ProducerConfig, rest)
    return rest, found


def _given(configs: Mapping[str, Any]) -> dict[str, Any]:
    """Without what is None: there it is the default's word for nothing."""
    given = {key: value for key, value in configs.items() if value is not None}
    given.setdefault("bootstrap_servers", "localhost:9092")
    return given


def _checked(kind: Any, rest: Mapping[str, Any]) -> Any:
    report = kind.check(rest)
    if report.faults:
        text = "\n- ".join(report.faults)
        raise KafkaConfigurationError(text) from ConfigException(text, faults=report.faults)
    return kind(report.translated)


class _Partitioner:
    """kafka-python's partitioner as one of ours.

    Args:
        choose: Called with the key, all partitions, and those that have a leader.
    """

    def __init__(self, choose: Callable[..., int]) -> None:
        self._choose = choose

    def __call__(self, topic: str, key: Any, _value: Any, cluster: Any) -> int:
        every = cluster.partitions_of(topic)
        led = [each.partition for each in every if each.leader is not None]
        return self._choose(key, [each.partition for each in every], led)

    def __repr__(self) -> str:
        return f"_Partitioner({self._choose!r})"
