"""One group, as those who talk to its coordinator see it.

What is written down are facts that any broker gives alike: codes, epochs, partitions;
never ids, texts or times. So the same words can be said to the model in virtual time
and, over sockets, to the model and to a real Kafka.
"""

from datetime import timedelta
from typing import TYPE_CHECKING, Any, Protocol

from prokurist.testing.cluster.apis import ApiName

if TYPE_CHECKING:
    from prokurist.testing.cluster import Session
    from tests.unit.testing.cluster.conftest import Lab

Facts = list[Any]


class Talking(Protocol):
    """Connections to one broker, each by the name of who talks on it."""

    def send(self, who: str, api: ApiName, version: int, **values: Any) -> None:
        """Send a request."""

    def parked(self, who: str) -> bool:
        """Whether the request of one of them is unanswered."""

    def read(self, who: str) -> Any:
        """The answer to the oldest request of one of them."""

    def ask(self, who: str, api: ApiName, version: int, **values: Any) -> Any:
        """Send a request and read its answer."""

    def quietly(self, who: str, api: ApiName, version: int, **values: Any) -> Any:
        """The same, where it is no part of what is compared."""


class Voices:
    """Connections to a model in virtual time.

    Attributes:
        node: The broker that new ones lead to.
    """

    def __init__(self, lab: "Lab") -> None:
        self.lab = lab
        self.node: int = 1
        self._sessions: dict[str, Session] = {}
        self._answers: dict[int, list[Any]] = {}

    def send(self, who: str, api: ApiName, version: int, **values: Any) -> None:
        """Send a request."""
        if who not in self._sessions:
            self._sessions[who] = self.lab.connect(self.node)
        self.lab.send(self._sessions[who], api, version, **values)

    def parked(self, who: str) -> bool:
        """Whether the request of one of them is unanswered now."""
        return not self._arrived(who)

    def read(self, who: str) -> Any:
        """The answer that is there."""
        return self._arrived(who).pop(0)

    def ask(self, who: str, api: ApiName, version: int, **values: Any) -> Any:
        """Send a request and read its answer."""
        self.send(who, api, version, **values)
        return self.read(who)

    quietly = ask

    def pass_by(self, seconds: float) -> None:
        """Let time pass."""
        arrived = [delivery for _, delivery in self.lab.pass_by(seconds)]
        for delivery in (each for each in arrived if each.end is None):
            answers = self._answers.setdefault(delivery.session.number, [])
            answers.append(self.lab.read(delivery).body)
        assert not self.lab.cluster.failures

    def hang_up(self) -> None:
        """Close all connections, for others to another broker."""
        for each in self._sessions.values():
            each.close(self.lab.time.at)
        self._sessions.clear()

    def _arrived(self, who: str) -> list[Any]:
        self.pass_by(0)
        return self._answers.setdefault(self._sessions[who].number, [])


