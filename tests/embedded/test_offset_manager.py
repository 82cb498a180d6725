"""The manager of offsets against brokers that err, lose and hang on command."""

import pickle
import re
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import pytest

from prokurist import ConfigException, TimeoutException, TopicPartition, errors
from prokurist.events.clock import MonotonicClock
from prokurist.spark import DataLossException, OffsetManager, OffsetPlan
from prokurist.spark.cluster_session import visiting
from prokurist.testing.broker import EmbeddedBroker
from tests.embedded.managing import BEGAN, A, B, C, filled, manager
from tests.stopwatch import Stopwatch

LATE = 1.0
"""What a machine that is shared may take beyond a deadline."""


@pytest.fixture
def kafka(broker: EmbeddedBroker) -> EmbeddedBroker:
    """Brokers with the records."""
    return filled(broker)


@pytest.fixture
def offsets(kafka: EmbeddedBroker) -> OffsetManager:
    """A manager for the group billing."""
    return manager(kafka)


def ranges(plan: OffsetPlan) -> dict[TopicPartition, tuple[int, int]]:
    """What a plan reads."""
    return {tp: (plan.starts[tp], plan.ends[tp]) for tp in plan.partitions}


def test_what_was_planned_and_committed_is_not_planned_again(
    kafka: EmbeddedBroker, offsets: OffsetManager
) -> None:
    """A plan begins where the last commit left the group; until then it is the same again."""
    plan = offsets.plan("orders", start_missing="earliest")
    assert ranges(plan) == {A: (0, 40), B: (0, 10), C: (0, 0)}
    assert ranges(offsets.plan("orders", start_missing="earliest")) == ranges(plan)
    assert offsets.commit(plan) == {A: 40, B: 10, C: 0}
    assert not offsets.plan("orders")
    kafka.append(C, b"one more")
    assert ranges(offsets.plan("orders")) == {A: (40, 40), B: (10, 10), C: (0, 1)}


def test_a_plan_says_what_it_was_made_of(kafka: EmbeddedBroker, offsets: OffsetManager) -> None:
    """The logs, their leaders' epochs and the topics' ids; and it survives its JSON."""
    kafka.delete_records(A, 5)
    kafka.move_leader(B)
    plan = offsets.plan("orders", start="earliest", max_offsets=9, min_partitions=6)
    assert plan.log_starts == {A: 5, B: 0, C: 0}
    assert plan.log_ends == {A: 40, B: 10, C: 0}
    # 9 of 45: 7 of 35 and 2 of 10.
    assert ranges(plan) == {A: (5, 12), B: (0, 2), C: (0, 0)}
    assert plan.leader_epochs == {A: 0, B: 1, C: 0}
    assert list(plan.topic_ids) == ["orders"]
    assert (plan.group, plan.bootstrap_servers) == ("billing", kafka.bootstrap)
    assert len(plan.ranges()) == 6
    assert OffsetPlan.from_json(plan.to_json()) == plan


@pytest.mark.parametrize(
    ("how", "found"),
    [
        ({"start": "earliest"}, {A: (0, 40), B: (0, 10)}),
        ({"start": {A: 7, B: -2}}, {A: (7, 40), B: (0, 10)}),
        ({"start": {A: 7}, "start_missing": "latest"}, {A: (7, 40), B: (10, 10)}),
        ({"start": '{"orders":{"0":7,"1":3}}'}, {A: (7, 40), B: (3, 10)}),
        ({"start": BEGAN + 5 * 60_000}, {A: (5, 40), B: (5, 10)}),
        ({"start": "2023-11-14T22:18:20"}, {A: (5, 40), B: (5, 10)}),
        (
            {"start": BEGAN + 20 * 60_000, "no_record": "latest"},
            {A: (20, 40), B: (10, 10)},
        ),
        (
            {"start": "earliest", "end": datetime.fromtimestamp(BEGAN / 1000 + 120, UTC)},
            {A: (0, 2), B: (0, 2)},
        ),
        ({"start": "earliest", "end": {A: 4, B: -1}}, {A: (0, 4), B: (0, 10)}),
        ({"start": {A: 9, B: 0}, "end": "2023-11-14T22:15"}, {A: (9, 9), B: (0, 2)}),
    ],
    ids=str,
)
def test_a_plan_begins_and_ends_where_it_is_told(
    offsets: OffsetManager, how: dict[str, Any], found: dict[TopicPartition, tuple[int, int]]
) -> None:
    """At offsets, at times, at the ends of the logs."""
    assert ranges(offsets.plan([A, B], **how)) == found


