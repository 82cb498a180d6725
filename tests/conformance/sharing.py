"""Scenarios of share groups (KIP-932)."""

import time
from datetime import timedelta
from typing import Any, Final

from tests.conformance.sides import Topic
from tests.conformance.stage import Stage

GAP, ACCEPT, RELEASE, REJECT, RENEW = range(5)
BATCH_OPTIMIZED, RECORD_LIMIT = 0, 1
DUE: Final = 20.0
"""Seconds that a fetch waits for records that come; a slow machine takes some of them."""
NONE_DUE: Final = 0.5
"""Seconds of a fetch for which there are none."""
WITHIN: Final = 60.0
"""Seconds within which a group is ready."""


class Sharing:
    """One member of a share group, with its session.

    Args:
        stage: Where it is asked for.
        topic: The topic.
        member: Its id.
        who: Its connection.
    """

    def __init__(self, stage: Stage, topic: Topic, member: str = "m", who: str = "a") -> None:
        self.stage = stage
        self.topic = topic
        self.member = member
        self.who = who
        self.group = stage.name
        self.epoch = 0

    def beats(self, epoch: int, names: list[str] | None = None, **more: Any) -> Any:
        """Send a heartbeat; only its code is compared, since epochs grow with the time."""
        body = self.stage.quietly(
            self.who,
            "ShareGroupHeartbeat",
            1,
            **{
                "group_id": self.group,
                "member_id": self.member,
                "member_epoch": epoch,
                "rack_id": None,
                "subscribed_topic_names": names,
                **more,
            },
        )
        said = f"heartbeat of {self.member!r} with {min(epoch, 1)} {names} {more}"
        self.stage.look(said, int(body.error_code))
        return body

    def join(self) -> None:
        """Be a member with an assignment, in a group that begins at the first record.

        A leader looks for where a group begins at some time after the first fetch, and nothing
        says that it has: a group that begins at the end may miss what is written behind that.
        """
        self.stage.side.configure_group(self.group, share_auto_offset_reset="earliest")
        body = self.beats(0, [self.topic.name])
        until = time.monotonic() + WITHIN
        while not (body.assignment and body.assignment.topic_partitions):
            assert time.monotonic() < until, f"{self.group} has no assignment"
            time.sleep(0.05)
            body = self.stage.quietly(
                self.who,
                "ShareGroupHeartbeat",
                1,
                group_id=self.group,
                member_id=self.member,
                member_epoch=0,
                rack_id=None,
                subscribed_topic_names=[self.topic.name],
            )
        self.fetch([0], wait=0.0)

    def fetch(
        self,
        added: list[int] | None = None,
        *rows: tuple[int, int, int | list[int]],
        most: int = 500,
        mode: int = BATCH_OPTIMIZED,
        wait: float = DUE,
        epoch: int | None = None,
        who: str | None = None,
        forgotten: list[int] | None = None,
    ) -> Any:
        """Fetch in the session, and acknowledge offsets of partition 0."""
        partitions: dict[int, list[Any]] = {each: [] for each in added or ()}
        if rows:
            partitions[0] = [*map(acknowledged, rows)]
        return self.stage.ask(
            who or self.who,
            "ShareFetch",
            group_id=self.group,
            member_id=self.member,
            share_session_epoch=self._number(epoch),
            max_wait=timedelta(seconds=wait),
            min_bytes=1,
            max_bytes=1 << 20,
            max_records=most,
            batch_size=most,
            share_acquire_mode=mode,
            is_renew_ack=False,
            topics=self._topics(partitions),
            forgotten_topics_data=[
                {"topic_id": self.topic.id, "partitions": forgotten or []},
            ]
            if forgotten
            else [],
        )

    def acknowledge(
        self,
        *rows: tuple[int, int, int | list[int]],
        epoch: int | None = None,
        who: str | None = None,
        renews: bool = False,
        partition: int = 0,
        topic_id: Any = None,
    ) -> Any:
        """Acknowledge offsets."""
        return self.stage.ask(
            who or self.who,
            "ShareAcknowledge",
            group_id=self.group,
            member_id=self.member,
            share_session_epoch=self._number(epoch),
            is_renew_ack=renews,
            topics=self._topics({partition: [*map(acknowledged, rows)]}, topic_id)
            if rows
            else [],
        )

    def _number(self, epoch: int | None) -> int:
        if epoch is not None:
            return epoch
        number, self.epoch = self.epoch, self.epoch + 1
        return number

    def _topics(self, partitions: dict[int, list[Any]], topic_id: Any = None) -> list[Any]:
        if not partitions:
            return []
        return [
            {
                "topic_id": topic_id or self.topic.id,
                "partitions": [
                    {"partition_index": each, "acknowledgement_batches": rows}
                    for each, rows in partitions.items()
                ],
            }
        ]


