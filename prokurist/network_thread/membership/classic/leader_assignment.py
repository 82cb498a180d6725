"""The leader's part of a classic group: subscriptions of all members in, assignments out.

Subscriptions of other members come from clients of any kind and age, and an assignor may be a
user's own code. Neither may hurt: an unreadable subscription counts as empty, with a warning; a
senseless assignment is an error that names the assignor and the fault.

Thread: the network thread alone; pure functions.
"""

from collections.abc import Iterable, Mapping, Sequence

from prokurist.assignors import encoding
from prokurist.assignors.assignor import Member
from prokurist.assignors.named import NAMED
from prokurist.assignors.sticky import claims_by_date
from prokurist.errors import KafkaException
from prokurist.events.cluster import Cluster
from prokurist.events.group_log_events import SUBSCRIPTION_MALFORMED
from prokurist.events.trace import Trace
from prokurist.network_thread.wire.classic_group import JoinedMember
from prokurist.types import PartitionInfo, TopicPartition, counted


def members_of(joined: Iterable[JoinedMember], trace: Trace) -> list[Member]:
    """The members of the generation, with their subscriptions; an unreadable one is empty.

    Those are logged in one line: an answer may have any number of them.
    """
    elements = encoding.Elements(encoding.GROUP)
    members: list[Member] = []
    unread: list[tuple[str, encoding.MalformedMessage]] = []
    for each in joined:
        try:
            member = encoding.subscriber(
                each.metadata, each.member_id, each.instance_id, elements
            )
        except encoding.MalformedMessage as error:
            unread.append((each.member_id, error))
            member = Member(each.member_id, (), each.instance_id)
        members.append(member)
    if unread:
        first, why = unread[0]
        others = f" (and {counted(len(unread) - 1, 'other')})" if len(unread) > 1 else ""
        trace.emit(SUBSCRIPTION_MALFORMED, member=f"{first}{others}", error=why)
    return members


def topics_of(members: Iterable[Member]) -> frozenset[str]:
    """All topics that members subscribe to."""
    return frozenset(topic for each in members for topic in each.topics)


def partitions_of(cluster: Cluster, topics: Iterable[str]) -> dict[str, list[PartitionInfo]]:
    """The partitions of topics; topics that do not exist are left out."""
    found = {topic: cluster.partitions_of(topic) for topic in sorted(topics)}
    return {topic: partitions for topic, partitions in found.items() if partitions}


def counts_of(cluster: Cluster, topics: Iterable[str]) -> dict[str, int]:
    """Count the partitions of each topic, the input of an assignment."""
    return {topic: len(cluster.partitions_of(topic)) for topic in topics}


def checked(
    assignor: str,
    parts: object,
    members: Sequence[Member],
    topics: Mapping[str, Sequence[PartitionInfo]],
    *,
    cooperative: bool,
) -> dict[str, tuple[TopicPartition, ...]]:
    """Check an assignor's answer.

    Args:
        assignor: Its name.
        parts: Its answer.
        members: Who there is.
        topics: All topics, with their partitions.
        cooperative: True if members keep their partitions until the assignment takes them away.

    Returns:
        The part of each member; an empty one for a member that was left out.

    Raises:
        KafkaException: It makes none.
    """
    if not isinstance(parts, Mapping):
        raise nonsense(
            assignor, f"answered {parts!r:.100} instead of a mapping of members to assignments"
        )
    known = {each.member_id for each in members}
    strangers = [each for each in parts if each not in known]
    if strangers:
        raise nonsense(assignor, f"assigned to {strangers[0]!r:.100}, which is no member")
    there = {TopicPartition(t, info.partition) for t, infos in topics.items() for info in infos}
    readers: dict[TopicPartition, str] = {}
    made: dict[str, tuple[TopicPartition, ...]] = {}
    for each in members:
        made[each.member_id] = part = part_of(assignor, parts.get(each.member_id, ()), each)
        for tp in part:
            if tp not in there:
                raise nonsense(assignor, f"gave {each.member_id} {tp}, which does not exist")
            if tp in readers:
                raise nonsense(
                    assignor, f"gave {tp} to both {readers[tp]} and {each.member_id}"
                )
            readers[tp] = each.member_id
    if cooperative:
        # By the same dates as Kafka's own assignor, which is `cooperative-sticky`.
        claims = claims_by_date(members) if assignor in NAMED else members
        check_nothing_is_taken(assignor, readers, claims)
    return made


def part_of(assignor: str, part: object, member: Member) -> tuple[TopicPartition, ...]:
    """Check the part of one member.

    Raises:
        KafkaException: It is no collection of partitions.
    """
    if not isinstance(part, Iterable) or isinstance(part, str | bytes):
        raise nonsense(assignor, f"gave {member.member_id} {part!r:.100} and no partitions")
    listed = tuple(part)
    topics = frozenset(member.topics)
    for tp in listed:
        if not isinstance(tp, TopicPartition):
            raise nonsense(assignor, f"gave {member.member_id} {tp!r:.100} and no partition")
        if tp.topic not in topics:
            raise nonsense(
                assignor, f"gave {member.member_id} {tp}, to which it has not subscribed"
            )
    return listed


def check_nothing_is_taken(
    assignor: str, readers: Mapping[TopicPartition, str], members: Iterable[Member]
) -> None:
    """Check that a partition is not given to a member before its present owner revokes it.

    Of several who say that they read it, the one of the latest generation is believed.

    Raises:
        KafkaException: It is.
    """
    owners: dict[TopicPartition, list[Member]] = {}
    for each in members:
        for tp in each.owned:
            owners.setdefault(tp, []).append(each)
    for tp, claimants in owners.items():
        latest = max(each.generation for each in claimants)
        believed = [each.member_id for each in claimants if each.generation == latest]
        if readers.get(tp, believed[0]) not in believed:
            raise nonsense(
                assignor,
                f"gave {tp} to {readers[tp]} while {believed[0]} reads it: a cooperative "
                f"assignor gives out in the next round what was given up in this one",
            )


def nonsense(assignor: str, what: str) -> KafkaException:
    """The error for an assignor with an unusable answer."""
    return KafkaException(
        f"assignor {assignor!r} of partition.assignment.strategy {what}; this consumer has "
        f"left the group, so that another member can lead it: mend the assignor, or configure "
        f"another"
    )


def encoded(
    parts: Mapping[str, Iterable[TopicPartition]],
) -> tuple[tuple[str, bytes], ...]:
    """Encode the assignments of all members, for SyncGroup."""
    return tuple((member_id, encoding.assignment(part)) for member_id, part in parts.items())
