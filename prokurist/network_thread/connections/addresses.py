"""Brokers that keep their address, and those that have moved.

Thread: the network thread alone.
"""

from prokurist.errors import DisconnectException
from prokurist.network_thread.connections.connection import Connection
from prokurist.types import Node


def leave(former: Connection | None, connection: Connection) -> None:
    """Close a connection after its broker has moved to another address.

    Its waiting requests fail and may come again at once: the new one is in use by then.
    """
    if former is not None and former is not connection:
        moved = f"{former.node} is {connection.node} by now: its address changed"
        former.close(DisconnectException(moved))


def same_address(one: Node, other: Node) -> bool:
    """Return True if two nodes have the same address, regardless of their racks."""
    return (one.host, one.port) == (other.host, other.port)