def test_a_plan_may_begin_where_another_group_is(
    kafka: EmbeddedBroker, offsets: OffsetManager
) -> None:
    """And its commit is for its own group."""
    OffsetManager(kafka.bootstrap, "others").commit({A: 30})
    plan = offsets.plan(A, start="committed:others")
    assert ranges(plan) == {A: (30, 40)}
    offsets.commit(plan)
    assert {group: kafka.committed(group)[A].offset for group in ("others", "billing")} == {
        "others": 30,
        "billing": 40,
    }


def test_a_pattern_matches_whole_names(kafka: EmbeddedBroker, offsets: OffsetManager) -> None:
    """As in `subscribe`; and none of Kafka's own topics."""
    kafka.create_topic("orders-eu")
    kafka.create_topic("__orders")
    plan = offsets.plan(re.compile("orders.*|.*orders"), start="earliest")
    assert {tp.topic for tp in plan.partitions} == {"orders", "orders-eu"}
    with pytest.raises(errors.UnknownTopicOrPartitionException, match="no topic's whole name"):
        offsets.plan(re.compile("order"), start="earliest")


@pytest.mark.parametrize(
    ("topics", "how", "error", "why"),
    [
        ("bills", {}, errors.UnknownTopicOrPartitionException, "the topic 'bills' does not ex"),
        (
            TopicPartition("orders", 7),
            {},
            errors.UnknownTopicOrPartitionException,
            "orders-7 does not exist: orders has the partitions 0 to 2",
        ),
        ("orders", {}, errors.NoOffsetForPartitionException, "set start_missing to earliest"),
        ("orders", {"start": "latest"}, ConfigException, "start=latest is not for batches"),
        ("orders", {"end": "earliest"}, ConfigException, "end=earliest would end a batch"),
        ("orders", {"end": "committed"}, ConfigException, "end=committed is no end"),
        (
            "orders",
            {"start": {A: 3}},
            ConfigException,
            "start does not name orders-1, orders-2",
        ),
        ("orders", {"start": BEGAN * 2}, ConfigException, "set no_record to latest"),
        (
            A,
            {"start": {A: 3}, "end": {A: 99}},
            ConfigException,
            "end names 99 for orders-0, wh",
        ),
        (A, {"start": {A: 3}, "end": {A: 2}}, ConfigException, "end has 2 for orders-0, which"),
        (
            A,
            {"on_data_loss": "shrug"},
            ConfigException,
            "on_data_loss is fail, earliest or lat",
        ),
        (A, {"start_missing": "x"}, ConfigException, "start_missing is error or earliest or"),
        (A, {"max_offsets": 0}, ValueError, "max_offsets is a number from 1 on"),
        ([], {}, ValueError, "there are no topics"),
        ([7], {}, TypeError, "topics are names, TopicPartitions or a re.Pattern"),
    ],
)
def test_a_plan_that_makes_no_sense_is_refused(
    offsets: OffsetManager, topics: Any, how: dict[str, Any], error: type[Exception], why: str
) -> None:
    """In the words of `plan`, with the way out."""
    with pytest.raises(error, match=why):
        offsets.plan(topics, **how)


def test_a_name_that_was_mistyped_becomes_no_topic() -> None:
    """Although the broker makes each topic that it is asked for."""
    with EmbeddedBroker(1, {"orders": 1}, auto_create=True) as kafka:
        for _ in range(2):
            with pytest.raises(errors.UnknownTopicOrPartitionException, match="'order'"):
                OffsetManager(kafka.bootstrap, "billing").plan("order", start="earliest")


