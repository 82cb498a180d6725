"""The engine of the admin client: items, repetitions, deadlines, and silent brokers."""

import pickle
from typing import Any

import pytest

from prokurist.admin import KafkaAdmin, NewTopic
from prokurist.errors import (
    AdminException,
    IllegalStateException,
    InvalidReplicationFactorException,
    InvalidTopicException,
    KafkaException,
    ThrottlingQuotaExceededException,
    TimeoutException,
    TopicExistsException,
    UnknownTopicOrPartitionException,
)
from tests.simulation.world import World

pytestmark = pytest.mark.usefixtures("closed_at_the_end")


def made(nodes: int = 3, **keys: Any) -> tuple[World, KafkaAdmin]:
    """A world, and an admin client that knows its brokers."""
    world = World(nodes=nodes)
    admin = world.admin(**keys)
    admin.describe_cluster()
    admin.create_topic("warm", 1, wait=True)
    world.control.forget_requests()
    return world, admin


def error_of(call: Any) -> KafkaException:
    """The error that a call raises, which it must."""
    with pytest.raises(KafkaException) as raised:
        call()
    return raised.value


def asked(world: World, api: Any = "CreateTopics") -> list[int]:
    """The brokers that were asked, in order."""
    return [each.node for each in world.control.requests(api)]


def test_each_item_has_its_own_outcome() -> None:
    """B600: of three topics one is refused; two are made, and the error names the third."""
    world, admin = made()
    results = admin.create_topics(
        {"a": NewTopic(2), "b": NewTopic(1, 9), "c": NewTopic(1)}, timeout=10
    )
    assert {"a", "c"} <= world.cluster.state.topics.keys()
    assert list(results) == ["a", "b", "c"]
    assert results["a"].partitions == 2
    assert isinstance(results.errors["b"], InvalidReplicationFactorException)
    assert results.succeeded.keys() == {"a", "c"}
    with pytest.raises(InvalidReplicationFactorException):
        results["b"]
    with pytest.raises(InvalidReplicationFactorException):
        dict(results)
    with pytest.raises(
        AdminException, match="create_topics: 1 of 3 failed: b: Invalid"
    ) as all_:
        results.check()
    assert all_.value.errors.keys() == {"b"}
    assert not all_.value.may_have_happened
    again = pickle.loads(pickle.dumps(all_.value))
    assert str(again) == str(all_.value)
    assert again.errors.keys() == {"b"}


@pytest.mark.parametrize("lost", ["cut", "drop"])
def test_a_lost_answer_is_judged(lost: str) -> None:
    """B601: the repetition says "exists"; the topic fits, so it was this call's own."""
    world, admin = made(request_timeout_ms=2_000)
    fault = world.control.cut if lost == "cut" else world.control.drop
    fault("CreateTopics", times=1, applied=True)
    topic = admin.create_topic("a", 4, 2, configs={}, timeout=10)
    assert topic.earlier_attempt
    assert (topic.partitions, topic.replication_factor) == (4, 2)
    assert topic.topic_id == world.cluster.state.topics["a"].id
    assert len(asked(world)) == 2


def test_a_topic_of_another_is_told_from_the_own_one() -> None:
    """B601: with other partitions it is not this call's: the error names both."""
    world, admin = made()
    world.control.create_topic("a", 7)
    world.control.cut("CreateTopics", times=1)
    error = error_of(lambda: admin.create_topic("a", 4, timeout=10))
    assert isinstance(error, TopicExistsException)
    assert "7 partitions where 4 were asked for" in str(error)
    assert not error.may_have_happened


def test_an_error_without_a_lost_answer_is_not_judged() -> None:
    """B601: nothing was lost: the topic exists, and that is an error."""
    world, admin = made()
    error = error_of(lambda: admin.create_topic("warm", 1))
    assert isinstance(error, TopicExistsException)
    assert not error.may_have_happened
    assert len(asked(world)) == 1


