"""The id of a client that pushes metrics, and the last push, in virtual time."""

import gc
import weakref
from typing import Any

import pytest

from prokurist import errors
from prokurist.consumer.closing import Closing
from tests.simulation.telemetry import asked, consumer_in, content, fresh, producer_in, pushes
from tests.simulation.world import World

pytestmark = pytest.mark.usefixtures("closed_at_the_end")

# --- client_instance_id ------------------------------------------------------------------


def test_the_instance_id_is_what_the_broker_gave() -> None:
    """B341: it is waited for; once it is known, no time is needed, and it stays."""
    world = fresh(interval=60.0)
    for client in (
        world.consumer(enable_metrics_push=True),
        world.producer(enable_metrics_push=True),
    ):
        known = client.client_instance_id(5.0)
        receiver = world.cluster.state.telemetry
        assert receiver is not None
        assert known in receiver.instances
        assert client.client_instance_id(0) == known
        world.clock.sleep(600.0)
        assert client.client_instance_id(0) == known


def test_no_id_without_the_push_of_metrics() -> None:
    """B341: an illegal state; the timeout is checked first."""
    world = fresh()
    for client in (world.consumer(), world.producer()):
        with pytest.raises(TypeError):
            client.client_instance_id(None)  # type: ignore[arg-type]
        with pytest.raises(ValueError, match="negative"):
            client.client_instance_id(-1)
        with pytest.raises(errors.IllegalStateException, match=r"enable\.metrics\.push"):
            client.client_instance_id(1)
    assert not world.control.requests()


def test_an_id_that_does_not_come_in_time() -> None:
    """B341: TimeoutException at the deadline, which says what was waited for."""
    world = fresh()
    consumer = world.consumer(enable_metrics_push=True)
    with pytest.raises(errors.TimeoutException):
        consumer.client_instance_id(0)
    world.control.freeze(1)
    began = world.clock.now()
    with pytest.raises(errors.TimeoutException, match="telemetry subscription") as late:
        consumer.client_instance_id(3.0)
    assert str(late.value).endswith("To wait longer, pass a larger timeout."), (
        "no key bounds it"
    )
    assert world.clock.now() - began == pytest.approx(3.0)
    world.control.thaw(1)
    assert consumer.client_instance_id(60.0).int


def test_an_id_that_will_not_come() -> None:
    """B341: brokers that take no metrics → UnsupportedVersionException, without waiting."""
    world = World()
    consumer = world.consumer(enable_metrics_push=True)
    began = world.clock.now()
    for _ in range(2):
        with pytest.raises(
            errors.UnsupportedVersionException, match="GetTelemetrySubscriptions"
        ):
            consumer.client_instance_id(60.0)
    assert world.clock.now() - began < 1.0
    # They were upgraded.
    world.control.receive_telemetry()
    world.clock.sleep(301.0)
    assert consumer.client_instance_id(60.0).int


def test_an_id_that_was_refused_for_good() -> None:
    """B341: the refusal, to each call, also once nothing is asked any more."""
    world = fresh()
    producer = world.producer(enable_metrics_push=True)
    with world.control.fail("GetTelemetrySubscriptions", 42, times=1):
        for _ in range(2):
            with pytest.raises(errors.InvalidRequestException):
                producer.client_instance_id(60.0)
    world.clock.sleep(3600.0)
    assert len(asked(world)) == 1


# --- close -------------------------------------------------------------------------------


@pytest.mark.parametrize("make", [consumer_in, producer_in])
def test_close_pushes_once_more(make: Any) -> None:
    """B342: what has happened since the last push, marked as the end."""
    world = fresh(interval=60.0)
    client = make(world)
    world.clock.sleep(95.0)
    assert not any(each.terminating for each in pushes(world))
    client.close(5.0)
    last = pushes(world)[-1]
    assert [each.terminating for each in pushes(world)].count(True) == 1
    assert last.terminating
    before = content(pushes(world)[-2]).sums
    [point] = content(last).sums[next(iter(before))]
    assert point.began == next(iter(before.values()))[0].at
    sent = len(world.control.requests())
    world.clock.sleep(600.0)
    assert len(world.control.requests()) == sent


@pytest.mark.parametrize("make", [consumer_in, producer_in])
@pytest.mark.parametrize(("budget", "longest"), [(30.0, 1.1), (0.5, 0.55), (0, 0.1)])
def test_close_waits_for_no_silent_broker(make: Any, budget: float, longest: float) -> None:
    """B342: a second at most, and never longer than close itself may take."""
    world = fresh(interval=60.0)
    client = make(world)
    client.client_instance_id(5.0)
    with world.control.drop("PushTelemetry"):
        began = world.clock.now()
        client.close(budget)
    assert world.clock.now() - began <= longest


@pytest.mark.parametrize("make", [consumer_in, producer_in])
def test_close_without_time_writes_it_all_the_same(make: Any) -> None:
    """B342: in one turn, on a connection that stands."""
    world = fresh(interval=60.0)
    client = make(world)
    client.client_instance_id(5.0)
    client.close(0)
    world.clock.sleep(1.0)
    assert len(world.control.requests("PushTelemetry")) == 1


def test_close_pushes_nothing_where_nothing_is_wanted() -> None:
    """B342: and takes no turn for it."""
    world = fresh(metrics=[])
    consumer = consumer_in(world)
    consumer.client_instance_id(5.0)
    consumer.close(5.0)
    assert not world.control.requests("PushTelemetry")


def test_an_interrupted_close_pushes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """B342: no more waiting is wanted then."""
    world = fresh(interval=60.0)
    consumer = consumer_in(world)
    consumer.client_instance_id(5.0)

    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(Closing, "_leaving", interrupt)
    with pytest.raises(KeyboardInterrupt):
        consumer.close(5.0)
    assert not world.control.requests("PushTelemetry")


def test_pushing_keeps_no_client_alive() -> None:
    """The source holds it weakly: one that was not closed is collected."""
    world = fresh(interval=60.0)
    consumer = consumer_in(world)
    watched = weakref.ref(consumer._counted)
    # The callback of events reads the same numbers.
    del consumer._counted, consumer._events._metrics
    gc.collect()
    assert watched() is None
    world.clock.sleep(300.0)
    assert not world.control.requests("PushTelemetry")
    consumer._counted = None  # type: ignore[assignment]  # for the end of the test