def test_a_manager_without_a_group_plans_and_does_not_commit(kafka: EmbeddedBroker) -> None:
    """Nor does it begin at what is committed."""
    offsets = OffsetManager(kafka.bootstrap)
    plan = offsets.plan("orders", start="earliest")
    assert plan.group is None
    assert plan
    for call in (
        lambda: offsets.plan("orders"),
        lambda: offsets.commit(plan),
        offsets.lag,
    ):
        with pytest.raises(ConfigException, match="needs a group, and this manager has none"):
            call()


def test_records_that_are_gone_are_not_passed_over_in_silence(
    kafka: EmbeddedBroker, offsets: OffsetManager
) -> None:
    """The plan fails with what is gone; told where to go on, it says what it passed over."""
    offsets.commit({A: 10, B: 3})
    kafka.delete_records(A, 25)
    with pytest.raises(
        DataLossException, match=r"orders-0 from 10 on: its log has 25 to 40, s"
    ):
        offsets.plan([A, B])
    plan = offsets.plan([A, B], on_data_loss="earliest")
    assert ranges(plan) == {A: (25, 40), B: (3, 10)}
    assert [(each.partition, each.wanted, each.beginning) for each in plan.losses] == [
        (A, 10, 25)
    ]
    assert ranges(offsets.plan([A, B], on_data_loss="latest"))[A] == (40, 40)


def test_a_log_that_was_cut_back_is_seen(kafka: EmbeddedBroker, offsets: OffsetManager) -> None:
    """What was committed lies behind its end then."""
    offsets.commit({A: 30})
    kafka.truncate(A, 20)
    with pytest.raises(
        DataLossException, match=r"orders-0 at 30: its log has 0 to 20, so it w"
    ):
        offsets.plan(A)


def test_a_plan_is_checked_before_it_is_used_again(
    kafka: EmbeddedBroker, offsets: OffsetManager
) -> None:
    """It holds while its records are there, regardless of later records."""
    plan = OffsetPlan.from_json(offsets.plan("orders", start="earliest").to_json())
    kafka.append(A, b"later")
    kafka.append(C, b"later")
    # Of this one nothing was to be read.
    kafka.delete_records(C, 1)
    offsets.check(plan)
    kafka.delete_records(B, 4)
    with pytest.raises(DataLossException, match="orders-1 from 0 on") as caught:
        offsets.check(plan)
    assert [each.partition for each in caught.value.losses] == [B]


def test_a_plan_of_a_log_that_was_cut_back_is_no_plan_any_more(
    kafka: EmbeddedBroker, offsets: OffsetManager
) -> None:
    """Its end is not in the log."""
    plan = offsets.plan([A, C], start="earliest")
    kafka.truncate(A, 39)
    with pytest.raises(DataLossException, match="orders-0 at 40: its log has 0 to 39"):
        offsets.check(plan)


def test_a_plan_of_a_recreated_topic_is_invalid(
    kafka: EmbeddedBroker, offsets: OffsetManager
) -> None:
    """Even if it has as many records again: by its id."""
    plan = offsets.plan(B, start="earliest")
    kafka.recreate_topic("orders")
    kafka.append(B, *[b"other"] * 10)
    with pytest.raises(DataLossException, match="orders was deleted and created again since"):
        offsets.check(plan)
    kafka.delete_topic("orders")
    with pytest.raises(errors.UnknownTopicOrPartitionException):
        offsets.check(plan)


def test_a_lag_is_told_for_what_was_committed(
    kafka: EmbeddedBroker, offsets: OffsetManager
) -> None:
    """In all topics, or in those that are named, also where nothing is committed."""
    offsets.commit({A: 15})
    lag = offsets.lag()
    assert {tp: each.records for tp, each in lag.items()} == {A: 25}
    named = offsets.lag(topics="orders")
    assert {tp: each.records for tp, each in named.items()} == {A: 25, B: None, C: None}
    assert OffsetManager(kafka.bootstrap).lag("billing") == lag
    assert offsets.lag("no-such-group") == {}


