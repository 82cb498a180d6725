"""How far a stream goes with each trigger, and what is noticed before that is written down."""

import logging
from collections.abc import Collection, Mapping
from uuid import UUID

import pytest

from prokurist.errors import (
    ConfigException,
    TimeoutException,
    UnknownTopicOrPartitionException,
)
from prokurist.spark.errors import DataLossException
from prokurist.types import TopicPartition
from tests.unit.spark.stream_bench import A, B, Bench, C, at

# --- the beginning ---------------------------------------------------------------------


def test_a_stream_begins_where_it_was_first_asked() -> None:
    """However the logs grow meanwhile: Spark asks twice, and believes the second answer."""
    bench = Bench()
    first = bench.stream.initial()
    bench.brokers.logs[A] = (0, 99)
    assert bench.stream.initial() == first
    assert {key: first[key] for key in ("t",)} == at(10, 20)


def test_the_first_end_bears_the_beginning() -> None:
    """So that the first batch, read again by another process, is the same."""
    bench = Bench()
    start = bench.stream.initial()
    bench.brokers.logs = {A: (0, 15), B: (0, 20)}
    end = bench.latest(start)
    assert end == {**at(15, 20), "$init": at(10, 20)}
    assert bench.planned(start, end) == {0: [10, 15]}

    bench.restarted()
    bench.brokers.logs = {A: (0, 99), B: (0, 99)}
    again = bench.stream.initial()
    assert again["t"] == at(99, 99)["t"]
    assert bench.planned(again, end) == {0: [10, 15]}
    assert bench.latest(end) == at(99, 99)


def test_later_ends_are_plain() -> None:
    """As those of Spark's own source, which can go on from them."""
    bench = Bench(startingOffsets="earliest")
    end = bench.latest(bench.stream.initial())
    assert end == {**at(10, 20), "$init": at(0, 0)}
    bench.brokers.logs[A] = (0, 11)
    later = bench.latest(end)
    assert later == at(11, 20)
    assert bench.planned(end, later) == {0: [10, 11]}


def test_a_beginning_without_anything_new_is_no_end() -> None:
    """What is answered is what was given, to the letter, so Spark makes no batch of it."""
    bench = Bench()
    start = bench.stream.initial()
    assert bench.latest(start) == start
    bench.brokers.logs[A] = (0, 12)
    assert bench.latest(start) == {**at(12, 20), "$init": at(10, 20)}


def test_offsets_of_sparks_own_source_are_gone_on_from() -> None:
    """Its checkpoint has the same shape, without our word."""
    bench = Bench()
    assert bench.latest(at(7, 20)) == at(10, 20)
    assert bench.planned(at(7, 20), at(10, 20)) == {0: [7, 10]}


def test_options_that_make_no_sense_are_refused_before_anything_is_asked() -> None:
    """Also by a query that goes on from a checkpoint, and would not need them."""
    for options in (
        {"endingOffsets": "latest"},
        {"startingOffsets": "soon"},
        {"minOffsetsPerTrigger": "9", "maxOffsetsPerTrigger": "3"},
    ):
        with pytest.raises(ConfigException):
            Bench(**options)


# --- how much of it --------------------------------------------------------------------


def test_a_trigger_takes_no_more_than_it_may() -> None:
    """Each partition by its share of what is behind; `limited` is Spark's to say."""
    bench = Bench(startingOffsets="earliest", maxOffsetsPerTrigger="6")
    start = bench.stream.initial()
    assert bench.latest(start)["t"] == at(2, 4)["t"]
    assert bench.latest(start, limited=False)["t"] == at(10, 20)["t"]


def test_a_trigger_waits_until_there_is_enough() -> None:
    """But the first one does not, and none for longer than `maxTriggerDelay`."""
    bench = Bench(startingOffsets="earliest", minOffsetsPerTrigger="5", maxTriggerDelay="10s")
    end = bench.latest(bench.stream.initial())
    assert end["t"] == at(10, 20)["t"]
    bench.brokers.logs[A] = (0, 12)
    assert bench.latest(end) == end
    bench.clock.time += 9.9
    assert bench.latest(end) == end
    bench.clock.time += 0.2
    assert bench.latest(end) == at(12, 20)


def test_what_is_frozen_stays_frozen() -> None:
    """`availableNow` ends where the logs ended at its start, regardless of later records."""
    bench = Bench(
        startingOffsets="earliest", maxOffsetsPerTrigger="20", minOffsetsPerTrigger="19"
    )
    bench.stream.freeze()
    start = bench.stream.initial()
    bench.brokers.logs = {A: (0, 99), B: (0, 99), C: (0, 5)}
    seen = [start]
    while (end := bench.latest(seen[-1])) != seen[-1]:
        seen.append(end)
    assert seen[-1]["t"] == at(10, 20)["t"]
    assert len(seen) == 3


