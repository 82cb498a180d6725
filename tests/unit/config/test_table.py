"""The table against Java's: `java-config.tsv` holds names and values that Java told."""

import csv
from functools import cache
from pathlib import Path

import pytest

from prokurist.config.clients import CONSUMER, PRODUCER
from prokurist.config.counterparts import COUNTERPARTS
from prokurist.config.foreign import FOR_CONSUMERS, FOR_PRODUCERS, KAFKA_PYTHON, LIBRDKAFKA
from prokurist.config.key import Effect
from prokurist.config.kinds import Integer, Rejected
from prokurist.config.table import Client, plain, spellings, table

FACTS = Path(__file__).with_name("java-config.tsv")
CLIENTS = {"consumer": CONSUMER, "producer": PRODUCER}

DIFFERENT_DEFAULTS = {
    "allow.auto.create.topics": "a misspelt name creates no topic",
    "connections.max.idle.ms": "load balancers forget a connection after 4 to 6 minutes",
    "enable.metrics.push": "what leaves the process is asked for",
    "metric.reporters": "Java's reporter is a Java class",
    "partition.assignment.strategy": "the same assignors under their short names",
    "consumer receive.buffer.bytes": "1 MiB keeps one fetch from stalling on the window",
    "key.deserializer": "optional: bytes stay bytes",
    "value.deserializer": "optional: bytes stay bytes",
    "key.serializer": "optional: bytes stay bytes",
    "value.serializer": "optional: bytes stay bytes",
}
"""Every key whose default is not Java's, and why."""


@cache
def facts() -> list[dict[str, str]]:
    """Java's consumer and producer keys."""
    with FACTS.open(newline="") as lines:
        rows = csv.DictReader(lines, delimiter="\t")
        return [row for row in rows if row["client"] in CLIENTS]


def ids(fact: dict[str, str]) -> str:
    """Name a case."""
    return f"{fact['client']} {fact['key']}"


@pytest.mark.parametrize("fact", facts(), ids=ids)
def test_every_key_of_java_has_its_row(fact: dict[str, str]) -> None:
    """A key that Java knows is in the table, with a line of documentation and a status."""
    row = table(CLIENTS[fact["client"]])[fact["key"]]
    assert row.key.doc.endswith(".")
    assert not row.key.ours
    assert (row.key.status.effect is Effect.SUPPORTED) == (row.key.status.reason == "")
    if fact["key"] != "client.id":  # Java grades it differently in its two clients
        assert row.key.importance.value == fact["importance"]


@pytest.mark.parametrize("fact", facts(), ids=ids)
def test_defaults_are_javas(fact: dict[str, str]) -> None:
    """A default is Java's, or stands in the list of differences with a reason."""
    row = table(CLIENTS[fact["client"]])[fact["key"]]
    if row.key.status.effect is Effect.REFUSED:
        assert row.default is None
        return
    if fact["default"] == "(required)" and row.required:
        return
    different = {fact["key"], ids(fact)} & DIFFERENT_DEFAULTS.keys()
    assert (as_java_writes(row.default) == fact["default"]) != bool(different)


def as_java_writes(value: object) -> str:
    """Write a default the way Java prints it."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return str(value).lower()
    return f"[{', '.join(map(str, value))}]" if isinstance(value, tuple) else str(value)


@pytest.mark.parametrize(
    "fact", [fact for fact in facts() if fact["valid"].startswith("[")], ids=ids
)
def test_bounds_are_javas(fact: dict[str, str]) -> None:
    """A number's bounds are Java's: the last good value is taken, the next is not."""
    row = table(CLIENTS[fact["client"]])[fact["key"]]
    if not isinstance(row.key.kind, Integer) or "," not in fact["valid"]:
        return
    bounds = fact["valid"].split("]")[0].strip("[").replace("...", "").split(",")
    numbers = [int(bound) for bound in bounds if bound]
    low, high = row.key.kind.low, row.key.kind.high
    assert low == numbers[0]
    if len(numbers) > 1:
        assert high == numbers[1]
    assert high <= {"short": 32_767, "int": 2**31 - 1, "long": 2**63 - 1}[fact["type"]]
    assert row.key.kind.read(low) == low
    for beyond in (low - 1, high + 1):
        if beyond != row.key.kind.besides:
            with pytest.raises(Rejected):
                row.key.kind.read(beyond)


@pytest.mark.parametrize("client", [CONSUMER, PRODUCER], ids=lambda client: client.word)
def test_what_java_does_not_know_is_ours(client: Client) -> None:
    """A key that Java does not know is marked as ours, so that the documentation says so."""
    known = {fact["key"] for fact in facts() if fact["client"] == client.word}
    ours = {name for name, row in table(client).items() if row.key.ours}
    assert table(client).keys() - known == ours


@pytest.mark.parametrize("client", [CONSUMER, PRODUCER], ids=lambda client: client.word)
def test_defaults_keep_their_own_rules(client: Client) -> None:
    """Giving a key its default is never an error of that key."""
    for row in table(client).values():
        if not row.required and not row.optional:
            assert row.key.kind.read(row.default) == row.default


@pytest.mark.parametrize("client", [CONSUMER, PRODUCER], ids=lambda client: client.word)
def test_a_spelling_means_one_thing(client: Client) -> None:
    """No alias hides another key, and no key is both an alias and foreign."""
    rows = table(client).values()
    spelled = [plain(name) for row in rows for name in (row.name, *row.key.aliases)]
    assert len(spelled) == len(set(spelled))
    others = (*LIBRDKAFKA, *KAFKA_PYTHON, *COUNTERPARTS, *client.foreign)
    foreign = {plain(key) for key in others}
    assert not COUNTERPARTS.keys() & {*LIBRDKAFKA, *KAFKA_PYTHON}
    assert not foreign & spellings(client).keys()
    assert not foreign & client.deprecated.keys()


def test_what_one_client_takes_for_foreign_is_the_others_key() -> None:
    """The two short lists hold keys of the other client only."""
    assert {plain(key) for key in FOR_CONSUMERS} <= spellings(PRODUCER).keys()
    assert {plain(key) for key in FOR_PRODUCERS} <= spellings(CONSUMER).keys()
