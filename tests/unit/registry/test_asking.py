"""URLs in turn, pauses and deadlines, on a clock that only moves when it is slept on."""

import json
from collections.abc import Callable
from typing import Any

import pytest

from prokurist.errors import (
    SchemaNotFoundException,
    SchemaRefusedException,
    SchemaRegistryException,
    SchemaRegistryUnavailableException,
)
from prokurist.events.backoff import Backoff
from prokurist.events.clock import Deadline
from prokurist.registry.asking import Answer, Asking, Question, Unanswered

QUESTION = Question("GET", "/schemas/ids/7", "schema 7")
Behaviour = Callable[[float], Answer]


class Clock:
    """A clock of the test's."""

    def __init__(self) -> None:
        self.at = 100.0

    def now(self) -> float:
        """Its reading."""
        return self.at

    def sleep(self, seconds: float) -> None:
        """Move it."""
        self.at += max(0.0, seconds)


class Servers:
    """Servers of a registry, each with what it does.

    Args:
        clock: Time that passes where one takes its time.
    """

    def __init__(self, clock: Clock, **does: Any) -> None:
        self.clock = clock
        self.does = does
        self.asked: list[tuple[str, float]] = []
        self.renewals = 0

    def send(self, url: str, question: Question, seconds: float) -> Answer:
        """See `Send`."""
        assert question is QUESTION
        name = url.removeprefix("http://")
        self.asked.append((name, self.clock.at))
        does = self.does[name]
        if does == "silent":
            self.clock.sleep(seconds)
            raise Unanswered("timed out")
        if does == "dead":
            raise Unanswered("Connection refused")
        if isinstance(does, int):
            body = {"error_code": does * 100 + 3, "message": "its words"}
            return Answer(does, json.dumps(body).encode())
        return Answer(200, does if isinstance(does, bytes) else json.dumps(does).encode())

    def renew(self) -> bool:
        """Other credentials serve."""
        self.renewals += 1
        return self.renewals == 1

    def asking(self) -> Asking:
        """A client of them."""
        return Asking(
            [f"http://{name}" for name in self.does],
            self.send,
            self.renew,
            clock=self.clock,
            backoff=Backoff(0.1, 10.0, lambda: 0.5),
        )


def ask(asking: Asking, clock: Clock, seconds: float = 5.0) -> Any:
    """Ask once."""
    return asking.ask(QUESTION, Deadline(clock.at + seconds))


@pytest.mark.parametrize("trouble", ["silent", "dead", 503, 429])
def test_another_url_is_asked(trouble: object) -> None:
    """B883: within the time of the call; the one that has answered is asked first from then."""
    clock = Clock()
    servers = Servers(clock, a=trouble, b={"id": 1}, c={"id": 1})
    asking = servers.asking()
    assert ask(asking, clock) == {"id": 1}
    assert [name for name, _ in servers.asked] == ["a", "b"]
    assert clock.at <= 102.0
    ask(asking, clock)
    assert [name for name, _ in servers.asked] == ["a", "b", "b"]


def test_silent_servers_share_the_time() -> None:
    """B883, B884: the last one is asked before the deadline, and the call ends by it."""
    clock = Clock()
    servers = Servers(clock, a="silent", b="silent", c="silent")
    text = (
        r"no answer about schema 7 in time \(http://a: timed out; http://b: .*http://c: timed"
    )
    with pytest.raises(SchemaRegistryUnavailableException, match=text):
        ask(servers.asking(), clock, 6.0)
    assert [name for name, _ in servers.asked][:3] == ["a", "b", "c"]
    assert clock.at <= 106.0 + 1e-9


def test_a_dead_registry_is_asked_again_with_pauses() -> None:
    """B882: that double up to ten seconds; a question whose time ends before says when."""
    clock = Clock()
    servers = Servers(clock, a="dead")
    asking = servers.asking()
    for _ in range(2000):
        with pytest.raises(SchemaRegistryUnavailableException, match="Connection refused"):
            ask(asking, clock, 1.0)
        clock.sleep(0.05)
    assert clock.at - 100.0 > 100.0
    # Of 2000 records over more than 100 s: the doublings, and then one in ten seconds.
    assert len(servers.asked) <= 8 + (clock.at - 100.0) / 8.0
    while clock.at - servers.asked[-1][1] < 8.0:
        with pytest.raises(SchemaRegistryUnavailableException):
            ask(asking, clock, 1.0)
        clock.sleep(0.05)
    servers.does["a"] = "dead"
    with pytest.raises(SchemaRegistryUnavailableException):
        ask(asking, clock, 12.0)
    text = r"was not asked about schema 7: it has failed \d+ times in a row.* asked again in"
    with pytest.raises(SchemaRegistryUnavailableException, match=text):
        ask(asking, clock, 0.1)
    servers.does["a"] = {"id": 1}
    assert ask(asking, clock, 11.0) == {"id": 1}
    assert ask(asking, clock, 0.01) == {"id": 1}


def test_it_recovers_within_a_call() -> None:
    """B882: a question goes on asking until its deadline."""
    clock = Clock()
    servers = Servers(clock, a=503)
    asking = servers.asking()

    def sleep(seconds: float) -> None:
        clock.at += seconds
        if clock.at > 101.0:
            servers.does["a"] = {"id": 1}

    clock.sleep = sleep  # type: ignore[method-assign]
    assert ask(asking, clock) == {"id": 1}


@pytest.mark.parametrize(
    ("status", "kind"),
    [
        (404, SchemaNotFoundException),
        (409, SchemaRefusedException),
        (422, SchemaRefusedException),
        (403, SchemaRefusedException),
        (302, SchemaRegistryException),
        (400, SchemaRegistryException),
    ],
)
def test_what_asking_again_does_not_help(
    status: int, kind: type[SchemaRegistryException]
) -> None:
    """The registry's own words are told at once, with its number."""
    clock = Clock()
    servers = Servers(clock, a=status, b={"id": 1})
    servers.renewals = 1
    with pytest.raises(kind, match=r"http://a answered about schema 7 .*its words") as caught:
        ask(servers.asking(), clock)
    assert type(caught.value) is kind
    assert (caught.value.status, caught.value.registry_code) == (status, status * 100 + 3)
    assert clock.at == 100.0


def test_a_refused_token_is_renewed_once() -> None:
    """B886: another refusal is the answer."""
    clock = Clock()
    servers = Servers(clock, a=401)
    with pytest.raises(SchemaRefusedException, match="check the credentials"):
        ask(servers.asking(), clock)
    assert len(servers.asked) == 2


@pytest.mark.parametrize("body", [b"", b"<html>", b"[" * 100_000, b"\xff"])
def test_what_is_no_registry(body: bytes) -> None:
    """Its answer is told as that."""
    clock = Clock()
    servers = Servers(clock, a=body)
    with pytest.raises(SchemaRegistryException, match="no JSON; check that the URL"):
        ask(servers.asking(), clock)