def test_what_is_frozen_ends_no_later_than_its_log() -> None:
    """Which may have been cut back since: no task is to wait for what was there once."""
    bench = Bench()
    bench.stream.freeze()
    bench.brokers.logs[B] = (0, 15)
    assert bench.latest(at(10, 12)) == at(10, 15)


def test_a_new_partition_has_its_share_from_its_beginning_on() -> None:
    """Of a log whose first records are gone already, too."""
    bench = Bench(maxOffsetsPerTrigger="6", failOnDataLoss="false")
    bench.brokers.logs[C] = (100, 110)
    end = bench.latest(at(10, 20))
    assert end == at(10, 20, 106)
    assert bench.planned(at(10, 20), end) == {2: [100, 106]}


def test_what_is_reported_is_where_the_logs_end() -> None:
    """And not how far a trigger goes."""
    bench = Bench(startingOffsets="earliest", maxOffsetsPerTrigger="6")
    assert bench.stream.report() is None
    bench.latest(bench.stream.initial())
    assert bench.stream.report() == at(10, 20)


def test_what_is_reported_is_of_what_is_read() -> None:
    """B488: a topic whose place was dropped has no end any more; one that is away keeps it."""
    bench = Bench(failOnDataLoss="false", brokerDownGraceMs="20000", subscribe="t,u")
    other = TopicPartition("u", 0)
    bench.brokers.logs[other] = (0, 7)
    start = {**at(10, 20), "u": {"0": 7}}
    bench.latest(start)
    assert bench.stream.report() == start
    del bench.brokers.logs[other]
    for seconds, reported in ((5.0, start), (21.0, at(10, 20))):
        bench.clock.time += seconds
        bench.latest(start)
        assert bench.stream.report() == reported


# --- what comes and goes ---------------------------------------------------------------


def test_a_new_partition_begins_at_its_beginning() -> None:
    """It is in the end, and Spark's start does not know it."""
    bench = Bench()
    bench.brokers.logs = {A: (0, 10), B: (0, 20), C: (0, 7)}
    end = bench.latest(at(10, 20))
    assert end == at(10, 20, 7)
    assert bench.planned(at(10, 20), end) == {2: [0, 7]}


def test_a_partition_that_is_missing_once_is_asked_for_again() -> None:
    """An answer in which one is left out is no loss yet."""
    bench = Bench()
    bench.brokers.hidden = [B]
    assert bench.latest(at(10, 20)) == at(10, 20)


LOSSES = {
    "gone": ({A: (0, 10)}, "t-1 is there no more"),
    "shorter": ({A: (0, 10), B: (0, 19)}, "t-1 at 20: its log has 0 to 19"),
    "later": ({A: (0, 10), B: (21, 25)}, "t-1 from 20 on: its log has 21 to 25"),
    "new and late": (
        {A: (0, 10), B: (0, 20), C: (3, 4)},
        "t-2 from 0 on: its log has 3 to 4",
    ),
    "all gone": ({}, r"t-0 is there no more: brokers do not know it \(it was read up to 10\)"),
}


@pytest.mark.parametrize("loss", LOSSES)
def test_a_loss_is_an_error_before_anything_is_written_down(loss: str) -> None:
    """The next start reads on, if the logs are well again: no end was given to Spark."""
    bench = Bench()
    logs, told = LOSSES[loss]
    whole, bench.brokers.logs = bench.brokers.logs, dict(logs)
    with pytest.raises(DataLossException, match=told):
        bench.latest(at(10, 20))
    bench.brokers.logs = whole
    assert bench.restarted().latest(at(10, 20), limited=True) == at(10, 20)


def test_a_recreated_topic_is_a_loss() -> None:
    """Even where its log goes as far by now: its id is another."""
    bench = Bench()
    bench.brokers.ids = {"t": UUID(int=1)}
    assert bench.latest(at(10, 20)) == at(10, 20)
    bench.brokers.ids = {"t": UUID(int=2)}
    bench.clock.time += 5.0
    with pytest.raises(DataLossException, match="'t' was created again"):
        bench.latest(at(10, 20))


