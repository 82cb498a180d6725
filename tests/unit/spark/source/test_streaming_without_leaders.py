"""What a stream does with partitions whose leader is away, and when no leader answers."""

import logging
from collections.abc import Iterable

import pytest

from prokurist.errors import TimeoutException
from prokurist.events.clock import epoch_milliseconds
from prokurist.types import TopicPartition
from tests.unit.spark.stream_bench import A, B, Bench, at


def test_a_partition_whose_leader_is_away_does_not_hold_up_the_others() -> None:
    """It stays where it is for this trigger, and is read when a leader answers for it."""
    bench = Bench()
    bench.brokers.logs = {A: (0, 15), B: (0, 25)}
    bench.brokers.away = {B}
    end = bench.latest(at(10, 20))
    assert end == at(15, 20)
    assert bench.planned(at(10, 20), end) == {0: [10, 15]}
    assert bench.clock.time <= 100.0 + 4.0
    bench.brokers.away = set()
    later = bench.latest(end)
    assert later == at(15, 25)
    assert bench.planned(end, later) == {1: [20, 25]}


def test_a_leader_that_stays_away_costs_each_trigger_little() -> None:
    """It is asked beside the others and not with them; half a second."""
    bench = Bench()
    bench.brokers.away = {B}
    bench.latest(at(10, 20))
    before = bench.clock.time
    for count in range(11, 16):
        bench.brokers.logs[A] = (0, count)
        assert bench.latest(at(10, 20)) == at(count, 20)
    assert bench.clock.time - before <= 5 * 0.5


def test_what_is_away_and_comes_back_is_told_once(caplog: pytest.LogCaptureFixture) -> None:
    """However many triggers there are meanwhile; and once a minute while it lasts."""
    bench = Bench()
    bench.brokers.away = {B}
    with caplog.at_level(logging.WARNING, "prokurist"):
        for _ in range(80):
            bench.latest(at(10, 20))
        bench.brokers.away = set()
        bench.latest(at(10, 20))
    told = [record.getMessage() for record in caplog.records]
    assert len(told) == 2
    assert "the leader of t-1 does not answer" in told[0]
    assert "answer again after" in told[1]


def test_a_partition_is_not_passed_over_for_ever() -> None:
    """A watermark goes on with the others, and what comes later than it is dropped."""
    bench = Bench(brokerDownGraceMs="20000")
    bench.brokers.away = {B}
    while bench.clock.time < 119.4:
        bench.latest(at(10, 20))
    with pytest.raises(TimeoutException, match="the leader of t-1 has not answered") as caught:
        bench.latest(at(10, 20))
    assert "brokerDownGraceMs" in caught.value.__notes__[0]
    assert 120.0 <= bench.clock.time <= 125.0


def test_a_partition_that_is_gone_is_not_away() -> None:
    """Of a topic that was deleted meanwhile nothing is waited for."""
    bench = Bench(brokerDownGraceMs="20000", failOnDataLoss="false")
    bench.brokers.away = {B}
    end = bench.latest(at(10, 20))
    del bench.brokers.logs[B]
    bench.brokers.away = set()
    for _ in range(2):
        assert bench.latest(end) == end
        bench.clock.time += 15.0
    assert bench.latest(end) == at(10)
    bench.clock.time += 60.0
    assert bench.latest(at(10)) == at(10)


def test_leaders_that_are_all_away_for_a_moment_are_waited_for() -> None:
    """Up to the deadline of the step: no cluster in which no leader answers is passed over."""
    bench = Bench()
    bench.brokers.away = {A, B}
    bench.brokers.logs = {A: (0, 15), B: (0, 25)}
    asked = bench.brokers.leaders

    def elected(partitions: Iterable[TopicPartition]) -> dict[TopicPartition, int | None]:
        if bench.clock.time > 115.0:
            bench.brokers.away = {B}
        return asked(partitions)

    bench.brokers.leaders = elected  # type: ignore[method-assign]
    assert bench.latest(at(10, 20)) == at(15, 20)


def test_a_cluster_in_which_no_leader_answers_is_told_by_the_deadline() -> None:
    """Although there are metadata, which may be from before."""
    bench = Bench(driverDeadlineMs="30000")
    bench.brokers.away = {A, B}
    with pytest.raises(TimeoutException, match="no broker answers"):
        bench.latest(at(10, 20))
    assert bench.clock.time == 130.0


def test_the_default_deadline_outlasts_a_leader_and_its_controller() -> None:
    """Twice the longest session of brokers, 18 s with ZooKeeper, and well below Spark's own."""
    deadline = Bench().settings.driver_deadline
    assert 2 * 18 < deadline <= 60


