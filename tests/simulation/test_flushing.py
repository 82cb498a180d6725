"""flush, purge and close: P46 to P50."""

import logging

import pytest

from prokurist import errors
from prokurist.application.call_runner import TURN
from prokurist.network_thread.thread import Life
from tests.simulation.producing import failure, made, produced, values_of
from tests.simulation.stuck_threads import stuck
from tests.simulation.world import World


def test_flush_with_a_frozen_broker() -> None:
    """P46, B309: it ends at its time and tells what is left; the records go on."""
    world = World()
    producer, sender = made(world, linger_ms=5)
    with producer:
        world.control.freeze()
        deliveries = [
            producer.send("orders", b"v%d" % each, partition=each % 3) for each in range(9)
        ]
        began = world.clock.time
        turns = sender.network.turns
        with pytest.raises(errors.TimeoutException) as raised:
            producer.flush(2.0)
        assert world.clock.time - began == pytest.approx(2.0)
        assert sender.network.turns - turns < 20
        error = raised.value
        assert {each.partition for each in error.partitions} == {0, 1, 2}
        assert [each.request for each in error.attempts] == ["Produce"]
        assert error.may_have_happened
        assert "9 records (" in str(error)
        assert "flush withdraws nothing" in str(error)
        assert not any(each.done() for each in deliveries)
        world.control.thaw()
        producer.flush(5.0)
        assert all(each.offset is not None for each in deliveries)


def test_flush_and_result_tell_why_attempts_were_given_up() -> None:
    """P46: as over a slow link, where connections are made and requests are not answered."""
    world = World()
    producer, _ = made(world, linger_ms=0, request_timeout_ms=1000)
    with producer:
        delivery = producer.send("orders", b"v" * 200_000, partition=0)
        with world.control.drop("Produce"):
            with pytest.raises(errors.TimeoutException) as flushed:
                producer.flush(2.5)
            with pytest.raises(errors.TimeoutException) as waited:
                delivery.result(0.2)
        for raised in (flushed, waited):
            assert isinstance(raised.value.last_error, errors.DisconnectException)
            assert "within request.timeout.ms (1 s)" in str(raised.value)
            assert "Over a slow link, raise request.timeout.ms" in str(raised.value)
        producer.flush(10.0)
        assert delivery.offset is not None


def test_flush_where_one_broker_is_refused() -> None:
    """B390: what waits for it is told with the refusal, though other brokers answer."""
    world = World()
    producer, sender = made(world, linger_ms=0)
    with producer:
        producer.send("orders", b"0", partition=0).result(5.0)
        world.control.freeze()
        producer.send("orders", b"1", partition=0)
        now, reachability = world.clock.time, sender.side.client.reachability
        reachability.failed(errors.SslAuthenticationException("expired"), now)
        reachability.answered_at = now + 1.0
        with pytest.raises(errors.TimeoutException) as raised:
            producer.flush(2.0)
        assert isinstance(raised.value.last_error, errors.SslAuthenticationException)
        assert "SslAuthenticationException: expired" in str(raised.value)
        world.control.thaw()


@pytest.mark.parametrize("call", ["result", "exception"])
def test_the_wait_for_a_record_whose_leader_is_refused(call: str) -> None:
    """B404: it is told with the refusal, as `flush` is; one from before the record is not."""
    world = World()
    producer, sender = made(world, linger_ms=0)
    with producer:
        reachability = sender.side.client.reachability
        reachability.failed(errors.SslAuthenticationException("older"), world.clock.time)
        world.clock.sleep(1.0)
        producer.send("orders", b"0", partition=0).result(5.0)
        world.control.freeze()
        world.clock.sleep(0.1)
        delivery = producer.send("orders", b"1", partition=0)
        with pytest.raises(errors.TimeoutException) as raised:
            getattr(delivery, call)(1.0)
        assert raised.value.last_error is None
        now = world.clock.time
        reachability.failed(errors.SslAuthenticationException("expired"), now)
        reachability.answered_at = now + 1.0
        for waiting in (delivery, producer.send_many("orders", [b"2"], partition=0)):
            with pytest.raises(errors.TimeoutException) as raised:
                getattr(waiting, "result" if waiting is not delivery else call)(1.0)
            assert isinstance(raised.value.last_error, errors.SslAuthenticationException)
            assert "SslAuthenticationException: expired" in str(raised.value)
        world.control.thaw()


def test_flush_of_nothing_is_at_once() -> None:
    """Also where no broker is there."""
    world = World()
    with world.producer() as producer:
        world.control.freeze()
        producer.flush(0)
        producer.flush()


def test_flush_ends_lingering_and_it_comes_back() -> None:
    """B224: what was sent before is sent at once, what comes later lingers again."""
    world = World()
    producer, _ = made(world, linger_ms=2000)
    with producer:
        producer.send("orders", b"v", partition=0)
        began = world.clock.time
        producer.flush(5.0)
        assert world.clock.time - began < 0.01
        late = producer.send("orders", b"w", partition=0)
        world.clock.sleep(1.0)
        assert not late.done()
        world.clock.sleep(1.1)
        assert late.done()


