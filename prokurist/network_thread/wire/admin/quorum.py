"""DescribeQuorum, AddRaftVoter, RemoveRaftVoter and UnregisterBroker.

Thread: any; frozen values.
"""

from collections.abc import Iterator, Mapping
from typing import ClassVar, Final
from uuid import UUID

from prokurist.events.admin.work import WHOLE
from prokurist.lazy_dataclasses import dataclass
from prokurist.network_thread.wire.admin.answers import (
    ItemsAnswer,
    answer_of,
    item_of,
)
from prokurist.network_thread.wire.apis import (
    ADD_RAFT_VOTER,
    DESCRIBE_QUORUM,
    REMOVE_RAFT_VOTER,
    UNREGISTER_BROKER,
    Api,
)
from prokurist.network_thread.wire.request import Body, Limit
from prokurist.network_thread.wire.translation import known, milliseconds, the_only
from prokurist.types.quorums import QuorumChange, QuorumDescription, QuorumReplica

METADATA_LOG: Final = "__cluster_metadata"


@dataclass(frozen=True, slots=True)
class DescribeQuorum:
    """Asks for the controllers' quorum.

    Nothing is ever left out.
    """

    api: ClassVar[Api] = DESCRIBE_QUORUM

    def limits(self) -> Iterator[Limit]:
        """Yield no limits: every version will do."""
        yield from ()

    def body(self) -> Body:
        """The fields of every version at once."""
        partitions = ({"partition_index": 0},)
        return {"topics": ({"topic_name": METADATA_LOG, "partitions": partitions},)}

    def answer(self, body: Body) -> ItemsAnswer:
        """Read an answer of any version."""
        if body["error_code"]:
            return answer_of(body, [], body["error_code"])
        topic = the_only(body["topics"], "topics")
        row = the_only(topic["partitions"], "partitions")
        listeners = {
            node["node_id"]: {
                each["name"]: (each["host"], each["port"]) for each in node["listeners"]
            }
            for node in body.get("nodes", ())
        }
        quorum = QuorumDescription(
            leader_id=known(row["leader_id"]),
            leader_epoch=row["leader_epoch"],
            high_watermark=row["high_watermark"],
            voters=tuple(map(replica_of, row["current_voters"])),
            observers=tuple(map(replica_of, row["observers"])),
            listeners=listeners,
        )
        return answer_of(body, [(WHOLE, item_of(row, quorum))])


def replica_of(row: Body) -> QuorumReplica:
    """Read a voter or an observer."""
    return QuorumReplica(
        row["replica_id"],
        row.get("replica_directory_id"),
        known(row["log_end_offset"]),
        known(row.get("last_fetch_timestamp", -1)),
        known(row.get("last_caught_up_timestamp", -1)),
    )


@dataclass(frozen=True, slots=True)
class AddRaftVoter:
    """Asks the active controller to add a voter.

    Version 1 answers when the change is committed, unless the field says otherwise; it does
    not here.

    Attributes:
        number: Its node id.
        directory_id: The id of its metadata directory.
        listeners: Its addresses by listener.
        timeout: Seconds that the controller may take.
    """

    api: ClassVar[Api] = ADD_RAFT_VOTER

    number: int
    directory_id: UUID
    listeners: Mapping[str, tuple[str, int]]
    timeout: float

    def limits(self) -> Iterator[Limit]:
        """Yield no limits: every version will do."""
        yield from ()

    def body(self) -> Body:
        """The fields of every version at once."""
        return {
            "cluster_id": None,
            "timeout": milliseconds(self.timeout),
            "voter_id": self.number,
            "voter_directory_id": self.directory_id,
            "listeners": tuple(
                {"name": name, "host": host, "port": port}
                for name, (host, port) in self.listeners.items()
            ),
            "ack_when_committed": True,
        }

    def answer(self, body: Body) -> ItemsAnswer:
        """Read an answer of any version."""
        return changed(body)


@dataclass(frozen=True, slots=True)
class RemoveRaftVoter:
    """Asks the active controller to remove a voter.

    Nothing is ever left out.

    Attributes:
        number: Its node id.
        directory_id: The id of its metadata directory.
    """

    api: ClassVar[Api] = REMOVE_RAFT_VOTER

    number: int
    directory_id: UUID

    def limits(self) -> Iterator[Limit]:
        """Yield no limits: every version will do."""
        yield from ()

    def body(self) -> Body:
        """The fields of every version at once."""
        return {
            "cluster_id": None,
            "voter_id": self.number,
            "voter_directory_id": self.directory_id,
        }

    def answer(self, body: Body) -> ItemsAnswer:
        """Read an answer of any version."""
        return changed(body)


def changed(body: Body) -> ItemsAnswer:
    """Read the answer to a change of the voters."""
    return answer_of(body, [(WHOLE, item_of(body, QuorumChange()))])


@dataclass(frozen=True, slots=True)
class UnregisterBroker:
    """Asks the controller to forget the registration of a broker.

    Nothing is ever left out.

    Attributes:
        number: Its id, as the answer's only item.
    """

    api: ClassVar[Api] = UNREGISTER_BROKER

    number: int

    def limits(self) -> Iterator[Limit]:
        """Yield no limits: every version will do."""
        yield from ()

    def body(self) -> Body:
        """The fields of every version at once."""
        return {"broker_id": self.number}

    def answer(self, body: Body) -> ItemsAnswer:
        """Read an answer of any version."""
        return answer_of(body, [(self.number, item_of(body, QuorumChange()))])