def acknowledged(row: tuple[int, int, int | list[int]]) -> dict[str, Any]:
    """A batch of acknowledgements."""
    first, last, types = row
    given = [types] if isinstance(types, int) else types
    return {"first_offset": first, "last_offset": last, "acknowledge_types": given}


def values(count: int) -> list[bytes]:
    """So many values of records."""
    return [b"value %d" % each for each in range(count)]


def share_members(stage: Stage) -> None:
    """Which heartbeats are refused, and with what."""
    topic = stage.topic(1)
    member = Sharing(stage, topic)
    member.beats(0)
    member.beats(0, [])
    member.beats(3)
    member.beats(-1)
    member.beats(-2, [topic.name])
    member.beats(0, [topic.name], member_id="")
    member.beats(0, [topic.name], member_id="x" * 37)
    member.beats(0, [topic.name], member_id="x" * 36)
    member.beats(0, ["no-such-topic"])
    epoch = member.beats(0, [topic.name]).member_epoch
    member.beats(epoch + 5)
    member.beats(epoch)
    member.beats(3, member_id="stranger")
    member.beats(epoch, [])
    member.beats(-1)
    member.beats(-1)
    member.beats(epoch)


def share_session_numbers(stage: Stage) -> None:
    """Which numbers are refused, and what a refusal leaves."""
    topic = stage.topic(1)
    member = Sharing(stage, topic)
    member.fetch(epoch=7)
    member.acknowledge(epoch=0)
    member.acknowledge(epoch=1)
    member.acknowledge(epoch=-1)
    member.join()
    stage.produce(topic, *values(4))
    member.fetch(epoch=5)
    member.fetch()
    member.fetch(epoch=1)
    member.acknowledge((0, 1, ACCEPT), epoch=1)
    member.acknowledge((0, 1, ACCEPT))
    member.acknowledge(epoch=0)
    member.fetch([0], (2, 3, ACCEPT), epoch=0)
    member.fetch([], epoch=0, wait=NONE_DUE)
    member.epoch = 1
    member.acknowledge((2, 2, ACCEPT))
    member.fetch(wait=NONE_DUE)
    member.fetch([0], wait=NONE_DUE)
    member.acknowledge((3, 3, ACCEPT), epoch=-1)
    member.acknowledge(epoch=-1)
    member.fetch()


def share_sessions_and_connections(stage: Stage) -> None:
    """What a session that is closed leaves, and one that is opened again."""
    topic = stage.topic(1)
    member = Sharing(stage, topic)
    member.join()
    stage.produce(topic, *values(6))
    member.fetch()
    member.epoch = 0
    member.fetch([0], wait=NONE_DUE)
    member.acknowledge((0, 1, ACCEPT))
    member.fetch(forgotten=[0], wait=NONE_DUE)
    member.acknowledge((2, 2, ACCEPT))
    member.acknowledge(epoch=-1)
    member.epoch = 0
    member.fetch([0], wait=NONE_DUE)
    # What was fetched of a partition that had left the session stays locked.
    member.acknowledge((3, 3, ACCEPT))
    member.acknowledge(epoch=-1)
    member.epoch = 0
    # Records are released behind the answer; that wakes no fetch, which takes them at its end.
    member.fetch([0], wait=5.0)


def share_acknowledgements(stage: Stage) -> None:
    """What becomes of records by each type."""
    topic = stage.topic(1)
    member = Sharing(stage, topic)
    member.join()
    stage.produce(topic, *values(10))
    member.fetch()
    member.acknowledge((0, 1, ACCEPT), (2, 3, RELEASE), (4, 4, REJECT), (5, 5, GAP))
    member.acknowledge((6, 9, [ACCEPT, RELEASE, ACCEPT, RELEASE]))
    member.fetch()
    member.fetch([0], (2, 3, ACCEPT), (7, 7, [ACCEPT]), wait=NONE_DUE)
    member.acknowledge((9, 9, RELEASE))
    member.fetch()
    member.acknowledge((0, 3, ACCEPT))
    member.acknowledge((9, 9, ACCEPT))
    member.fetch(wait=NONE_DUE)


