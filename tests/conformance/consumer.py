"""Scenarios of groups of the consumer protocol (KIP-848)."""

from datetime import timedelta
from typing import Any

from tests.broker import group_scripts
from tests.conformance.classic import scene
from tests.conformance.stage import Stage
from tests.unit.testing.cluster import patterns


def consumer_refusals(stage: Stage) -> None:
    """What a coordinator refuses before it looks at the group."""
    group_scripts.refusals(scene(stage))


def consumer_hand_over(stage: Stage) -> None:
    """A second member gets what the first gives up, then a third."""
    group_scripts.hand_over(scene(stage))


def consumer_static_seats(stage: Stage) -> None:
    """A static name is held until its holder leaves."""
    group_scripts.static_seats(scene(stage))


def consumer_two_protocols(stage: Stage) -> None:
    """An empty group changes its protocol; its offsets stay."""
    group_scripts.two_protocols(scene(stage))


def consumer_described(stage: Stage) -> None:
    """ConsumerGroupDescribe while members come and go."""
    group = scene(stage)

    def look() -> None:
        stage.ask("b", "ConsumerGroupDescribe", group_ids=[group.group, f"{group.group}-none"])

    look()
    group.hb("m1", 0)
    look()
    group.hb("m2", 0, server_assignor="range")
    look()
    group.hb("m1", 2, [0, 1])
    group.hb("m2", 3, [])
    look()
    group.hb("m2", 3, server_assignor="uniform")
    look()
    group.hb("m1", -1)
    look()
    group.hb("m2", -1)
    look()


def consumer_subscriptions(stage: Stage) -> None:
    """Subscriptions that change: other topics, none, topics that are not there."""
    group = scene(stage)
    other = stage.topic(2)
    group.hb("m", 0)
    group.hb("m", 2, subscribed_topic_names=[group.topic, other.name])
    group.hb("m", 3, [0, 1, 2, 3])
    group.hb("m", 3, subscribed_topic_names=["no-such-topic"])
    group.hb("m", 3, [])
    group.hb("m", 4, subscribed_topic_names=[])
    group.hb("m", 5, subscribed_topic_names=[group.topic])
    group.hb("m", 6, [0], rebalance_timeout=timedelta(seconds=5))
    group.hb("m", 6, subscribed_topic_names=[group.topic])


def consumer_full_heartbeats(stage: Stage) -> None:
    """Heartbeats that say everything again, in the epoch that is and in others."""
    group = scene(stage)
    everything: dict[str, Any] = {
        "rebalance_timeout": timedelta(seconds=60),
        "subscribed_topic_names": [group.topic],
    }
    group.hb("m", 0)
    for epoch in (2, 1, 3, 0):
        group.hb("m", epoch, [0, 1, 2, 3], **everything)
        group.hb("m", epoch, **everything)
        group.hb("m", epoch)


def consumer_patterns(stage: Stage) -> None:
    """Which regular expressions a subscription may have."""
    group = scene(stage)
    for pattern in [*patterns.TAKEN, *patterns.REFUSED]:
        group.hb("m", 0, subscribed_topic_names=None, subscribed_topic_regex=pattern)
        group.hb("m", -1)


def consumer_pattern_matches(stage: Stage) -> None:
    """Which topics a pattern matches."""
    if stage.version("ConsumerGroupHeartbeat") < 1:
        return
    names = [
        f"{stage.name}-{each}" for each in ("a", "B", "a1", "a.b", "_x_", "zz", "a-a", "Q")
    ]
    topics = {each: stage.made(each).id for each in names}
    always = stage.topic()
    topics[always.name] = always.id
    for number, pattern in enumerate(MATCHING):
        asked: dict[str, Any] = {
            "group_id": f"{stage.name}-{number}",
            "member_id": "m",
            "rebalance_timeout": timedelta(seconds=60),
            "topic_partitions": [],
            "subscribed_topic_regex": f"(?:{stage.name}-(?:{pattern}))|{always.name}",
            "subscribed_topic_names": None,
        }
        epoch, given = 0, None
        while not given:
            body = stage.quietly("m", "ConsumerGroupHeartbeat", 1, **asked, member_epoch=epoch)
            assert body.error_code == 0, (pattern, body)
            epoch = body.member_epoch
            given = body.assignment and body.assignment.topic_partitions
        ids = {each.topic_id for each in given}
        matched = sorted(name for name, each in topics.items() if each in ids)
        stage.look(pattern, matched)


MATCHING = [
    "a",
    "(?i)A",
    "(?i:b)|q",
    "[[:upper:]]",
    "[^[:alpha:]].*",
    r"\pL",
    r"\p{Ll}{2}",
    r"\PL*",
    r"\Qa.b\E",
    "a.b",
    r"a\.b",
    "a[.-].",
    r"\w+",
    r"[\w.]+",
    "z{2}",
    "z{3}",
    "(a|B)1?",
    r"a\b.*",
    r"a\B.*",
    r"\x61",
    r"\141",
    "[a-b-c]+",
    "[^^]",
    "(?U)a.*",
    "(?P<n>a)(?P<m>1)",
    "a$",
    r"a\z",
    "|a",
    r"\p{Latin}",
    r"[^\p{Latin}]+\pL[[:punct:]]",
    "(?i)[b]",
    "(?i)[^b]",
    "(?i)a|(?-i:B)",
]
"""Regular expressions in which RE2J and others could differ."""
