"""What must hold between keys: one function per client.

Each is handed the effective values by field name and the names of the keys that were
given. It raises on a contradiction that the user wrote, and settles quietly, as Java
does, one that comes from defaults alone. Nothing else changes a value after it is read.
"""

from collections.abc import Collection
from typing import Any

from prokurist.config.sasl_checks import check_sasl
from prokurist.errors import ConfigException

_IDEMPOTENT_REQUESTS = 5
"""As many batches per partition as a broker remembers in order to drop duplicates."""


def check_consumer(values: dict[str, Any], given: Collection[str]) -> None:
    """Check a consumer's keys against each other.

    Args:
        values: The effective values by field name; defaults in it may be replaced.
        given: The dotted names of the keys that the user gave.

    Raises:
        ConfigException: Two keys contradict each other.
    """
    _check_client(values, given)
    _check_membership(values, given)
    if values["group_id"] is None:
        if values["enable_auto_commit"] and "enable.auto.commit" in given:
            raise ConfigException(
                "enable.auto.commit=True needs a group to commit to: give group.id, or leave "
                "enable.auto.commit out, which turns it off without a group"
            )
        values["enable_auto_commit"] = False
    wait, limit = values["fetch_max_wait_ms"], values["request_timeout_ms"]
    if "fetch.max.wait.ms" in given and wait >= limit:
        raise ConfigException(
            f"fetch.max.wait.ms={wait} lets a broker wait as long as its answer may take with "
            f"request.timeout.ms={limit}, so every fetch without data would end the "
            "connection: lower the former or raise the latter"
        )


def _check_membership(values: dict[str, Any], given: Collection[str]) -> None:
    if values["group_protocol"] == "consumer":
        broker_decides = {
            "session.timeout.ms": "the broker's group.consumer.session.timeout.ms",
            "heartbeat.interval.ms": "the broker's group.consumer.heartbeat.interval.ms",
            "partition.assignment.strategy": "group.remote.assignor",
        }
        for name, instead in broker_decides.items():
            if name in given:
                raise ConfigException(
                    f"{name} cannot be given with group.protocol=consumer, where the broker "
                    f"decides: leave it out and use {instead}, or set group.protocol=classic"
                )
        return
    if values["group_remote_assignor"] is not None:
        raise ConfigException(
            f"group.remote.assignor={values['group_remote_assignor']!r} cannot be given with "
            "group.protocol=classic, where the members assign: use "
            "partition.assignment.strategy, or set group.protocol=consumer"
        )
    beat, session = values["heartbeat_interval_ms"], values["session_timeout_ms"]
    if beat >= session:
        raise ConfigException(
            f"heartbeat.interval.ms={beat} must be lower than session.timeout.ms={session}, or "
            "the member is taken for dead between two heartbeats; a third of it is usual"
        )


def check_producer(values: dict[str, Any], given: Collection[str]) -> None:
    """Check a producer's keys against each other.

    Args:
        values: The effective values by field name; defaults in it may be replaced.
        given: The dotted names of the keys that the user gave.

    Raises:
        ConfigException: Two keys contradict each other.
    """
    _check_client(values, given)
    _check_delivery(values, given)
    _check_idempotence(values, given)
    if values["transactional_id"] is not None and not values["enable_idempotence"]:
        raise ConfigException(
            f"transactional.id={values['transactional_id']!r} needs idempotence: leave "
            "enable.idempotence out or true, with acks=all and retries above 0"
        )
    if values["transaction_two_phase_commit_enable"] and "transaction.timeout.ms" in given:
        raise ConfigException(
            "transaction.timeout.ms cannot be given with "
            "transaction.two.phase.commit.enable=True, where a transaction does not expire: "
            "leave one of them out"
        )


def _check_delivery(values: dict[str, Any], given: Collection[str]) -> None:
    linger, attempt = values["linger_ms"], values["request_timeout_ms"]
    delivery = values["delivery_timeout_ms"]
    least = min(linger + attempt, 2**31 - 1)
    if delivery >= least:
        return
    if "delivery.timeout.ms" in given:
        raise ConfigException(
            f"delivery.timeout.ms={delivery} must be at least linger.ms={linger} plus "
            f"request.timeout.ms={attempt}, so {least}, or a batch could expire before its "
            "first attempt has ended: raise it, or lower one of the two"
        )
    values["delivery_timeout_ms"] = least


def _check_idempotence(values: dict[str, Any], given: Collection[str]) -> None:
    if not values["enable_idempotence"]:
        return
    in_flight = values["max_in_flight_requests_per_connection"]
    conflicts = []
    if values["retries"] == 0:
        conflicts.append("retries=0")
    if values["acks"] != "all":
        conflicts.append(f"acks={values['acks']}")
    if conflicts and "enable.idempotence" in given:
        raise ConfigException(
            f"enable.idempotence=True cannot be had with {' and '.join(conflicts)}: it needs "
            "acks=all and retries above 0; leave those out, or set enable.idempotence=False"
        )
    if in_flight > _IDEMPOTENT_REQUESTS:
        # Since 4.0 Java no longer gives idempotence up quietly for this one.
        raise ConfigException(
            f"max.in.flight.requests.per.connection={in_flight} must be at most "
            f"{_IDEMPOTENT_REQUESTS} with idempotence: lower it, or set "
            "enable.idempotence=False"
        )
    values["enable_idempotence"] = not conflicts


def _check_client(values: dict[str, Any], given: Collection[str]) -> None:
    protocol = values["security_protocol"]
    if protocol.startswith("SASL"):
        check_sasl(values, given)
    if values["enable_metrics_push"]:
        raise ConfigException(
            "enable.metrics.push=True cannot be used: pushing metrics to brokers is not built "
            "yet; leave the key out and read metrics() instead"
        )
    if "reconnect.backoff.ms" in given and "reconnect.backoff.max.ms" not in given:
        # Java's rule: who sets only the first pause wants every pause to be that long.
        values["reconnect_backoff_max_ms"] = values["reconnect_backoff_ms"]
