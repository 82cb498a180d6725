"""Findings of `prokurist doctor` about a cluster, in words.

Thread: any; pure functions.
"""

from collections.abc import Mapping, Sequence

from prokurist.network_thread.io.network import SocketAddress
from prokurist.types import Node, OffsetAndMetadata, PartitionInfo, TopicPartition, counted


def resolved(host: str, addresses: Sequence[SocketAddress]) -> str:
    """The addresses of a name, in words."""
    found = [each.host for each in addresses]
    return f"{host} needs no look-up" if found == [host] else f"{host} is {', '.join(found)}"


def brokers(listed: Mapping[str, Sequence[PartitionInfo]]) -> list[Node]:
    """The brokers that hold partitions and are alive."""
    holding = {
        node for infos in listed.values() for info in infos for node in info.in_sync_replicas
    }
    return sorted((node for node in holding if node.host), key=lambda node: node.id)


def described(listed: Mapping[str, Sequence[PartitionInfo]]) -> str:
    """A Metadata answer, in words."""
    partitions = sum(map(len, listed.values()))
    return (
        f"{counted(len(listed), 'topic')}, {counted(partitions, 'partition')} on "
        f"{counted(len(brokers(listed)), 'broker')}"
    )


def told(committed: Mapping[TopicPartition, OffsetAndMetadata | None]) -> str:
    """Committed offsets, in words."""
    kept = sum(each is not None for each in committed.values())
    return f"offsets in {kept} of {counted(len(committed), 'partition')}"