@pytest.mark.parametrize("loss", LOSSES)
def test_a_loss_may_be_borne(loss: str, caplog: pytest.LogCaptureFixture) -> None:
    """What is left is read, and the log says what is not."""
    bench = Bench(failOnDataLoss="false")
    bench.brokers.logs = dict(LOSSES[loss][0])
    with caplog.at_level(logging.WARNING, "prokurist"):
        end = bench.latest(at(10, 20))
    assert ("goes on with what its logs have now" in caplog.text) is ("gone" not in loss)
    assert ("its place is kept" in caplog.text) is ("gone" in loss)
    assert "passed over" not in caplog.text
    assert end["t"] == {**at(10, 20)["t"]} | {
        str(tp.partition): last for tp, (_, last) in LOSSES[loss][0].items()
    }
    assert all(first < last for first, last in bench.planned(at(10, 20), end).values())


def test_a_topic_that_is_missing_keeps_its_place(caplog: pytest.LogCaptureFixture) -> None:
    """The others are read on; when it is back it goes on from there, and no row comes twice."""
    bench = Bench(failOnDataLoss="false", subscribe="t,u")
    other = TopicPartition("u", 0)
    bench.brokers.logs[other] = (0, 7)
    start = {"t": {"0": 10, "1": 20}, "u": {"0": 7}}
    assert bench.latest(start) == start
    del bench.brokers.logs[other]
    bench.brokers.logs[A] = (0, 12)
    bench.clock.time += 5.0
    with caplog.at_level(logging.WARNING, "prokurist"):
        end = bench.latest(start)
        assert end == {"t": {"0": 12, "1": 20}, "u": {"0": 7}}
        assert bench.latest(end) == end
    assert caplog.text.count("u-0 is there no more") == 1
    bench.brokers.logs[other] = (0, 9)
    bench.clock.time += 5.0
    later = bench.latest(end)
    assert later == {"t": {"0": 12, "1": 20}, "u": {"0": 9}}
    (piece,) = bench.stream.ranges(end, later)
    assert (piece.partition, piece.start, piece.end) == (other, 7, 9)


