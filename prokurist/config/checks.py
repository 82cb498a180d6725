"""Checks keys against each other: a list of checks for each client.

Each is handed the effective values by field name and the names of the keys that were
given. It yields a text for each contradiction that the user wrote, and settles quietly, as
Java does, one that comes from defaults alone. Nothing else changes a value after it is read.
"""

from collections.abc import Callable, Collection, Iterator
from typing import Any, Final, TypeAlias

from prokurist.config.sasl_checks import check_sasl
from prokurist.errors import ConfigException

Check: TypeAlias = Callable[[dict[str, Any], Collection[str]], Iterator[str]]
"""Yields the faults in the effective values by field name, and the names of the keys given."""

_IDEMPOTENT_REQUESTS = 5
"""As many batches per partition as a broker remembers in order to drop duplicates."""


def _check_security(values: dict[str, Any], given: Collection[str]) -> Iterator[str]:
    if values["security_protocol"].startswith("SASL"):
        try:
            check_sasl(values, given)
        except ConfigException as error:
            yield str(error)


def _settle_reconnects(values: dict[str, Any], given: Collection[str]) -> Iterator[str]:
    if "reconnect.backoff.ms" in given and "reconnect.backoff.max.ms" not in given:
        # Java's rule: who sets only the first pause wants every pause to be that long.
        values["reconnect_backoff_max_ms"] = values["reconnect_backoff_ms"]
    yield from ()


def _check_protocol(values: dict[str, Any], given: Collection[str]) -> Iterator[str]:
    if values["group_protocol"] == "consumer":
        broker_decides = {
            "session.timeout.ms": "the broker's group.consumer.session.timeout.ms",
            "heartbeat.interval.ms": "the broker's group.consumer.heartbeat.interval.ms",
            "partition.assignment.strategy": "group.remote.assignor",
        }
        for name, instead in broker_decides.items():
            if name in given:
                yield (
                    f"{name} cannot be given with group.protocol=consumer, where the broker "
                    f"decides: leave it out and use {instead}, or set group.protocol=classic"
                )
    elif values["group_remote_assignor"] is not None:
        yield (
            f"group.remote.assignor={values['group_remote_assignor']!r} cannot be given with "
            "group.protocol=classic, where the members assign: use "
            "partition.assignment.strategy, or set group.protocol=consumer"
        )


def _check_heartbeats(values: dict[str, Any], _given: Collection[str]) -> Iterator[str]:
    if values["group_protocol"] == "consumer":
        return
    beat, session = values["heartbeat_interval_ms"], values["session_timeout_ms"]
    if beat >= session:
        yield (
            f"heartbeat.interval.ms={beat} must be lower than session.timeout.ms={session}, or "
            "the member is taken for dead between two heartbeats; a third of it is usual"
        )


def _check_auto_commit(values: dict[str, Any], given: Collection[str]) -> Iterator[str]:
    if values["group_id"] is not None:
        return
    if values["enable_auto_commit"] and "enable.auto.commit" in given:
        yield (
            "enable.auto.commit=True needs a group to commit to: give group.id, or leave "
            "enable.auto.commit out, which turns it off without a group"
        )
    values["enable_auto_commit"] = False


def _check_fetch_wait(values: dict[str, Any], given: Collection[str]) -> Iterator[str]:
    wait, limit = values["fetch_max_wait_ms"], values["request_timeout_ms"]
    if "fetch.max.wait.ms" in given and wait >= limit:
        yield (
            f"fetch.max.wait.ms={wait} lets a broker wait as long as its answer may take with "
            f"request.timeout.ms={limit}, so every fetch without data would end the "
            "connection: lower the former or raise the latter"
        )


def _check_interceptors(_values: dict[str, Any], given: Collection[str]) -> Iterator[str]:
    if "interceptor.classes" in given:
        yield (
            "interceptor.classes cannot be given to a share consumer, whose records no object "
            "sees on their way: leave it out; on_acknowledged hears of acknowledgements"
        )


def _check_delivery(values: dict[str, Any], given: Collection[str]) -> Iterator[str]:
    linger, attempt = values["linger_ms"], values["request_timeout_ms"]
    delivery = values["delivery_timeout_ms"]
    least = min(linger + attempt, 2**31 - 1)
    if delivery >= least:
        return
    if "delivery.timeout.ms" in given:
        yield (
            f"delivery.timeout.ms={delivery} must be at least linger.ms={linger} plus "
            f"request.timeout.ms={attempt}, so {least}, or a batch could expire before its "
            "first attempt has ended: raise it, or lower one of the two"
        )
    values["delivery_timeout_ms"] = least


def _check_idempotence(values: dict[str, Any], given: Collection[str]) -> Iterator[str]:
    if not values["enable_idempotence"]:
        return
    in_flight = values["max_in_flight_requests_per_connection"]
    conflicts = []
    if values["retries"] == 0:
        conflicts.append("retries=0")
    if values["acks"] != "all":
        conflicts.append(f"acks={values['acks']}")
    if conflicts and "enable.idempotence" in given:
        yield (
            f"enable.idempotence=True cannot be had with {' and '.join(conflicts)}: it needs "
            "acks=all and retries above 0; leave those out, or set enable.idempotence=False"
        )
    if in_flight > _IDEMPOTENT_REQUESTS:
        # Since 4.0 Java no longer gives idempotence up quietly for this one.
        yield (
            f"max.in.flight.requests.per.connection={in_flight} must be at most "
            f"{_IDEMPOTENT_REQUESTS} with idempotence: lower it, or set "
            "enable.idempotence=False"
        )
    values["enable_idempotence"] = not conflicts


def _check_transactions(values: dict[str, Any], given: Collection[str]) -> Iterator[str]:
    if values["transactional_id"] is not None and not values["enable_idempotence"]:
        yield (
            f"transactional.id={values['transactional_id']!r} needs enable.idempotence=True, "
            "with acks=all and retries above 0: leave out what rules these out"
        )
    if values["transaction_two_phase_commit_enable"] and values["transactional_id"] is not None:
        yield (
            "transaction.two.phase.commit.enable=True cannot be had: this producer ends its "
            "transactions itself; leave it out"
        )
    if values["transaction_two_phase_commit_enable"] and "transaction.timeout.ms" in given:
        yield (
            "transaction.timeout.ms cannot be given with "
            "transaction.two.phase.commit.enable=True, where a transaction does not expire: "
            "leave one of them out"
        )


_CLIENT: Final[tuple[Check, ...]] = (_check_security, _settle_reconnects)

CONSUMER_CHECKS: Final[tuple[Check, ...]] = (
    *_CLIENT,
    _check_protocol,
    _check_heartbeats,
    _check_auto_commit,
    _check_fetch_wait,
)
"""Checks across a consumer's keys."""

PRODUCER_CHECKS: Final[tuple[Check, ...]] = (
    *_CLIENT,
    _check_delivery,
    _check_idempotence,
    _check_transactions,
)
"""Checks across a producer's keys."""

ADMIN_CHECKS: Final[tuple[Check, ...]] = _CLIENT
"""Checks across an admin client's keys."""

SHARE_CHECKS: Final[tuple[Check, ...]] = (*_CLIENT, _check_fetch_wait, _check_interceptors)
"""Checks across a share consumer's keys."""
