"""What operators ask is answered in docs/, at a place that docs/howto/operations.md names."""

import re
from pathlib import Path

import pytest

HOWTO = Path(__file__).parents[2] / "docs" / "howto"
PAGE = HOWTO / "operations.md"

ANSWERS = {
    "which brokers": (
        "brokers.md#which-brokers",
        "Redpanda",
        "Event Hubs",
        "WarpStream",
        "MSK",
    ),
    "the oldest broker": ("brokers.md#what-older-brokers-lack", "0.11", "KIP-848"),
    "memory": ("operations.md#memory", "fetch.buffer.max.bytes", "MiB", "largest batch"),
    "readiness": ("operations.md#probes", "readiness", "poll_age", "unreachable_for"),
    "workers": ("operations.md#where-it-is-built", "celery", "uWSGI", "Django", "fork"),
    "idle connections": ("brokers.md#idle-connections", "4 minutes", "350 s"),
    "native or pure": ("../support.md#supported-versions", "pure", "client_info"),
    "another client": (
        "rolling_change.md#change-the-client-of-a-running-service",
        *("confluent-kafka", "`range`", "cooperative-sticky", "InconsistentGroupProtocol"),
    ),
    "grace period": ("shutdown.md#in-kubernetes", "preStop", "maxSurge", "group.instance.id"),
    "log volume": ("operations.md#log-volume", "lines a minute", "client_id"),
    "support": (
        "../support.md#supported-versions",
        "3.13",
        "Windows",
        "macOS",
        "newest release",
    ),
    "deprecation": ("../support.md#deprecation", "DeprecationWarning", "Semantic", "minor"),
    "rights": ("operations.md#rights-to-ask-for", "READ", "WRITE", "DESCRIBE"),
    "quotas": ("operations.md#quotas", "client.id", "broker_throttled"),
    "cost of a consumer": ("operations.md#where-it-is-built", "1 thread", "file descriptors"),
}
"""For each question where its answer stands, and words that are in it."""
LINKS = {
    link if "#" not in link or not link.startswith("#") else f"operations.md{link}"
    for link in re.findall(r"\]\(([^)]+)\)", PAGE.read_text("utf-8").split("\nFigures")[0])
}


def slug(heading: str) -> str:
    """A heading's anchor, as the documents' builder makes it."""
    return re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-")


def section(place: str) -> str:
    """What stands below an anchor; below a page's title that is all of it."""
    name, anchor = place.split("#")
    text = (HOWTO / name).read_text("utf-8")
    for found in re.finditer(r"^(#+) (.*)$", text, re.MULTILINE):
        if slug(found[2]) == anchor:
            rest = text[found.end() :]
            return rest if found[1] == "#" else rest.split("\n## ")[0]
    raise AssertionError(f"{name} has no heading for #{anchor}")


@pytest.mark.parametrize("question", ANSWERS)
def test_the_question_has_its_answer(question: str) -> None:
    """Where the table of the page says, with the words that make it one."""
    place, *words = ANSWERS[question]
    told = section(place)
    assert [word for word in words if word not in told] == []
    assert place in LINKS


def test_every_link_of_the_table_leads_to_a_section() -> None:
    """Of these pages: a heading that was renamed is found."""
    assert len(LINKS) > 10
    for link in LINKS - {"alerts.md"}:
        assert section(link)
