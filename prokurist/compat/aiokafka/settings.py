"""aiokafka's configuration: its keys and defaults, and what the clients below read of it."""

import asyncio
import inspect
import warnings
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, Final

from prokurist.compat.aiokafka.errors import KafkaConfigurationError
from prokurist.compat.aiokafka.helpers import SslFiles
from prokurist.compat.brokers import read_brokers
from prokurist.compat.user_code import Partitioner
from prokurist.config import AdminConfig, ConsumerConfig, ProducerConfig
from prokurist.errors import ConfigException, ConfigWarning

MOST: Final = 1000
"""`max_poll_records` of a consumer that is given none."""

_CONNECTION: Final[Mapping[str, object]] = MappingProxyType(
    {
        "loop": None,
        "bootstrap_servers": "localhost",
        "client_id": None,
        "request_timeout_ms": 40_000,
        "retry_backoff_ms": 100,
        "metadata_max_age_ms": 300_000,
        "ssl_context": None,
        "security_protocol": "PLAINTEXT",
        "api_version": None,
        "connections_max_idle_ms": 540_000,
        "sasl_mechanism": "PLAIN",
        "sasl_plain_password": None,
        "sasl_plain_username": None,
        "sasl_kerberos_service_name": "kafka",
        "sasl_kerberos_domain_name": None,
        "sasl_oauth_token_provider": None,
    }
)

CONSUMER: Final[Mapping[str, object]] = MappingProxyType(
    {
        **_CONNECTION,
        "group_id": None,
        "group_instance_id": None,
        "key_deserializer": None,
        "value_deserializer": None,
        "fetch_max_wait_ms": 500,
        "fetch_max_bytes": 52_428_800,
        "fetch_min_bytes": 1,
        "max_partition_fetch_bytes": 1_048_576,
        "auto_offset_reset": "latest",
        "enable_auto_commit": True,
        "auto_commit_interval_ms": 5000,
        "check_crcs": True,
        "partition_assignment_strategy": ("roundrobin",),
        "max_poll_interval_ms": 300_000,
        "rebalance_timeout_ms": None,
        "session_timeout_ms": 10_000,
        "heartbeat_interval_ms": 3000,
        "consumer_timeout_ms": 200,
        "max_poll_records": None,
        "exclude_internal_topics": True,
        "isolation_level": "read_uncommitted",
        "client_rack": None,
    }
)
"""Keywords of an AIOKafkaConsumer, and their defaults."""

PRODUCER: Final[Mapping[str, object]] = MappingProxyType(
    {
        **_CONNECTION,
        "acks": None,
        "key_serializer": None,
        "value_serializer": None,
        "compression_type": None,
        "max_batch_size": 16_384,
        "partitioner": None,
        "max_request_size": 1_048_576,
        "linger_ms": 0,
        "enable_idempotence": False,
        "transactional_id": None,
        "transaction_timeout_ms": 60_000,
    }
)
"""Keywords of an AIOKafkaProducer, and their defaults."""

ADMIN: Final[Mapping[str, object]] = _CONNECTION
"""Keywords of an AIOKafkaAdminClient, and their defaults."""


def consumer_settings(given: Mapping[str, Any]) -> tuple[dict[str, Any], ConsumerConfig]:
    """Read a consumer's configuration.

    Returns:
        What the client below reads, and what it comes to.

    Raises:
        KafkaConfigurationError: It has every fault and the way out.
        ValueError: `max_poll_records` is no positive int.
    """
    keys = connection_keys({**CONSUMER, **given})
    most = keys.setdefault("max_poll_records", MOST)
    if not isinstance(most, int) or most < 1:
        raise ValueError(f"max_poll_records is a positive int, not {most!r}")
    for name, why in _NOTHING.items():
        if keys.pop(name, CONSUMER[name]) != CONSUMER[name]:
            warnings.warn(f"{name} has no effect: {why}", ConfigWarning, stacklevel=4)
    keys["partition_assignment_strategy"] = [
        getattr(each, "name", each) for each in keys["partition_assignment_strategy"]
    ]
    keys.setdefault("default_api_timeout_ms", keys["request_timeout_ms"])
    keys.setdefault("allow_auto_create_topics", True)
    if "group_id" not in keys:
        for name in _OF_A_GROUP:
            keys.pop(name, None)
    found: ConsumerConfig = checked(ConsumerConfig, keys)
    return keys, found


