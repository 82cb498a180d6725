"""The committer's work, turn by turn, in virtual time."""

import json
import logging
from collections.abc import Callable
from random import Random

import pytest

from prokurist.errors import (
    CommitFailedException,
    NetworkThreadDiedException,
    TimeoutException,
)
from prokurist.events.clock import Deadline
from prokurist.metrics.queries import OpenQueries, QueryReading
from prokurist.spark.errors import GroupInUseException
from prokurist.spark.watcher.commit_worker import GRACE, CommitWorker, Rules
from prokurist.spark.watcher.event_queue import EventQueue, Run
from prokurist.spark.watcher.pending_commit import REFUSED_FOR, RENEWED_EVERY
from prokurist.spark.watcher.progress import Query, QueryBatch
from prokurist.types import TopicPartition
from tests.unit.spark.hand import A0, A1, BILLS, FakeClient, HandClock, at, batch


class Bench:
    """The committer's work with everything around it held in hand."""

    def __init__(
        self,
        group: Callable[[Query], str | None] = lambda query: f"spark.{query.label}",
        *,
        allow_rewind: bool = False,
        watched: Callable[[Query], bool] = lambda _: True,
    ) -> None:
        self.clock = HandClock()
        self.queue = EventQueue(self.clock)
        self.queries = OpenQueries()
        self.clients: list[FakeClient] = []
        self.ready = FakeClient(self.clock)
        self.connected: list[tuple[str, str]] = []
        self._watched = watched
        rules = Rules(self._connect, group, 10.0, 5.0, allow_rewind)
        self.committing = CommitWorker(
            self.queue,
            rules,
            self.clock,
            Random(1),  # noqa: S311 - a lot that can be drawn again
            self.queries,
        )

    def _connect(self, query: Query, group: str) -> FakeClient | None:
        if not self._watched(query):
            return None
        self.connected.append((query.label, group))
        self.clients.append(self.ready)
        made, self.ready = self.ready, FakeClient(self.clock)
        return made

    @property
    def client(self) -> FakeClient:
        """The one that was made last."""
        return self.clients[-1]

    def run(self, seconds: float = 0.0) -> float | None:
        """All turns of so many seconds: when the next one is due."""
        until = self.clock.time + seconds
        while (due := self.committing.turn()) is not None and due <= until:
            self.clock.time = max(self.clock.time, due)
        self.clock.time = max(self.clock.time, until)
        return due

    def progress(self, *batches: QueryBatch) -> None:
        """Spark tells of these, and there is time for what is due at once."""
        for each in batches:
            self.queue.progressed(each)
        self.run()

    @property
    def reading(self) -> QueryReading:
        """The one query that is watched."""
        (reading,) = self.queries.read(1000)
        return reading

    def settled(self, number: int) -> Run | None:
        """None where the group knows of a batch; else what went wrong."""
        now = self.clock.now()
        deadline = Deadline.after(now, 0)
        return self.queue.await_settled(BILLS.run_id, number, deadline, asked_at=now)

    def lag(self, partition: TopicPartition = A0) -> tuple[int | None, float | None]:
        """Its lag in records and seconds."""
        (one,) = (each for each in self.reading.partitions if each.partition == partition)
        return one.lag, one.lag_seconds


def test_the_end_of_a_batch_is_committed_to_the_querys_group() -> None:
    """At once, after the group was asked what it has."""
    bench = Bench()
    bench.queue.started(BILLS)
    bench.progress(batch(0, at(5, 7)))
    assert bench.connected == [("bills", "spark.bills")]
    assert bench.client.told == [{A0: 5, A1: 7}]
    bench.progress(batch(1, at(6, 7)))
    assert bench.client.told[1:] == [{A0: 6}]
    assert bench.settled(1) is None


def test_a_query_that_reads_no_kafka_costs_nothing() -> None:
    """No client, no series; and what is asked of it is settled at once."""
    bench = Bench()
    rate = QueryBatch(BILLS, 4, 10, 0.1, None, (("RateStreamV2[rowsPerSecond=5]", "17"),))
    bench.progress(rate)
    assert not bench.clients
    assert bench.queries.read(10) == []
    assert bench.settled(4) is None