def test_items_of_a_silent_broker_fail_at_the_deadline_with_their_ledger() -> None:
    """B602: no answer comes: each item has its own error, and may have happened."""
    world, admin = made()
    world.control.drop("CreateTopics", times=None, applied=True)
    began = world.clock.time
    results = admin.create_topics({"a": NewTopic(1), "b": NewTopic(1)}, timeout=3)
    assert world.clock.time - began == pytest.approx(3, abs=0.1)
    for name, error in results.errors.items():
        assert isinstance(error, TimeoutException)
        assert error.may_have_happened
        assert error.item == name
        assert f"create_topics for {name} was given 3 s" in str(error)
        assert [each.request for each in error.attempts] == ["CreateTopics"]


def test_no_time_is_no_request() -> None:
    """B603: a timeout of 0 sends nothing, and nothing may have happened."""
    world, admin = made()
    error = error_of(lambda: admin.create_topic("a", 1, timeout=0))
    assert isinstance(error, TimeoutException)
    assert not error.may_have_happened
    assert not asked(world)


def test_a_change_goes_to_a_broker_that_answers() -> None:
    """B604: one of three is frozen, with its connection up; the change goes through another."""
    for number in (1, 2, 3):
        world, admin = made()
        world.control.freeze(number)
        began = world.clock.time
        assert admin.create_topic("a", 1, timeout=5).topic_id is not None
        assert world.clock.time - began < 4
        assert number not in asked(world)
        assert len(asked(world)) == 1


def test_a_question_passes_over_a_silent_broker() -> None:
    """B604: a third of the time, at most; then another broker is asked."""
    for number in (1, 2, 3):
        world, admin = made()
        world.control.freeze(number)
        began = world.clock.time
        assert "warm" in admin.list_topics(timeout=3)
        assert world.clock.time - began < 1.2


def test_the_only_broker_is_waited_for() -> None:
    """B604: where no other is left, a slow one has as long as there is time."""
    world, admin = made(nodes=1)
    world.control.delay("Metadata", 8.0, times=1)
    assert "warm" in admin.list_topics(timeout=10)
    assert len(asked(world, "Metadata")) == 1


def test_not_controller_is_asked_of_the_controller() -> None:
    """B605: brokers before KRaft answer NOT_CONTROLLER; the controller of Metadata follows."""
    world, admin = made()
    controller = world.cluster.state.controller()
    for number in {1, 2, 3} - {controller}:
        world.control.fail("CreateTopics", 41, node=number, times=None)
    for name in ("a", "b", "c", "d"):
        assert admin.create_topic(name, 1, timeout=5).topic_id is not None
    assert asked(world).count(controller) == 4


def test_a_quota_is_waited_for_if_it_fits() -> None:
    """B606: THROTTLING_QUOTA_EXCEEDED is tried again after the throttle time."""
    world, admin = made(nodes=1)
    world.control.throttle("CreateTopics", 4.0, times=1)
    world.control.fail("CreateTopics", 89, times=1)
    began = world.clock.time
    assert admin.create_topic("a", 1, timeout=10).topic_id is not None
    assert 4.0 <= world.clock.time - began < 5.0


def test_a_quota_that_does_not_fit_fails_at_once_with_the_seconds() -> None:
    """B606: later than the deadline: the item fails, with the seconds."""
    world, admin = made(nodes=1)
    world.control.throttle("CreateTopics", 30.0, times=1)
    world.control.fail("CreateTopics", 89, times=1)
    began = world.clock.time
    error = error_of(lambda: admin.create_topic("a", 1, timeout=10))
    assert isinstance(error, ThrottlingQuotaExceededException)
    assert "30 s" in str(error)
    assert not error.may_have_happened
    assert world.clock.time - began < 1


def test_visible_everywhere() -> None:
    """B607: `wait=True` returns when all live brokers know the topic; without time, False."""
    world, admin = made()
    world.control.delay_metadata(2.0, node=3)
    began = world.clock.time
    assert admin.create_topic("a", 2, wait=True, timeout=10).visible is True
    assert 2.0 <= world.clock.time - began < 4.0
    results = admin.create_topics({"b": NewTopic(2)}, wait=True, timeout=1)
    assert results["b"].visible is False
    assert admin.create_topic("c", 1).visible is None


