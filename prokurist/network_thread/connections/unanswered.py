"""Error of a request without its whole answer in time.

Thread: the network thread alone.
"""

from typing import Final

from prokurist.errors import DisconnectException
from prokurist.network_thread.connections.requests import Sent
from prokurist.network_thread.wire.failures import UnfinishedAnswer
from prokurist.types import Node

LARGE: Final = 64 * 1024
"""Bytes of a request from which on its transfer to the broker may take long."""

SMALLER: Final = {
    "Fetch": ", or lower fetch.max.bytes and max.partition.fetch.bytes",
    "Produce": ", or lower batch.size",
}
"""Settings that shorten a request's long messages."""


def time_allowed(sent: Sent, request_timeout: float) -> str:
    """Describe the time limit of a request, and its source."""
    patience = sent.unsent.patience
    if patience is None:
        return f"request.timeout.ms ({request_timeout:g} s)"
    return f"the {patience:g} s that it may take"


def unanswered(
    sent: Sent, node: Node, within: str, arriving: tuple[int, int] | None
) -> DisconnectException:
    """The error of a request that has taken too long.

    Args:
        sent: The request.
        node: Whom it was sent to.
        within: How long it was allowed to take.
        arriving: How far its answer has come; None if nothing has.
    """
    name = sent.unsent.request.api.name
    advice = f"Over a slow link, raise request.timeout.ms{SMALLER.get(name, '')}"
    if arriving is None:
        large = sent.length >= LARGE
        return DisconnectException(
            f"{node} did not answer {name}{f' of {sent.length} bytes' if large else ''} within "
            f"{within}; the connection was closed{f'. {advice}' if large else ''}"
        )
    there, length = arriving
    were = "was" if sent.unsent.patience is None else "were"
    return UnfinishedAnswer(
        f"{there} of {length} bytes of the answer to {name} had come from {node} when "
        f"{within} {were} over; the connection was closed. {advice}",
        there,
    )