@pytest.mark.parametrize(
    "bench", [Bench(lambda _: None), Bench(watched=lambda query: query.name == "others")]
)
def test_a_query_may_be_left_alone(bench: Bench) -> None:
    """Because it has no group, or is not among those that are watched."""
    bench.progress(batch(0, at(5)))
    assert not bench.clients
    assert bench.queries.read(10) == []


def test_batches_of_an_outage_are_one_commit_after_it() -> None:
    """It is tried again with growing pauses, of the newest end alone."""
    bench = Bench()
    bench.ready.error, bench.ready.takes = TimeoutException("too late"), 5.0
    for number in range(20):
        bench.progress(batch(number, at(number)))
        bench.run(10.0)
    assert bench.client.told == []
    assert all(timeout <= 5.0 for timeout in bench.client.timeouts)
    assert 5 <= bench.reading.commits["failed"] <= 40
    bench.client.error, bench.client.takes = None, 0.0
    bench.run(30.0)
    assert bench.client.told == [{A0: 19}]
    assert bench.reading.commits["committed"] == 1


def test_a_group_with_members_is_told_of_once_and_asked_again_later(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """One line names the group and the way out; when its members have gone, it is told."""
    bench = Bench()
    bench.ready.error = CommitFailedException("UNKNOWN_MEMBER_ID")
    with caplog.at_level(logging.WARNING, "prokurist.spark"):
        for number in range(5):
            bench.progress(batch(number, at(number)))
            bench.run(1.0)
    (line,) = (each.message for each in caplog.records if "are alive" in each.message)
    assert "group 'spark.bills'" in line
    assert "a group of its own" in line
    assert bench.reading.commits["refused"] == 1
    refused = bench.settled(4)
    assert refused is not None
    assert isinstance(refused.failure, GroupInUseException)
    assert refused.failure.group == "spark.bills"
    bench.client.error = None
    bench.run(REFUSED_FOR)
    assert bench.client.told == [{A0: 4}]
    assert bench.settled(4) is None


def test_a_checkpoint_that_went_back_does_not_take_the_group_along(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """It is told of, counted, and over when the query has caught up."""
    bench = Bench()
    bench.ready.has = {A0: 100, A1: 3}
    with caplog.at_level(logging.WARNING, "prokurist.spark"):
        bench.progress(batch(0, at(5, 7)))
    assert bench.client.has == {A0: 100, A1: 7}
    (line,) = (each.message for each in caplog.records)
    assert "ahead in a-0, such as 100 where the query is at 5" in line
    assert "allow_rewind=True" in line
    assert bench.reading.commits["kept_back"] == 1
    bench.progress(batch(1, at(101, 7)))
    assert bench.client.has == {A0: 101, A1: 7}


def test_it_does_where_that_is_allowed() -> None:
    """`allow_rewind`."""
    bench = Bench(allow_rewind=True)
    bench.ready.has = {A0: 100}
    bench.progress(batch(0, at(5)))
    assert bench.client.has == {A0: 5}


def test_offsets_are_told_again_every_hour() -> None:
    """An idle query's group does not forget them."""
    bench = Bench()
    bench.progress(batch(0, at(5)))
    bench.run(3 * RENEWED_EVERY + 60)
    assert bench.client.told == [{A0: 5}] * 4


def test_the_lag_rises_while_a_batch_takes_long_and_falls_after_it() -> None:
    """The logs are looked at every ten seconds, independently of Spark."""
    bench = Bench()
    bench.ready.ends = {A0: 5}
    bench.progress(batch(0, at(5)))
    assert bench.lag() == (0, 0.0)
    seen = []
    for _ in range(6):
        bench.client.ends[A0] += 100
        bench.run(10.0)
        seen.append(bench.lag())
    assert [records for records, _ in seen] == [100, 200, 300, 400, 500, 600]
    ages = [seconds for _, seconds in seen if seconds is not None]
    assert ages == sorted(ages)
    assert ages[-1] == pytest.approx(60.0, abs=11.0)
    bench.progress(batch(1, at(605)))
    assert bench.lag() == (0, 0.0)
    # It ends beyond what was there at the last look: then that was there, too.
    bench.progress(batch(2, at(700)))
    assert bench.lag() == (0, 0.0)
    assert bench.reading.partitions[0].end == 700


def test_the_age_of_what_is_not_done_rises_while_no_broker_answers() -> None:
    """The lag in records stays where it was seen last; failures are counted."""
    bench = Bench()
    bench.ready.ends = {A0: 10}
    bench.progress(batch(0, at(5)))
    bench.client.error, bench.client.takes = TimeoutException("frozen"), 5.0
    bench.run(60.0)
    records, seconds = bench.lag()
    assert records == 5
    assert seconds is not None
    assert seconds >= 60.0
    assert bench.reading.samples_failed >= 5


def test_a_topic_that_does_not_exist_hides_no_lag_of_others() -> None:
    """Its place stays among the offsets: the others are committed and looked at."""
    bench = Bench()
    gone, live = TopicPartition("gone", 0), A0
    bench.ready.ends, bench.ready.absent = {live: 9}, {"gone"}
    bench.progress(batch(0, json.dumps({"a": {"0": 5}, "gone": {"0": 7}})))
    bench.run(30.0)
    assert bench.lag(live)[0] == 4
    assert bench.client.has == {live: 5}
    assert bench.settled(0) is None
    bench.progress(batch(1, json.dumps({"a": {"0": 6}, "gone": {"0": 7}})))
    assert bench.client.has == {live: 6}
    bench.client.absent = set()
    bench.progress(batch(2, json.dumps({"a": {"0": 6}, "gone": {"0": 8}})))
    assert bench.client.has == {live: 6, gone: 8}


def test_new_partitions_are_looked_at_at_once() -> None:
    """Their lag is known before the next look."""
    bench = Bench()
    bench.ready.ends = {A0: 5, A1: 9}
    bench.progress(batch(0, at(5)))
    bench.run(1.0)
    bench.progress(batch(1, at(5, 2)))
    assert bench.lag(A1)[0] == 7


def test_partitions_without_series_count_in_the_sums() -> None:
    """The reader bounds how many are listed."""
    bench = Bench()
    bench.ready.ends = {A0: 7, A1: 5}
    bench.progress(batch(0, at(5, 1)))
    (reading,) = bench.queries.read(1)
    assert [each.partition for each in reading.partitions] == [A0]
    assert (reading.unlisted, reading.lag) == (1, 6)


def test_an_attempt_has_one_deadline_for_all_that_it_asks() -> None:
    """The look-up and the commit share it."""
    bench = Bench()
    bench.ready.takes = 3.0
    bench.progress(batch(0, at(5)))
    assert bench.client.timeouts[:2] == [5.0, 2.0]


def test_a_query_that_has_ended_has_no_series() -> None:
    """Its client is closed, and nothing is left of it."""
    bench = Bench()
    bench.progress(batch(0, at(5)))
    assert bench.reading.batch == 0
    bench.queue.ended(BILLS)
    assert bench.run() is None
    assert bench.queries.read(10) == []
    assert bench.client.closed
    assert bench.client.has == {A0: 5}


def test_the_last_batch_of_a_query_that_has_ended_is_told_all_the_same() -> None:
    """The coordinator comes back within the time that is given; the series are gone before."""
    bench = Bench()
    bench.ready.error = TimeoutException("too late")
    bench.progress(batch(0, at(5)))
    assert bench.reading.batch == 0
    bench.queue.ended(BILLS)
    bench.run(GRACE / 2)
    assert bench.queries.read(10) == []
    bench.client.error = None
    assert bench.run(GRACE / 2) is None
    assert bench.client.has == {A0: 5}
    assert bench.client.closed


def test_it_is_given_up_after_a_while(caplog: pytest.LogCaptureFixture) -> None:
    """The listener does not outlive the query by more; the log says so."""
    bench = Bench()
    bench.ready.error = TimeoutException("too late")
    with caplog.at_level(logging.WARNING, "prokurist.spark"):
        bench.queue.progressed(batch(0, at(5)))
        bench.queue.ended(BILLS)
        assert bench.run(GRACE + 1) is None
    assert bench.client.closed
    assert "bills has ended: given up after 30 s" in caplog.records[-1].message
    left = bench.settled(0)
    assert left is not None


def test_a_refusal_is_not_waited_out_when_the_query_has_ended() -> None:
    """The group would be asked again long after it is given up."""
    bench = Bench()
    bench.ready.error = CommitFailedException("members")
    bench.progress(batch(0, at(5)))
    bench.queue.ended(BILLS)
    assert bench.run() is None
    assert bench.client.closed


def test_a_refused_commit_is_tried_again_when_a_call_waits() -> None:
    """Also of a query that has ended, and has just been refused."""
    bench = Bench()
    bench.ready.error = CommitFailedException("members")
    bench.progress(batch(0, at(5)))
    bench.client.error = None
    bench.queue.asked(batch(0, at(5)), over=True)
    assert bench.run() is None
    assert bench.clients[0].told == [{A0: 5}]


def test_a_restarted_query_goes_on_with_its_group() -> None:
    """Another run of the same checkpoint, with a client of its own."""
    bench = Bench()
    bench.progress(batch(0, at(5)))
    bench.queue.ended(BILLS)
    bench.run()
    again = Query(BILLS.id, "run-2", "bills")
    bench.ready.has = {A0: 5}
    bench.progress(batch(1, at(8), again))
    assert bench.connected == [("bills", "spark.bills")] * 2
    assert bench.client.told == [{A0: 8}]


def test_one_querys_outage_does_not_hold_back_another() -> None:
    """Each waits for one attempt of the other's, and no longer."""
    bench = Bench()
    bench.ready.error, bench.ready.takes = TimeoutException("frozen"), 5.0
    bench.progress(batch(0, at(5)))
    frozen = bench.client
    other = Query("id-2", "run-2", "orders")
    began = bench.clock.time
    bench.progress(batch(0, at(9), other))
    assert bench.client is not frozen
    assert bench.client.told == [{A0: 9}]
    assert bench.client.told_at[0] - began <= 5.0


def test_a_client_that_has_died_is_replaced() -> None:
    """A bug has ended its thread: it would refuse every call from now on."""
    bench = Bench()
    bench.ready.error = NetworkThreadDiedException("a bug")
    bench.progress(batch(0, at(5)))
    bench.run(REFUSED_FOR + 1)
    assert bench.clients[0].closed
    assert bench.client.told == [{A0: 5}]


def test_a_users_own_error_is_told_of_and_harms_no_other_query(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """The function that names groups raises for one query."""

    def group(query: Query) -> str:
        if query.name == "bills":
            raise LookupError("who is bills?")
        return "g"

    bench = Bench(group)
    with caplog.at_level(logging.WARNING, "prokurist.spark"):
        bench.progress(batch(0, at(5)), batch(0, at(9), Query("id-2", "run-2", "orders")))
    assert bench.client.has == {A0: 9}
    (line,) = (each.message for each in caplog.records)
    assert line == "bills: batch 0 is ignored: who is bills?"
    left = bench.settled(0)
    assert left is not None
    assert isinstance(left.failure, LookupError)


def test_what_is_left_at_the_end_is_closed() -> None:
    """When no listener is left."""
    bench = Bench()
    bench.progress(batch(0, at(5)))
    bench.committing.close()
    assert bench.client.closed
    assert bench.queries.read(10) == []
    assert repr(bench.committing) == "CommitWorker(0 runs)"


def test_who_waits_does_not_wait_for_a_pause() -> None:
    """`flush` has the next attempt made at once."""
    bench = Bench()
    bench.ready.error = CommitFailedException("members")
    bench.progress(batch(0, at(5)))
    bench.client.error = None
    bench.queue.asked(batch(0, at(5)), over=False)
    bench.run()
    assert bench.client.told == [{A0: 5}]