@pytest.mark.parametrize("call", ["plan", "check", "commit", "lag"])
def test_every_call_ends_by_its_deadline_and_says_why(
    kafka: EmbeddedBroker, offsets: OffsetManager, call: str
) -> None:
    """A broker that is frozen: the error has call, time, broker and each attempt."""
    plan = offsets.plan("orders", start="earliest")
    # As by default a broker has a quarter of the time to answer in. In three seconds one is
    # asked, on a busy machine, too.
    asking = OffsetManager(kafka.bootstrap, "billing", timeout=3.0, per_try=0.75)
    calls: dict[str, Callable[[], object]] = {
        "plan": lambda: asking.plan("orders"),
        "check": lambda: asking.check(plan),
        "commit": lambda: asking.commit(plan),
        "lag": asking.lag,
    }
    kafka.freeze()
    with Stopwatch() as took, pytest.raises(TimeoutException) as caught:
        calls[call]()
    assert took.seconds >= 3.0 - 0.01
    assert took.own < 3.0 + LATE
    assert str(caught.value).startswith(f"OffsetManager.{call} (its ")
    told = re.search(r"was given 3 s and has no result after ([\d.]+) s", str(caught.value))
    assert told is not None
    assert 3.0 - 0.01 <= float(told[1]) <= took.seconds + 0.01
    assert caught.value.timeout == 3.0
    assert "127.0.0.1" in str(caught.value)


def test_a_broker_that_does_not_answer_is_asked_again(
    kafka: EmbeddedBroker, offsets: OffsetManager
) -> None:
    """Within the call's time, `per_try` after `per_try`; the ledger has each of them."""
    impatient = OffsetManager(kafka.bootstrap, "billing", timeout=20.0, per_try=0.3)
    lost = kafka.drop("ListOffsets", times=2)
    plan = impatient.plan("orders", start="earliest")
    assert plan.size == 50
    lost.undo()
    kafka.drop("ListOffsets")
    with pytest.raises(TimeoutException) as caught:
        impatient.plan("orders", start="earliest", timeout=4.0)
    attempts = [each for each in caught.value.attempts if each.request == "ListOffsets"]
    assert len(attempts) >= 3
    assert attempts == sorted(attempts, key=lambda each: each.started)
    assert all(0 <= each.started <= 4.0 + LATE for each in attempts)
    assert caught.value.partitions
    assert offsets.lag() == {}


def test_ends_are_asked_for_after_what_is_committed(
    kafka: EmbeddedBroker, offsets: OffsetManager
) -> None:
    """Else a job that commits meanwhile would look as if its log had been cut back."""
    offsets.commit({A: 10, B: 3, C: 0})
    kafka.forget_requests()
    offsets.plan("orders")
    asked = [each.request.name for each in kafka.requests()]
    assert asked.index("OffsetFetch") < asked.index("ListOffsets")


def test_a_manager_travels_and_shows_no_secret(kafka: EmbeddedBroker) -> None:
    """It holds no client; its repr has the addresses and the group."""
    offsets = pickle.loads(pickle.dumps(OffsetManager(kafka.bootstrap, "billing")))
    assert repr(offsets) == f"OffsetManager({kafka.bootstrap!r}, 'billing')"
    assert offsets.plan("orders", start="earliest").size == 50
    with pytest.raises(ConfigException, match=r"unknown key client\.idd; did"):
        OffsetManager(kafka.bootstrap, client_idd="me")  # type: ignore[call-arg]


def test_twenty_topics_are_one_request() -> None:
    """A plan of many topics costs one Metadata request, and not one for each."""
    topics = {f"topic-{number}": 1 for number in range(20)}
    with EmbeddedBroker(1, topics) as broker:
        keys = {"bootstrap.servers": broker.bootstrap}
        with visiting("plan", keys, 30, MonotonicClock()) as visit:
            visit.partitions("topic-0")
            broker.forget_requests()
            assert len(visit.partitions(topics)) == 20
            assert len(broker.requests("Metadata")) == 1
