"""The end of a consumer of a real Kafka: awake, frozen, refused."""

import gc
import math
import os
import threading

import psutil
import pytest

from prokurist import KafkaConsumer, OffsetAndMetadata, errors
from prokurist.network_thread.thread import NetworkThread
from prokurist.testing.kafka import RealKafka
from tests.broker.conftest import Asking, Ours
from tests.broker.watching import LATE, Watch, after
from tests.every_call import ALL, TP

pytestmark = pytest.mark.kafka

AT_5 = {TP: OffsetAndMetadata(5)}


def descriptors() -> int:
    """How many this process has open; a wake pipe lives as long as who may still wake."""
    gc.collect()
    return psutil.Process().num_fds()


def test_a_closed_consumer_refuses_every_call(ours: Ours) -> None:
    """B176, B173: a second close is none; anything else is IllegalState."""
    consumer = ours()
    consumer.close()
    consumer.close()
    consumer.wakeup()
    for name, call in ALL.items():
        if name != "close":
            with pytest.raises(errors.IllegalStateException, match=f"^{name} of a client"):
                call(consumer, 1)


def test_leaving_a_with_block_closes_it(orders: RealKafka) -> None:
    """B177, B184: what is under way is waited for, its callback runs."""
    told: list[object] = []
    with KafkaConsumer(bootstrap_servers=orders.bootstrap, group_id="with") as consumer:
        consumer.commit_async(AT_5, lambda offsets, error: told.append((offsets, error)))
    assert told == [(AT_5, None)]
    assert not consumer.health().alive


@pytest.mark.parametrize("fault", ["frozen", "refused"])
@pytest.mark.parametrize("timeout", [0, 0.4, math.inf, None])
def test_close_ends_in_time_with_the_broker_gone(
    ours: Ours, orders: RealKafka, eventually: Asking, fault: str, timeout: float | None
) -> None:
    """B179, B181, B182, B184: by the timeout, by `request.timeout.ms` at the latest."""
    consumer = ours(request_timeout_ms=600)
    if fault == "frozen":
        orders.freeze()
    else:
        orders.proxy().refuse()
        orders.proxy().reset()
    told: list[object] = []
    consumer.commit_async(AT_5, lambda _, error: told.append(error))
    with Watch(0.0, min(30 if timeout is None else timeout, 0.6) + LATE):
        consumer.close(timeout)
    assert [type(error) for error in told] == [errors.RetriableCommitFailedException]
    # Who closes waits for the thread no longer than he may.
    eventually(lambda: not consumer.health().alive)


def work_and_close(kafka: RealKafka, group: str) -> None:
    """One consumer's whole life, with a connection of each lane."""
    with KafkaConsumer(bootstrap_servers=kafka.bootstrap, group_id=group) as consumer:
        consumer.commit_sync(AT_5, timeout=20)
        assert consumer.end_offsets(TP, timeout=20) == {TP: 0}


def test_nothing_is_left(orders: RealKafka, eventually: Asking) -> None:
    """B190: no thread, no socket, no descriptor, after ten consumers that worked."""
    threads, files = set(threading.enumerate()), descriptors()
    for number in range(10):
        work_and_close(orders, f"left-{number}")
    assert set(threading.enumerate()) <= threads
    # The proxy's ends are this process's too, and close when it hears of ours.
    eventually(lambda: descriptors() <= files)


def test_a_constructor_that_fails_leaves_nothing(
    orders: RealKafka, eventually: Asking, monkeypatch: pytest.MonkeyPatch
) -> None:
    """B191, B268: a value that cannot be, a pipe or a thread that the system refuses."""
    threads, files = set(threading.enumerate()), descriptors()

    def refused(*_: object, **__: object) -> None:
        raise RuntimeError("can't start new thread")

    def no_pipe(*_: object, **__: object) -> None:
        raise OSError(24, "Too many open files")

    for _ in range(3):
        with pytest.raises(errors.ConfigException):
            KafkaConsumer(bootstrap_servers=orders.bootstrap, group_id="g", retries_=3)  # type: ignore[call-arg]
        with monkeypatch.context() as patch:
            patch.setattr(NetworkThread, "start", refused)
            with pytest.raises(RuntimeError, match="new thread"):
                KafkaConsumer(bootstrap_servers=orders.bootstrap, group_id="g")
        with monkeypatch.context() as patch:
            patch.setattr(os, "pipe", no_pipe)
            with pytest.raises(OSError, match="Too many open files"):
                KafkaConsumer(bootstrap_servers=orders.bootstrap, group_id="g")
    assert set(threading.enumerate()) <= threads
    eventually(lambda: descriptors() <= files)


@pytest.mark.mortal
def test_a_bug_ends_every_call_and_close_works(
    ours: Ours, orders: RealKafka, caplog: pytest.LogCaptureFixture
) -> None:
    """B267: a waiting call hears of it at once, with the cause, and so does each later call."""
    consumer = ours()
    orders.freeze()
    nothing: list[None] = []
    side = consumer._side
    assert side is not None

    def bug() -> None:
        side.timer.after(0.0, "a bug", nothing.pop)
        side.client._network.wake()

    with (
        Watch(0.2),
        after(0.2, bug),
        pytest.raises(errors.NetworkThreadDiedException) as caught,
    ):
        consumer.committed(TP, timeout=25)
    assert type(caught.value.__cause__) is IndexError
    for name, call in ALL.items():
        if name in ("committed", "poll", "list_topics"):
            with Watch(0.0), pytest.raises(errors.NetworkThreadDiedException):
                call(consumer, 25)
    with Watch(0.0):
        consumer.close()
    assert "died of a bug" in caplog.text
