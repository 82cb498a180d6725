"""Refusals with a text, and checks that several requests of administrators share."""

from collections.abc import Sequence
from datetime import timedelta
from typing import Any

from kio.schema.errors import ErrorCode

from prokurist.testing.cluster.answers import Context
from prokurist.testing.cluster.state import State
from prokurist.testing.cluster.topics import LEGAL_NAME, LONGEST_NAME


class Refused(Exception):
    """A refusal of an item of a request.

    Attributes:
        code: The error code.
        text: The broker's text.
    """

    def __init__(self, code: int, text: str | None = None) -> None:
        super().__init__(text)
        self.code = code
        self.text = text


def refuse_by_rule(context: Context, topic: str | None = None) -> None:
    """Refuse an item if a FAIL rule says so."""
    code = context.refusals.whole() or context.refusals.part(topic)
    if code:
        raise Refused(code)


def refuse_without_time(request: Any) -> None:
    """Refuse an item if the controller is given no time: then it does nothing."""
    timeout: timedelta = request.timeout
    if timeout <= timedelta(0):
        raise Refused(ErrorCode.request_timed_out)


def refused_if_no_name(name: str) -> None:
    """Refuse a name that Kafka does not allow for a topic."""
    why = None
    if not name:
        why = "the empty string is not allowed"
    elif name in {".", ".."}:
        why = f"'{name}' is not allowed"
    elif len(name) > LONGEST_NAME:
        why = f"the length of '{name}' is longer than the max allowed length {LONGEST_NAME}"
    elif LEGAL_NAME.fullmatch(name) is None:
        why = (
            f"'{name}' contains one or more characters other than ASCII alphanumerics, '.', "
            "'_' and '-'"
        )
    if why is not None:
        raise Refused(ErrorCode.invalid_topic_exception, f"Topic name is invalid: {why}")


def refused_replication(state: State, copies: int) -> None:
    """Refuse more copies than there are brokers."""
    brokers = len(state.registered())
    if copies > brokers:
        raise Refused(
            ErrorCode.invalid_replication_factor,
            f"Unable to replicate the partition {copies} time(s): The target replication "
            f"factor of {copies} cannot be reached because only {brokers} broker(s) are "
            "registered or some brokers have all their log directories cordoned.",
        )


def assigned_nodes(state: State, nodes: Sequence[int], copies: int | None) -> Sequence[int]:
    """Return the brokers that a partition is assigned to, checked.

    Args:
        state: The cluster's state.
        nodes: The brokers.
        copies: How many they have to be; None for any number.
    """
    why = None
    if not nodes:
        why = "The manual partition assignment includes an empty replica list."
    for node in sorted(nodes):
        if why is None and node not in state.brokers:
            why = (
                f"The manual partition assignment includes broker {node}, but no such broker "
                "is registered."
            )
        if why is None and list(nodes).count(node) > 1:
            why = f"The manual partition assignment includes the broker {node} more than once."
    if why is None and copies is not None and len(nodes) != copies:
        why = (
            f"The manual partition assignment includes a partition with {len(nodes)} "
            f"replica(s), but this is not consistent with previous partitions, which have "
            f"{copies} replica(s)."
        )
    if why is not None:
        raise Refused(ErrorCode.invalid_replica_assignment, why)
    return nodes