def producer_settings(given: Mapping[str, Any]) -> tuple[dict[str, Any], ProducerConfig]:
    """Read a producer's configuration.

    Returns:
        What the client below reads, and what it comes to.

    Raises:
        KafkaConfigurationError: It has every fault and the way out.
        ValueError: `acks` or `compression_type` is none of aiokafka's, or `acks` contradicts
            `enable_idempotence`.
    """
    keys = connection_keys({**PRODUCER, **given})
    acks = keys.get("acks")
    if acks not in (0, 1, -1, "all", None):
        raise ValueError(f"acks is 0, 1 or 'all', not {acks!r}")
    if keys.get("compression_type") not in ("gzip", "snappy", "lz4", "zstd", None):
        raise ValueError(
            f"compression_type is gzip, snappy, lz4, zstd or None, not "
            f"{keys['compression_type']!r}"
        )
    if "transactional_id" in keys:
        keys["enable_idempotence"] = True
    else:
        keys.pop("transaction_timeout_ms", None)
    if keys["enable_idempotence"] and acks not in (-1, "all", None):
        raise ValueError(f"acks={acks} with enable_idempotence=True: leave acks out")
    if acks is None:
        keys["acks"] = "all" if keys["enable_idempotence"] else 1
    if not keys["enable_idempotence"]:
        # As there, a partition's records stay in their order.
        keys.setdefault("max_in_flight_requests_per_connection", 1)
    keys["batch_size"] = keys.pop("max_batch_size")
    keys.setdefault("max_block_ms", keys["request_timeout_ms"])
    # A batch is given up after that long, and its last request may take as long once more.
    twice = 2 * keys["request_timeout_ms"] + keys["linger_ms"]
    keys.setdefault("delivery_timeout_ms", twice)
    if callable(partitioner := keys.get("partitioner")):
        keys["partitioner"] = Partitioner(partitioner)
    for key in ("key_serializer", "value_serializer"):
        keys.pop(key, None)  # The face calls them itself.
    found: ProducerConfig = checked(ProducerConfig, keys)
    return keys, found


def admin_settings(given: Mapping[str, Any]) -> tuple[dict[str, Any], AdminConfig]:
    """Read an admin client's configuration.

    Returns:
        What the client below reads, and what it comes to.

    Raises:
        KafkaConfigurationError: It has every fault and the way out.
    """
    keys = connection_keys({**ADMIN, **given})
    keys.setdefault("default_api_timeout_ms", keys["request_timeout_ms"])
    found: AdminConfig = checked(AdminConfig, keys)
    return keys, found


_OF_A_GROUP: Final = frozenset(
    {
        "auto_commit_interval_ms",
        "enable_auto_commit",
        "group_instance_id",
        "heartbeat_interval_ms",
        "max_poll_interval_ms",
        "partition_assignment_strategy",
        "session_timeout_ms",
    }
)
"""Keywords that aiokafka passes over without a group."""

_NOTHING: Final = MappingProxyType(
    {
        "consumer_timeout_ms": "a call that waits is told of what has come",
        "rebalance_timeout_ms": "a member has max_poll_interval_ms for a rebalance",
    }
)
"""Keywords without effect, and why."""


def connection_keys(given: Mapping[str, Any]) -> dict[str, Any]:
    """Read what all clients have in common, without what is None.

    Raises:
        KafkaConfigurationError: `ssl_context` is a context.
    """
    keys = {key: value for key, value in given.items() if value is not None}
    if given["connections_max_idle_ms"] is None:
        keys["connections_max_idle_ms"] = -1
    for name in ("loop", "api_version"):
        if keys.pop(name, None) is not None:
            text = f"{name} is deprecated in aiokafka, and has no effect"
            warnings.warn(text, DeprecationWarning, stacklevel=5)
    context = keys.pop("ssl_context", None)
    if isinstance(context, SslFiles):
        keys.update(context.keys())
    elif context is not None:
        raise KafkaConfigurationError(
            "ssl_context: give what create_ssl_context of prokurist.compat.aiokafka.helpers "
            "returns, or ssl_cafile, ssl_certfile and ssl_keyfile"
        )
    if not keys["security_protocol"].startswith("SASL"):
        for name in [each for each in keys if each.startswith("sasl_")]:
            del keys[name]
    elif keys["sasl_mechanism"] != "GSSAPI":
        keys.pop("sasl_kerberos_service_name", None)
    provider = keys.get("sasl_oauth_token_provider")
    if inspect.iscoroutinefunction(getattr(provider, "token", None)):
        keys["sasl_oauth_token_provider"] = TokensOfLoop(provider)
    read_brokers(keys)
    return keys


def checked(kind: Any, keys: Mapping[str, Any]) -> Any:
    """Check keys as a configuration of ours.

    Raises:
        KafkaConfigurationError: It has every fault and the way out.
    """
    report = kind.check(keys)
    if report.faults:
        text = "\n- ".join(report.faults)
        raise KafkaConfigurationError(text) from ConfigException(text, faults=report.faults)
    return kind(report.translated)


class TokensOfLoop:
    """Tokens of a coroutine, for the thread that authenticates.

    Args:
        provider: The user's.
    """

    WAIT: Final = 30.0
    """Seconds for one token."""

    def __init__(self, provider: Any) -> None:
        self._provider = provider
        self.loop: asyncio.AbstractEventLoop | None = None

    def token(self) -> str:
        """Have the coroutine run on the loop, and wait for the token.

        Raises:
            RuntimeError: The client was not started.
        """
        if self.loop is None:
            raise RuntimeError("a token was asked for before start()")
        asked = asyncio.run_coroutine_threadsafe(self._provider.token(), self.loop)
        token: str = asked.result(self.WAIT)
        return token

    def extensions(self) -> dict[str, str]:
        """The SASL extensions."""
        found: dict[str, str] = self._provider.extensions()
        return found

    def __repr__(self) -> str:
        return f"TokensOfLoop({type(self._provider).__name__})"