def test_a_query_starts_while_a_leader_is_away() -> None:
    """`latest` is where the log ended when the query began: what is written since is read."""
    bench = Bench()
    bench.brokers.away = {B}
    before = epoch_milliseconds()
    start = bench.stream.initial()
    assert start["t"] == start["$init"]["t"] == at(10)["t"]
    assert before <= start["$deferred"]["t"]["1"] <= epoch_milliseconds()
    assert bench.latest(start) == start

    bench.brokers.logs[A] = (0, 12)
    end = bench.latest(start)
    assert (end["t"], end["$init"]["t"]) == (at(12)["t"], at(10)["t"])
    assert end["$deferred"] == start["$deferred"]
    assert bench.planned(start, end) == {0: [10, 12]}

    bench.restarted()
    bench.brokers.away = set()
    bench.brokers.logs[B] = (0, 30)
    bench.brokers.young = {B: 21}
    later = bench.latest(end)
    assert later == {**at(12, 30), "$init": at(12, 21)}
    assert bench.planned(end, later) == {1: [21, 30]}
    assert bench.brokers.moments == {B: start["$deferred"]["t"]["1"]}
    bench.brokers.logs[B] = (0, 31)
    assert bench.latest(later) == at(12, 31)


@pytest.mark.parametrize("young", [None, 99])
def test_a_deferred_start_is_no_later_than_the_log_s_end(young: int | None) -> None:
    """Also where nothing is as young, or what is was written after the end was asked for."""
    bench = Bench()
    bench.brokers.away = {B}
    start = bench.stream.initial()
    bench.brokers.away = set()
    bench.brokers.young = {} if young is None else {B: young}
    end = bench.latest(start)
    assert end == {**at(10, 20), "$init": at(10, 20)}
    assert bench.planned(start, end) == {}


def test_a_deferred_start_may_be_the_log_s_beginning() -> None:
    """Of a log whose first records are gone too: that is no loss, as at any start."""
    bench = Bench(startingOffsets="earliest")
    bench.brokers.logs[B] = (5, 20)
    bench.brokers.away = {B}
    start = bench.stream.initial()
    assert start == {**at(0), "$init": at(0), "$deferred": {"t": {"1": -2}}}
    end = bench.latest(start)
    bench.brokers.away = set()
    later = bench.latest(end)
    assert later == {**at(10, 20), "$init": at(10, 5)}
    assert bench.planned(end, later) == {1: [5, 20]}


def test_offsets_that_are_given_are_not_waited_for() -> None:
    """They need not be looked up."""
    bench = Bench(startingOffsets='{"t": {"0": 3, "1": 4}}')
    bench.brokers.away = {A, B}
    assert bench.stream.initial() == {**at(3, 4), "$init": at(3, 4)}


@pytest.mark.parametrize("strategy", ["error", "latest"])
def test_a_time_is_waited_for_only_where_it_may_be_an_error(strategy: str) -> None:
    """That no record is as young, the start of a query says and not some later trigger."""
    bench = Bench(startingTimestamp="7", startingOffsetsByTimestampStrategy=strategy)
    bench.brokers.young = {A: 4}
    bench.brokers.away = {B}
    if strategy == "error":
        with pytest.raises(TimeoutException):
            bench.stream.initial()
    else:
        start = bench.stream.initial()
        assert start == {**at(4), "$init": at(4), "$deferred": {"t": {"1": 7}}}


def test_what_is_available_now_passes_nothing_over() -> None:
    """Nothing read means that all is read; so all leaders have to answer."""
    bench = Bench(startingOffsets="earliest")
    bench.stream.freeze()
    bench.brokers.away = {B}
    with pytest.raises(TimeoutException):
        bench.stream.initial()
    bench.brokers.away = set()
    start = bench.stream.initial()
    bench.brokers.away = {B}
    with pytest.raises(TimeoutException):
        bench.latest(start)


@pytest.mark.parametrize("slow", [0.3, 0.6, 1.2, 3.0])
def test_a_slow_leader_that_was_silent_once_is_read_again(slow: float) -> None:
    """And again, however slow it is; the other partitions hardly wait for it."""
    bench = Bench(brokerDownGraceMs="120000")
    bench.brokers.away, bench.brokers.slow = {B}, {B: slow}
    place = bench.latest(at(10, 20))
    bench.brokers.away = set()
    reads, began, waited = 0, bench.clock.time, 0.0
    for count in range(11, 411):
        bench.brokers.logs = {A: (0, count), B: (0, 10 + count)}
        before = bench.clock.time
        end = bench.latest(place)
        waited += bench.clock.time - before
        assert end["t"]["0"] == count
        reads += end["t"]["1"] != place["t"]["1"]
        place = end
        bench.clock.time += 1.0
    assert reads >= 5
    if 2 * slow > 2.0:
        assert waited <= 0.5 * (bench.clock.time - began)


@pytest.mark.parametrize("slow", [0.6, 1.2, 3.0])
def test_leaders_that_are_all_slow_are_read(slow: float) -> None:
    """None answers in the time for all, so there is more of it, and it is remembered."""
    bench = Bench()
    bench.brokers.slow = {A: slow, B: slow}
    before = bench.clock.time
    for count in range(11, 16):
        bench.brokers.logs = {A: (0, count), B: (0, 10 + count)}
        before = bench.clock.time
        assert bench.latest(at(10, 20)) == at(count, 10 + count)
    assert bench.clock.time - before <= 2 * slow + 0.1