def test_an_uncertain_refusal_may_have_happened() -> None:
    """B602: REQUEST_TIMED_OUT and UNKNOWN_SERVER_ERROR do not say that nothing was done."""
    world, admin = made(nodes=1)
    world.control.fail("CreateTopics", -1, times=1)
    assert error_of(lambda: admin.create_topic("a", 1)).may_have_happened
    world.control.fail("CreateTopics", 7, times=1)
    assert admin.create_topic("b", 1).topic_id is not None


def test_closing_ends_calls_item_by_item() -> None:
    """B608: `close` by another thread: items fail, and say whether they may have happened."""
    world, admin = made()
    world.control.drop("CreateTopics", times=None)
    world.at(world.clock.time + 1.0, lambda: admin.close(0))
    results = admin.create_topics({"a": NewTopic(1)}, timeout=20)
    error = results.errors["a"]
    assert isinstance(error, IllegalStateException)
    assert error.may_have_happened
    assert isinstance(error_of(admin.list_topics), IllegalStateException)
    admin.close()


def test_nothing_in_reach_is_a_deadline_with_the_reason() -> None:
    """B602: all brokers are gone: each item says that nothing was sent, and why."""
    world, admin = made()
    for number in (1, 2, 3):
        world.control.kill(number)
    error = error_of(lambda: admin.create_topic("a", 1, timeout=3))
    assert isinstance(error, TimeoutException)
    assert not error.may_have_happened
    assert error.last_error is not None


def test_descriptions_and_lists() -> None:
    """B609: a topic that is not there is the error of that item alone."""
    world, admin = made()
    world.control.create_topic("a", 3)
    admin.create_topic("b", 2, 3, wait=True)
    found = admin.describe_topics(["a", "nope", "b"])
    assert len(found["a"].partitions) == 3
    assert isinstance(found.errors["nope"], UnknownTopicOrPartitionException)
    by_id = found["b"].topic_id
    assert by_id is not None
    assert admin.describe_topics([by_id])[by_id].name == "b"
    assert admin.list_topics().keys() >= {"a", "b", "orders", "warm"}
    assert not found["b"].leaderless
    assert not found["b"].under_replicated


@pytest.mark.parametrize(
    ("call", "text"),
    [
        (lambda admin: admin.create_topics(["a"]), "given as a mapping"),
        (lambda admin: admin.create_topics({"a": 3}), "topic a is a NewTopic, not 3"),
        (lambda admin: admin.create_topics({"": NewTopic(1)}), "one is empty"),
        (lambda admin: admin.create_topic("a", 0), "partitions is at least 1"),
        (lambda admin: admin.create_topic("a", True), "partitions is an int"),
        (lambda admin: admin.create_topic("a", configs={"k": 1}), "k in configs is a str"),
        (lambda admin: admin.create_topic("a", 1, replicas={0: [1]}), "leave out partitions"),
        (lambda admin: admin.create_topic("a", replicas={1: [1]}), "without a gap"),
        (lambda admin: admin.create_topic("a", replicas={0: [1, 1]}), "each broker once"),
        (lambda admin: admin.delete_topics("a"), "given as a collection"),
        (lambda admin: admin.delete_topics([3]), "named by str, not 3"),
        (lambda admin: admin.create_partitions({"a": None}), "total is an int"),
        (lambda admin: admin.list_topics(timeout=-1), "-1"),
    ],
)
def test_bad_input_is_refused_in_a_sentence(call: Any, text: str) -> None:
    """B610: before anything is asked."""
    world, admin = made(nodes=1)
    with pytest.raises((TypeError, ValueError), match=text):
        call(admin)
    assert not world.control.requests()


def test_an_invalid_name_is_the_brokers_word() -> None:
    """B600: the text is the broker's."""
    _, admin = made(nodes=1)
    error = error_of(lambda: admin.create_topic("a b", 1))
    assert isinstance(error, InvalidTopicException)


def test_a_connection_that_ends_is_no_lost_answer_where_nothing_was_written() -> None:
    """B601: cut before the write, the repetition is the first."""
    world, admin = made()
    world.control.disconnect()
    topic = admin.create_topic("a", 1, timeout=5)
    assert not topic.earlier_attempt