class Scene:
    """One group and one topic at one broker.

    Args:
        patience: For how long the broker waits for members, where nothing else is said.

    Attributes:
        talker: The connections.
        group: The group, which no request has named before.
        facts: What was told.
    """

    def __init__(
        self, talker: Talking, group: str, topic: str, patience: timedelta | None = None
    ) -> None:
        self.talker: Talking = talker
        self._patience = patience
        self.group = group
        self.topic = topic
        self.facts: Facts = []
        asked = talker.ask("me", "Metadata", 12, topics=[{"name": topic}])
        self.topic_id = asked.topics[0].topic_id

    # --- the classic protocol -----------------------------------------------------

    def send_join(self, who: str, member: str = "", version: int = 9, **more: Any) -> None:
        """Ask to join."""
        values = {
            "group_id": self.group,
            "session_timeout": self._patience or timedelta(seconds=8),
            "rebalance_timeout": self._patience or timedelta(seconds=8),
            "member_id": member,
            "protocol_type": "consumer",
            "protocols": [
                {"name": "range", "metadata": b"r"},
                {"name": "two", "metadata": b""},
            ],
            **more,
        }
        self.talker.send(who, "JoinGroup", version, **values)

    def joined(self, who: str) -> Any:
        """The answer to a join."""
        body = self.talker.read(who)
        leads = body.leader == body.member_id
        skip = getattr(body, "skip_assignment", False)
        fact = (int(body.error_code), body.generation_id, body.protocol_name, leads, skip)
        self.facts.append((*fact, len(body.members)))
        return body

    def join(self, who: str, member: str = "", version: int = 9, **more: Any) -> str:
        """Join; the member's id."""
        self.send_join(who, member, version, **more)
        body = self.joined(who)
        if body.error_code == 79:
            return self.join(who, body.member_id, version, **more)
        member_id: str = body.member_id
        return member_id

    def send_sync(self, who: str, member: str, generation: int, **more: Any) -> None:
        """Ask for one's part; `parts` is what a leader gives to whom."""
        parts = more.pop("parts", {})
        assignments = [{"member_id": m, "assignment": data} for m, data in parts.items()]
        names = {"protocol_type": "consumer", "protocol_name": "range"}
        values = {"group_id": self.group, "generation_id": generation, "member_id": member}
        values |= {"assignments": assignments, **names, **more}
        self.talker.send(who, "SyncGroup", 5, **values)

    def synced(self, who: str) -> None:
        """The answer to that."""
        body = self.talker.read(who)
        self.facts.append((int(body.error_code), body.protocol_name, bytes(body.assignment)))

    def sync(self, who: str, member: str, generation: int, **more: Any) -> None:
        """Both."""
        self.send_sync(who, member, generation, **more)
        self.synced(who)

    def beat(self, member: str, generation: int, instance: str | None = None) -> None:
        """A classic heartbeat."""
        values = {"group_id": self.group, "generation_id": generation, "member_id": member}
        body = self.talker.ask("me", "Heartbeat", 4, **values, group_instance_id=instance)
        self.facts.append(int(body.error_code))

    def leave(self, *members: tuple[str, str | None], version: int = 5) -> None:
        """Leave."""
        rows = [{"member_id": m, "group_instance_id": i} for m, i in members]
        values = {"group_id": self.group, "member_id": members[0][0], "members": rows}
        body = self.talker.ask("me", "LeaveGroup", version, **values)
        codes = [int(each.error_code) for each in getattr(body, "members", ())]
        self.facts.append((int(body.error_code), codes))

    def taken_up(self, members: int) -> None:
        """Wait until the group has so many: a join that is not answered may not be read yet."""
        told: tuple[Any, ...] = ()
        while len(told) != members:
            body = self.talker.quietly("me", "DescribeGroups", 5, groups=[self.group])
            told = body.groups[0].members

    def state(self) -> None:
        """What DescribeGroups calls the group's state."""
        body = self.talker.ask("me", "DescribeGroups", 5, groups=[self.group])
        self.facts.append((body.groups[0].group_state, len(body.groups[0].members)))

    # --- the consumer protocol ----------------------------------------------------

    def hb(self, member: str, epoch: int, owned: Any = None, **more: Any) -> None:
        """A heartbeat; one at epoch 0 says everything, unless told otherwise."""
        if epoch == 0:
            owned = () if owned is None else owned
            more.setdefault("rebalance_timeout", self._patience or timedelta(seconds=5))
            more.setdefault("subscribed_topic_names", [self.topic])
        parts = [{"topic_id": self.topic_id, "partitions": owned}] if owned else []
        values = {
            "group_id": self.group,
            "member_id": member,
            "member_epoch": epoch,
            "rebalance_timeout": timedelta(milliseconds=-1),
            "topic_partitions": None if owned is None or owned == "?" else parts,
            **more,
        }
        body = self.talker.ask("me", "ConsumerGroupHeartbeat", 1, **values)
        given = body.assignment and sorted(
            index for topic in body.assignment.topic_partitions for index in topic.partitions
        )
        self.facts.append((int(body.error_code), body.member_id, body.member_epoch, given))

    # --- offsets ------------------------------------------------------------------

    def commit(self, member: str, epoch: int, *partitions: int, version: int = 9) -> None:
        """Commit offset 1 for partitions, 0 if none are named."""
        rows = [{"partition_index": p, "committed_offset": 1} for p in partitions or (0,)]
        who = {"member_id": member, "generation_id_or_member_epoch": epoch}
        values = {"group_id": self.group, **who}
        topics = [{"name": self.topic, "partitions": rows}]
        body = self.talker.ask("me", "OffsetCommit", version, **values, topics=topics)
        self.facts.append([int(each.error_code) for each in body.topics[0].partitions])

    def fetch(self, member: str | None, epoch: int) -> None:
        """Ask for the offset of partition 0."""
        topics = [{"name": self.topic, "partition_indexes": [0]}]
        group = {"group_id": self.group, "member_id": member, "member_epoch": epoch}
        body = self.talker.ask("me", "OffsetFetch", 9, groups=[{**group, "topics": topics}])
        [found] = body.groups
        offsets = [p.committed_offset for topic in found.topics for p in topic.partitions]
        self.facts.append((int(found.error_code), offsets))