def test_a_record_that_failed_does_not_make_flush_raise() -> None:
    """P47, B226: its handle tells it."""
    world = World()
    producer, _ = made(world, linger_ms=5)
    with producer:
        world.control.fail("Produce", 29, times=1)
        delivery = producer.send("orders", b"v", partition=0)
        producer.flush(5.0)
        assert isinstance(failure(delivery), errors.TopicAuthorizationException)


def test_flush_checks_its_timeout() -> None:
    """Before anything is done."""
    world = World()
    with world.producer() as producer:
        with pytest.raises(ValueError, match="not negative"):
            producer.flush(-1)
        with pytest.raises(TypeError, match="number of seconds"):
            producer.flush("2")  # type: ignore[arg-type]


def test_purge_fails_the_unsent_alone() -> None:
    """P48, B311: what is on the wire goes on, and numbering goes on without a gap."""
    world = World()
    producer, _ = made(world, linger_ms=0)
    with producer:
        producer.send("orders", b"warm", partition=1).result(1.0)
        world.control.hold("Produce")
        sent = producer.send("orders", b"sent", partition=0)
        world.clock.sleep(0.05)
        for _ in range(4):
            producer.send("orders", b"also", partition=1)
            world.clock.sleep(0.01)
        unsent = [producer.send("orders", b"unsent", partition=0) for _ in range(3)]
        assert producer.purge() == 3
        assert all("purged" in str(failure(each)) for each in unsent)
        assert not any(failure(each).may_have_happened for each in unsent)  # type: ignore[attr-defined]
        assert not sent.done()
        world.control.heal()
        assert producer.send("orders", b"next", partition=0).result(5.0).offset == 2
    assert values_of(world) == [b"warm", b"sent", b"next"]


def test_flush_without_any_broker() -> None:
    """B309: nothing was sent, and the error says what connections meet."""
    world = World()
    producer, _ = made(world, linger_ms=0)
    with producer, world.control.kill(1):
        world.clock.sleep(0.1)
        producer.send("orders", b"v", partition=0)
        with pytest.raises(errors.TimeoutException) as raised:
            producer.flush(2.0)
        error = raised.value
        assert not error.may_have_happened
        assert isinstance(error.last_error, errors.KafkaException)
        assert str(error.last_error) in str(error)


def test_close_with_a_frozen_broker(caplog: pytest.LogCaptureFixture) -> None:
    """P49, B310, B236: it returns the count in its time; handles tell what may be there."""
    world = World()
    producer, sender = made(world, linger_ms=0)
    producer.send("orders", b"warm", partition=1).result(1.0)
    world.control.freeze()
    first = producer.send("orders", b"sent", partition=0)
    world.clock.sleep(0.01)
    for _ in range(4):
        producer.send("orders", b"also", partition=1)
        world.clock.sleep(0.01)
    unsent = producer.send("orders", b"unsent", partition=0)
    began = world.clock.time
    with caplog.at_level(logging.ERROR):
        assert producer.close(2.0) == 6
    assert world.clock.time - began <= 2.001
    assert failure(first).may_have_happened  # type: ignore[attr-defined]
    assert not failure(unsent).may_have_happened  # type: ignore[attr-defined]
    assert "6 records undelivered" in caplog.text
    assert sender.side.accumulator.memory.free == sender.side.accumulator.memory.total


def test_one_record_is_told_in_the_singular(caplog: pytest.LogCaptureFixture) -> None:
    """B403: in `flush`, in `close`'s line, and in that of a record that has failed."""
    world = World()
    producer, _ = made(world, enable_idempotence=False, linger_ms=0)
    producer.send("orders", b"warm", partition=0)
    producer.flush(5.0)
    world.control.freeze()
    producer.send("orders", b"unsent", partition=0)
    with pytest.raises(errors.TimeoutException, match=r"1 record \(\d+ bytes\) in 1 par"):
        producer.flush(1.0)
    with caplog.at_level(logging.WARNING):
        assert producer.close(0.5) == 1
    assert "closed with 1 record undelivered" in caplog.text
    assert "failed to deliver 1 record for orders-0" in caplog.text
    assert "1 records" not in caplog.text


@pytest.mark.parametrize(("budget", "reserve"), [(2.0, 0.1), (0.4, 0.1), (0.2, 0.05), (0, 0)])
def test_close_keeps_a_moment_to_tell_of_failures(budget: float, reserve: float) -> None:
    """P49: a tenth of a second, or a quarter; an answer may come until then, and not later."""
    world = World()
    producer, _ = made(world, linger_ms=0)
    world.control.freeze()
    failed: list[float] = []
    began = world.clock.time
    for partition in range(3):
        producer.send(
            "orders",
            b"v",
            partition=partition,
            on_delivery=lambda *_: failed.append(world.clock.time - began),
        )
    assert producer.close(budget) == 3
    assert failed == pytest.approx([budget - reserve] * 3, abs=0.002)
    assert world.clock.time - began < budget + 0.002