def share_acknowledgements_refused(stage: Stage) -> None:
    """Which acknowledgements are refused; all of a partition, or none."""
    topic = stage.topic(1)
    member = Sharing(stage, topic)
    member.join()
    stage.produce(topic, *values(10))
    member.fetch()
    member.acknowledge((8, 8, ACCEPT), (7, 7, ACCEPT))
    member.acknowledge((0, 1, 9))
    member.acknowledge((0, 2, [ACCEPT, ACCEPT]))
    member.acknowledge((7, 20, ACCEPT))
    member.acknowledge((3, 2, ACCEPT))
    member.acknowledge((1, 1, RENEW))
    member.acknowledge((5, 5, ACCEPT))
    member.acknowledge((4, 6, ACCEPT))
    member.acknowledge((4, 4, ACCEPT), (6, 6, ACCEPT))
    member.acknowledge((0, 0, ACCEPT), partition=5)
    other = Sharing(stage, topic, "other", "b")
    other.fetch([], wait=NONE_DUE)
    other.acknowledge((7, 7, ACCEPT))
    member.acknowledge((0, 3, ACCEPT), (7, 9, ACCEPT))


def share_deliveries(stage: Stage) -> None:
    """A record that is released each time: fewer are delivered, until it is archived."""
    topic = stage.topic(1)
    member = Sharing(stage, topic)
    member.join()
    stage.produce(topic, *values(8))
    for _ in range(24):
        # Long enough for a slow machine; only the last answer, which has none, takes it all.
        body = member.fetch(wait=3.0)
        if not body.responses:
            break
        for row in (each for topic in body.responses for each in topic.partitions):
            for its in row.acquired_records:
                member.acknowledge((its.first_offset, its.last_offset, RELEASE))


def share_limits(stage: Stage) -> None:
    """How many records are acquired at once."""
    topic = stage.topic(1)
    member = Sharing(stage, topic)
    member.join()
    stage.produce(topic, *values(10))
    stage.produce(topic, *values(10))
    member.fetch(most=3)
    member.fetch(most=3)
    member.fetch(most=3, wait=NONE_DUE)
    member.acknowledge((0, 19, RELEASE))
    if stage.version("ShareFetch") < 2:
        return
    member.fetch(most=3, mode=RECORD_LIMIT)
    member.fetch(most=3, mode=RECORD_LIMIT)
    member.acknowledge((0, 5, ACCEPT))
    member.fetch(most=3, mode=RECORD_LIMIT)


def share_groups_administered(stage: Stage) -> None:
    """A share group as an administrator sees it: not there, with a member, empty, deleted."""
    topic, group = stage.topic(2), stage.name
    sharing = Sharing(stage, topic)

    def look() -> None:
        body = stage.quietly("b", "ShareGroupDescribe", 1, group_ids=[group, ""])
        for each in sorted(body.groups, key=lambda row: str(row.group_id)):
            members = [
                (
                    member.member_id,
                    sorted(member.subscribed_topic_names),
                    sorted(
                        (named.topic_name, *sorted(named.partitions))
                        for named in member.assignment.topic_partitions
                    ),
                )
                for member in each.members
            ]
            told = int(each.error_code), each.error_message, each.group_state
            stage.look("described", (*told, each.assignor_name, members))
        listed = stage.quietly("b", "ListGroups", 5, states_filter=[], types_filter=["share"])
        rows = [
            (each.protocol_type, each.group_state, each.group_type)
            for each in listed.groups
            if each.group_id == group
        ]
        stage.look("listed", rows)

    look()
    sharing.join()
    look()
    stage.ask("b", "DescribeGroups", 6, groups=[group])
    stage.ask("b", "ConsumerGroupDescribe", 1, group_ids=[group])
    stage.ask("b", "DeleteGroups", 2, groups_names=[group])
    sharing.beats(-1)
    look()
    stage.ask("b", "DeleteGroups", 2, groups_names=[group])
    look()
