"""Both oracles are able to fail, and stay silent where all is well."""

from collections import Counter

import pytest

from tests.oracles.bounds import Settings, returned_within
from tests.oracles.liveness import Liveness
from tests.oracles.thrift import Thrift
from tests.oracles.thrift_of_producers import Work, wasted
from tests.oracles.writing import Fate, wrongs_of

SETTINGS = Settings()


def looked(seconds: float, **events: float) -> Liveness[str]:
    """A reader whose partition "a" is owed a record for so long; "b" goes on meanwhile."""
    liveness: Liveness[str] = Liveness(SETTINGS)
    liveness.look(0.0, {"a": None, "b": None})
    for tenth in range(round(seconds * 10)):
        now = tenth / 10
        if now == events.get("befell"):
            liveness.befell(now, ["a"])
        if now == events.get("silent"):
            liveness.silent(now)
        if now == events.get("returned"):
            liveness.returned("a", now)
        liveness.returned("b", now)
        liveness.look(now, {"a": 7, "b": 8})
    return liveness


@pytest.mark.parametrize(
    ("seconds", "events", "wrong"),
    [
        (10.0, {}, False),
        (11.0, {}, True),
        (15.0, {"befell": 6.0}, False),
        (18.0, {"befell": 6.0}, True),
        (18.0, {"returned": 9.0}, False),
        (40.0, {"silent": 5.0}, False),
        (52.0, {"silent": 5.0}, True),
        (300.0, {"befell": 5.0, "silent": 5.0}, True),
    ],
)
def test_a_record_is_overdue(seconds: float, events: dict[str, float], wrong: bool) -> None:  # noqa: FBT001
    """From its bound on, once, and the partitions that go on are not named."""
    liveness = looked(seconds, **events)
    assert len(liveness.wrongs) == wrong
    assert not any(words.startswith("liveness: b") for words in liveness.wrongs)


def test_what_the_application_does_not_ask_for_is_not_overdue() -> None:
    """Time without polls does not count; nor does what is not assigned, or has no leader."""
    liveness = looked(9.0)
    liveness.away(30.0)
    liveness.look(39.0, {"a": 7})
    liveness.look(39.5, {})
    liveness.look(100.0, {"a": 7})
    assert not liveness.wrongs


def test_the_bounds_leave_no_room_for_what_was_found_once() -> None:
    """Five minutes without a record, and a thousand requests a second."""
    assert returned_within(SETTINGS) < 15.0
    assert returned_within(SETTINGS, silent=True) < 60.0
    thrift: Thrift[str] = Thrift(SETTINGS)
    thrift.judge(3.0, {"broker 1": Counter(Fetch=4200)}, events=5)
    assert "4200 requests on broker 1 in 3.00 s" in thrift.wrongs[0]
    thrift.judge(3.0, {"broker 1": 60}, events=None)
    thrift.judge(3.0, {"broker 1": 10}, events=None, cpu=2.5)
    assert [words.split(" in ")[0] for words in thrift.wrongs[1:]] == [
        "thrift: 60 requests on broker 1",
        "thrift: 2.50 s of processor time",
    ]


def test_a_producer_is_held_to_its_batches() -> None:
    """One request for each batch and each retry; metadata where there is a cause."""
    work = Work(batches=10, retries=2, connections=2)
    sent = {"Produce": 12, "Metadata": 3, "InitProducerId": 1, "ApiVersions": 2}
    assert not wasted(SETTINGS, 60.0, sent, work)
    assert wasted(SETTINGS, 60.0, sent | {"Produce": 13}, work)
    assert wasted(SETTINGS, 60.0, sent | {"Metadata": 300}, work)
    assert wasted(SETTINGS, 60.0, {"Metadata": 2}, Work())
    assert not wasted(SETTINGS, 60.0, {"Metadata": 1}, Work())
    assert wasted(SETTINGS, 60.0, {"Produce": 1, "InitProducerId": 3}, work.since(work))


def test_a_client_with_nothing_to_do_is_allowed_its_fetches() -> None:
    """Two fetches a second and a few requests when it begins."""
    thrift: Thrift[str] = Thrift(SETTINGS)
    thrift.judge(10.0, {"broker 1": 26}, events=None, cpu=0.1)
    assert not thrift.wrongs
    assert (thrift.idle, thrift.highest) == (10.0, 2.6)


@pytest.mark.parametrize(
    ("logs", "found"),
    [
        ([[0, 1, 2]], ""),
        ([[0, 2]], "1 is not at 1"),
        ([[0, 1, 2, 1]], "are twice"),
        ([[2, 0, 1]], "out of order"),
        ([[0], [1, 2]], "1 is not at 1"),
        ([[0, 1, 3]], "3 failed with Refused, and is there"),
        ([[0, 1, 2, 4]], ""),
    ],
)
def test_what_a_producer_has_written(logs: list[list[int]], found: str) -> None:
    """Once and in order in each log, and there if the delivery says so."""
    fates = {
        0: Fate(0),
        1: Fate(1),
        2: Fate(2),
        3: Fate(None, error="Refused"),
        4: Fate(None, may_be_there=True),
    }
    wrongs = wrongs_of("t-0", logs, fates)
    assert (found in "\n".join(wrongs)) if found else not wrongs