def test_a_place_ends_when_its_topic_was_missing_for_long(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """For brokerDownGraceMs; a topic of that name that comes later begins at its beginning."""
    bench = Bench(failOnDataLoss="false", brokerDownGraceMs="20000", subscribe="t,u")
    other = TopicPartition("u", 0)
    start = {"t": {"0": 10, "1": 20}, "u": {"0": 7}}
    assert bench.latest(start) == start
    bench.clock.time += 19.9
    assert bench.latest(start) == start
    bench.clock.time += 0.2
    with caplog.at_level(logging.WARNING, "prokurist"):
        end = bench.latest(start)
    assert end == at(10, 20)
    assert "its place in the stream is dropped" in caplog.text
    bench.brokers.logs[other] = (2, 9)
    bench.clock.time += 5.0
    later = bench.latest(end)
    assert later == {**at(10, 20), "u": {"0": 9}}
    assert [str(each) for each in bench.stream.ranges(end, later)] == ["u-0@2..9"]


@pytest.mark.parametrize("fails", ["true", "false"])
def test_a_selection_that_was_narrowed(fails: str, caplog: pytest.LogCaptureFixture) -> None:
    """What the user takes off the selection is no loss; its place is dropped, as is logged."""
    bench = Bench(failOnDataLoss=fails)
    with caplog.at_level(logging.WARNING, "prokurist"):
        end = bench.latest({**at(7, 20), "gone": {"0": 5}})
    assert end == at(10, 20)
    assert bench.planned(at(7, 20), end) == {0: [7, 10]}
    assert "gone-0 is not among what is read any more" in caplog.text


def test_a_new_partition_whose_records_went_before_a_restart() -> None:
    """B512: a batch of a checkpoint that has it for the first time is read whole, or not."""
    start, end = at(10, 20), {**at(10, 20), "u": {"0": 9}}
    for first, left in ((2, ["u-0@2..9"]), (12, [])):
        for fails in ("true", "false"):
            bench = Bench(subscribe="t,u", failOnDataLoss=fails)
            bench.brokers.logs[TopicPartition("u", 0)] = (first, 15)
            if fails == "true":
                with pytest.raises(DataLossException, match=f"u-0 .*: its log has {first} "):
                    bench.stream.ranges(start, end)
            else:
                assert [str(each) for each in bench.stream.ranges(start, end)] == left


def test_a_name_that_does_not_exist_is_logged_after_a_restart(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """B487: where losses are borne, once a minute, until it exists; a typo is never silent."""
    bench = Bench(subscribe="t,odrers", failOnDataLoss="false")
    with caplog.at_level(logging.WARNING, "prokurist"):
        for _ in range(12):
            assert bench.latest(at(10, 20)) == at(10, 20)
            bench.clock.time += 5.0
        assert caplog.text.count("there is no topic 'odrers'") == 1
        bench.latest(at(10, 20))
        assert caplog.text.count("there is no topic 'odrers'") == 2
        assert "take it off the selection. What is left is read until it exists" in caplog.text
        bench.brokers.logs[TopicPartition("odrers", 0)] = (0, 3)
        bench.clock.time += 5.0
        assert bench.latest(at(10, 20)) == {**at(10, 20), "odrers": {"0": 3}}
    assert "all that the selection names is there again after 65 s" in caplog.text
    assert "is there no more" not in caplog.text


def test_a_new_name_that_does_not_exist() -> None:
    """It is an error, unless losses are borne; then the others are read."""
    bench = Bench(subscribe="t,u")
    with pytest.raises(UnknownTopicOrPartitionException, match="there is no topic 'u'"):
        bench.latest(at(7, 20))
    borne = Bench(subscribe="t,u", failOnDataLoss="false")
    assert borne.latest(at(7, 20)) == at(10, 20)
    with pytest.raises(UnknownTopicOrPartitionException):
        borne.stream.initial()


def test_a_recreated_topic_is_read_from_its_beginning() -> None:
    """Where that is borne; however long its log is by now, and also if it answers later."""
    for length in (3, 10, 99):
        bench = Bench(failOnDataLoss="false")
        bench.brokers.ids = {"t": UUID(int=1)}
        assert bench.latest(at(10, 20)) == at(10, 20)
        bench.brokers.ids = {"t": UUID(int=2)}
        bench.brokers.logs = {A: (0, length), B: (0, 1)}
        bench.brokers.away = {B}
        bench.clock.time += 5.0
        end = bench.latest(at(10, 20))
        assert end["$deferred"] == {"t": {"1": -2}}
        assert bench.planned(at(10, 20), end) == {0: [0, length]}
        bench.brokers.away = set()
        later = bench.latest(end)
        assert bench.planned(end, later) == {1: [0, 1]}


def test_a_recreated_topic_that_ends_where_the_former_did() -> None:
    """Its rows are read all the same: the end that Spark is given is not its start."""
    bench = Bench(failOnDataLoss="false")
    bench.brokers.ids = {"t": UUID(int=1)}
    assert bench.latest(at(10, 20)) == at(10, 20)
    bench.brokers.ids = {"t": UUID(int=2)}
    bench.clock.time += 5.0
    end = bench.latest(at(10, 20))
    assert bench.planned(at(10, 20), end) == {0: [0, 10], 1: [0, 20]}
    assert bench.latest(end) == end


def test_a_topic_recreated_between_a_list_and_a_look_up() -> None:
    """The list is as old as its age; no row of the new log is planned as one of the old."""
    bench = Bench(failOnDataLoss="false")
    bench.brokers.ids = {"t": UUID(int=1)}
    assert bench.latest(at(10, 20)) == at(10, 20)
    bench.brokers.ids = {"t": UUID(int=2)}
    bench.brokers.logs = {A: (0, 15), B: (0, 2)}
    end = bench.latest(at(10, 20))
    assert bench.planned(at(10, 20), end) == {0: [0, 15], 1: [0, 2]}


def test_a_topic_deleted_between_a_list_and_a_look_up() -> None:
    """Within one look, and not after driverDeadlineMs, it is said which."""
    bench = Bench()
    assert bench.latest(at(10, 20)) == at(10, 20)
    bench.brokers.logs = {}
    began = bench.clock.time
    with pytest.raises(DataLossException, match="t-0 is there no more"):
        bench.latest(at(10, 20))
    assert bench.clock.time - began < 10.0
    borne = Bench(failOnDataLoss="false")
    assert borne.latest(at(10, 20)) == at(10, 20)
    del borne.brokers.logs[B]
    borne.brokers.logs[A] = (0, 11)
    assert borne.latest(at(10, 20)) == at(11, 20)


def test_what_is_frozen_keeps_a_place_that_its_list_lacked() -> None:
    """It is read up to where its log ends when a list has it; gone, it stays where it is."""
    bench = Bench(failOnDataLoss="false")
    whole = dict(bench.brokers.logs)
    del bench.brokers.logs[B]
    bench.stream.freeze()
    assert bench.latest(at(7, 12)) == at(10, 12)
    bench.brokers.logs = whole
    bench.clock.time += 5.0
    assert bench.latest(at(10, 12)) == at(10, 20)
    bench.brokers.logs[B] = (0, 25)
    assert bench.latest(at(10, 20)) == at(10, 20)


def test_a_log_that_is_shorter_is_gone_on_with_at_its_end() -> None:
    """Nothing is read of it, and what comes from then on is; as with Spark's own source."""
    bench = Bench(failOnDataLoss="false")
    bench.brokers.logs[B] = (0, 3)
    end = bench.latest(at(10, 20))
    assert end == at(10, 3)
    assert bench.planned(at(10, 20), end) == {}
    bench.brokers.logs[B] = (0, 5)
    assert bench.latest(end) == at(10, 5)
    assert bench.planned(end, at(10, 5)) == {1: [3, 5]}


def test_where_the_logs_ended_is_no_way_back() -> None:
    """`availableNow` may have looked at a leader that knew less than one before it."""
    bench = Bench()
    bench.brokers.logs[B] = (0, 19)
    bench.stream.freeze()
    bench.brokers.logs[B] = (0, 21)
    assert bench.latest(at(10, 20)) == at(10, 20)


@pytest.mark.parametrize("fails", ["true", "false"])
def test_a_place_behind_an_open_transaction_is_kept(fails: str) -> None:
    """B496: with read_committed the end is the last stable offset, and nothing is gone."""
    bench = Bench(startingOffsets="earliest", failOnDataLoss=fails)
    bench.brokers.reads_committed = True
    bench.brokers.unstable[A] = 4
    bench.brokers.logs[B] = (0, 25)
    assert bench.latest(at(10, 20)) == at(10, 25)
    bench.brokers.away = {A}
    assert bench.latest(at(10, 25)) == at(10, 25)
    bench.brokers.away.clear()
    bench.brokers.unstable = {}
    bench.brokers.logs[A] = (0, 12)
    end = bench.latest(at(10, 25))
    assert end == at(12, 25)
    assert bench.planned(at(10, 25), end) == {0: [10, 12]}


def test_a_log_shorter_than_a_place_behind_a_transaction_is_a_loss() -> None:
    """B496: the log itself is cut back, whatever is open in it."""
    bench = Bench(startingOffsets="earliest")
    bench.brokers.reads_committed = True
    bench.brokers.unstable[A] = 4
    bench.brokers.logs[A] = (0, 7)
    with pytest.raises(DataLossException, match="t-0 at 10: its log has 0 to 7"):
        bench.latest(at(10, 20))


def test_a_log_that_seems_shorter_is_looked_at_twice() -> None:
    """A leader that was elected just now does not know its end at once."""
    bench = Bench()
    bench.brokers.logs[B] = (0, 19)
    asked = bench.brokers.ends

    def mended(partitions: Collection[TopicPartition]) -> Mapping[TopicPartition, int]:
        found = asked(partitions)
        bench.brokers.logs[B] = (0, 21)
        return found

    bench.brokers.ends = mended  # type: ignore[method-assign]
    assert bench.latest(at(10, 20)) == at(10, 21)


# --- when no broker answers ------------------------------------------------------------


def test_brokers_that_are_down_are_an_error() -> None:
    """Unless an option says otherwise, and by the deadline of one step."""
    bench = Bench(driverDeadlineMs="2000")
    bench.brokers.down = True
    with pytest.raises(TimeoutException):
        bench.latest(at(10, 20))
    assert bench.clock.time == 102.0


def test_brokers_that_are_down_may_be_borne_for_a_while() -> None:
    """Nothing is read meanwhile, and it goes on by itself; what is too long is an error."""
    bench = Bench(onBrokerDown="skip", brokerDownGraceMs="10000", driverDeadlineMs="2000")
    start = at(10, 20)
    bench.brokers.down = True
    for _ in range(4):
        assert bench.latest(start) == start
    bench.brokers.down = False
    bench.brokers.logs[A] = (0, 11)
    assert bench.latest(start) == at(11, 20)

    bench.brokers.down = True
    for _ in range(4):
        assert bench.latest(start) == start
    with pytest.raises(TimeoutException) as caught:
        bench.latest(start)
    assert "brokerDownGraceMs" in caught.value.__notes__[0]


def test_what_is_frozen_is_never_skipped() -> None:
    """Under `availableNow` nothing read means that all is read."""
    bench = Bench(onBrokerDown="skip", startingOffsets="earliest")
    bench.stream.freeze()
    start = bench.stream.initial()
    bench.brokers.down = True
    with pytest.raises(TimeoutException):
        bench.latest(start)


def test_a_beginning_is_never_skipped() -> None:
    """Where it would be is not known."""
    bench = Bench(onBrokerDown="skip")
    bench.brokers.down = True
    with pytest.raises(TimeoutException):
        bench.stream.initial()


def test_a_loss_is_no_broker_that_is_down() -> None:
    """It is not skipped."""
    bench = Bench(onBrokerDown="skip")
    bench.brokers.logs[B] = (0, 19)
    with pytest.raises(DataLossException):
        bench.latest(at(10, 20))
