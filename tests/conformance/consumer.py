"""Scenarios of groups of the consumer protocol (KIP-848)."""

from datetime import timedelta
from typing import Any

from tests.broker import group_scripts
from tests.conformance.classic import scene
from tests.conformance.stage import Stage


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


PATTERNS = [
    "a.*",
    "[",
    "(",
    "a{2}",
    "(?=a)",
    "(?!a)",
    "(?<=a)b",
    r"(a)\1",
    "a++",
    "a*+",
    "(?>a)",
    "a{1001}",
    "a{1000}",
    "(?P<n>a)",
    "(?<n>a)",
    "(?P=n)",
    r"\Qa.b\E",
    r"\p{Ll}+",
    r"\pL",
    r"\p{Greek}",
    r"\p{Nonsense}",
    "[[:alpha:]]+",
    "[[:nonsense:]]+",
    r"a\z",
    r"a\Z",
    r"\Aa",
    "(?i)a",
    "(?s:a)",
    "(?x)a",
    "(?u)a",
    "(?#comment)a",
    "(?(1)a|b)",
    r"\d\w\s\D\W\S\b\B",
    r"\h",
    r"\R",
    r"\x{41}",
    r"\x41",
    r"\u0041",
    r"\N{DIGIT ONE}",
    r"\G",
    r"\K",
    r"\07",
    r"\C",
    "a**",
    "*a",
    "a|*",
    "a{,2}",
    "a{2,1}",
    "[b-a]",
    "[]a]",
    "[^]a]",
    "[a",
    "a)",
    "\\",
    "a{",
    "x{2}{3}",
    "(?:",
    "(?z)a",
    "(?-i)a",
    "(?i-s:a)",
    "[a-\\d]",
    "[\\Qa\\E]",
    "(a{100}){100}",
    "((a{100}){10}){2}",
    "^a$",
    "(^a|b$)",
    r"\e",
    r"\a\f\t\n\r\v",
    r"\_",
    r"\-",
    r"\é",
    "[a&&b]",
    "[[a]b]",
    "(?P<n>a)(?P<n>b)",
    "(?P<1n>a)",
    "a??b*?c+?d{1,2}?",
]
"""Regular expressions of which a broker, which uses RE2J, takes some."""


def consumer_patterns(stage: Stage) -> None:
    """Which regular expressions a subscription may have."""
    group = scene(stage)
    for pattern in PATTERNS:
        group.hb("m", 0, subscribed_topic_names=None, subscribed_topic_regex=pattern)
        group.hb("m", -1)
