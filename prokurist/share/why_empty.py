"""Reasons for a poll of a share group without records.

Thread: the application's; it waits for nothing.
"""

from typing import Final

from prokurist.assembly.share import ShareSide
from prokurist.records.why_empty import EmptyCause, WhyEmpty
from prokurist.types import MembershipState

ABSENT: Final = frozenset({3, 17})
"""Error codes of topics that there are not."""


def why_empty(side: ShareSide, now: float) -> WhyEmpty:
    """Return what keeps a poll from records."""
    reachability = side.client.reachability
    since = reachability.unreachable_since
    if since is not None:
        failure = reachability.last_failure
        why = "" if failure is None else f": {failure[0]}"
        return WhyEmpty(
            EmptyCause.UNREACHABLE,
            f"no broker has been reached for {max(0.0, now - since):.1f} s{why}",
        )
    subscribed = side.assigned.subscribed
    topics = side.metadata.cluster.topics
    wanted = () if subscribed is None else sorted(subscribed.topics)
    missing = [
        name
        for name in wanted
        if (view := topics.get(name)) is not None and view.error in ABSENT
    ]
    if missing:
        exist = "does not exist" if len(missing) == 1 else "do not exist"
        return WhyEmpty(EmptyCause.TOPIC_MISSING, f"{', '.join(missing)} {exist}")
    standing = side.membership.standing
    if standing is not MembershipState.STABLE:
        return WhyEmpty(
            EmptyCause.JOINING, f"the consumer is not in its share group yet ({standing.value})"
        )
    partitions = tuple(sorted(side.membership.partitions))
    if not partitions:
        return WhyEmpty(
            EmptyCause.NOTHING_ASSIGNED,
            "the share group has given this member no partitions yet: it begins their state "
            "first, and takes part in them all by turns",
        )
    leaderless = tuple(
        each for each in partitions if side.metadata.cluster.leader(each) is None
    )
    if leaderless:
        return WhyEmpty(
            EmptyCause.NO_LEADER,
            f"no leader is known of {', '.join(map(str, leaderless))}",
            leaderless,
        )
    return WhyEmpty(
        EmptyCause.NOTHING_NEW,
        f"nothing is available in {', '.join(map(str, partitions))}: all records are "
        f"acknowledged, or locked for other members, or not written yet",
        partitions,
    )