def test_close_delivers_what_it_can() -> None:
    """B224, B236: lingering ends, callbacks run, and nothing is given up."""
    world = World()
    producer, _ = made(world, linger_ms=60_000)
    heard: list[int] = []
    producer.send(
        "orders", b"v", partition=0, on_delivery=lambda where, _: heard.append(where.offset)
    )
    began = world.clock.time
    assert producer.close() == 0
    assert world.clock.time - began < 0.1
    assert heard == [1]


def test_close_without_time() -> None:
    """P50, B310: nothing waits, and every handle has ended."""
    world = World()
    producer, _ = made(world, linger_ms=1000)
    deliveries = [producer.send("orders", b"v", partition=each) for each in range(3)]
    began = world.clock.time
    assert producer.close(0) == 3
    assert world.clock.time - began < 0.05
    assert all(each.done() for each in deliveries)
    assert not produced(world)


def test_close_without_time_gives_a_late_thread_its_turn() -> None:
    """P50, B310: a network thread that comes late has ended every handle all the same."""
    world = World()
    producer, sender = made(world, linger_ms=1000)
    heard: list[int] = []
    deliveries = [
        producer.send("orders", b"v", partition=each, on_delivery=lambda *_: heard.append(1))
        for each in range(3)
    ]
    with stuck(sender):
        began = world.clock.time
        world.at(began + 0.05, lambda: setattr(sender.thread, "life", Life.RUNNING))
        assert producer.close(0) == 3
    assert world.clock.time - began == pytest.approx(0.05, abs=0.01)
    assert all(each.done() for each in deliveries)
    assert len(heard) == 3


@pytest.mark.parametrize(("budget", "upto"), [(0, TURN), (1.0, 1.0)])
def test_close_counts_what_a_stuck_thread_has_not_ended(budget: float, upto: float) -> None:
    """B352: it leaves in its time, and counts those whose handles have not ended."""
    world = World()
    producer, sender = made(world, linger_ms=1000)
    deliveries = [producer.send("orders", b"v", partition=each) for each in range(3)]
    with stuck(sender):
        began = world.clock.time
        assert producer.close(budget) == 3
        assert world.clock.time - began == pytest.approx(upto, abs=0.001)
        assert not any(each.done() for each in deliveries)
    world.clock.sleep(0.01)
    assert all(isinstance(failure(each), errors.KafkaException) for each in deliveries)


def test_purge_has_a_time_of_its_own() -> None:
    """B311: by its timeout while the network thread is held up, and nothing is failed then."""
    world = World()
    producer, sender = made(world, linger_ms=1000)
    with producer:
        delivery = producer.send("orders", b"v", partition=0)
        with stuck(sender):
            began = world.clock.time
            with pytest.raises(errors.TimeoutException, match="purge"):
                producer.purge(0.3)
            assert world.clock.time - began == pytest.approx(0.3)
        world.clock.sleep(0.1)
        assert not delivery.done()
        assert producer.purge(0.3) == 1


def test_a_block_that_is_left_by_an_exception() -> None:
    """What is on the wire gets a second; the exception is raised."""
    world = World()
    producer, _ = made(world, linger_ms=5)
    began = world.clock.time
    world.control.freeze()
    producer.send("orders", b"v", partition=0)
    with pytest.raises(ZeroDivisionError), producer:
        raise ZeroDivisionError
    assert world.clock.time - began < 1.1


def test_close_ends_those_who_wait_for_memory() -> None:
    """P9: a blocked `send` raises when another thread closes."""
    world = World()
    producer, _ = made(world, linger_ms=5, buffer_memory=40_000)
    world.control.freeze()
    for number in range(2):
        producer.send("orders", b"x" * 16_000, partition=number)
    world.at(world.clock.time + 0.5, producer._accumulator.close)
    with pytest.raises(errors.IllegalStateException):
        producer.send("orders", b"x" * 16_000, partition=2)
    assert producer.close(0.1) == 2


def test_close_in_a_callback_waits_for_nothing() -> None:
    """B236: it is `close(0)`, and what was not delivered fails."""
    world = World()
    producer, sender = made(world, linger_ms=5)
    given_up: list[int] = []
    took: list[float] = []

    def end(*_: object) -> None:
        began = world.clock.time
        given_up.append(producer.close())
        took.append(world.clock.time - began)

    first = producer.send("orders", b"v", partition=0, on_delivery=end)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(type(sender.side.thread), "is_current", property(lambda _: True))
        world.clock.sleep(0.1)
    assert (given_up, took) == ([0], [0.0])
    assert first.result().offset == 1
    with pytest.raises(errors.IllegalStateException, match="closed"):
        producer.send("orders", b"w", partition=0)
