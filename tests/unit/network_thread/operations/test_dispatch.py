"""Dispatch: each event of each client has exactly one taker."""

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any, get_args

import pytest

from prokurist.config import ConsumerConfig, ProducerConfig
from prokurist.errors import InvalidGroupIdException
from prokurist.events.application_events import (
    Close,
    ConsumerEvent,
    GroupEvent,
    ListTopics,
    LookUpTopic,
    Polled,
    ProducerEvent,
    TelemetryEvent,
    Withdraw,
)
from prokurist.events.call import Call
from prokurist.events.clock import Deadline
from prokurist.network_thread.operations.calls import Calls
from prokurist.network_thread.operations.dispatch import Dispatch, Handlers, WithoutGroup
from prokurist.network_thread.operations.timer import Timer
from tests.simulation.world import World

COMMON = {LookUpTopic, ListTopics, Withdraw}
"""The events of every client; the thread itself takes Close."""


class Taker:
    """A manager that takes what a test gives it."""

    def __init__(self, handlers: Handlers) -> None:
        self._handlers = handlers

    def handlers(self) -> Handlers:
        """Return them."""
        return self._handlers


def call(operation: str = "committed") -> Call:
    """A call with a minute."""
    return Call(operation, 0.0, Deadline(60.0))


@pytest.mark.parametrize(
    "keys",
    [
        {"group_id": None},
        {"group_id": "g", "group_protocol": "classic"},
        {"group_id": "g", "group_protocol": "consumer"},
        {"group_id": "g", "enable_metrics_push": False},
    ],
    ids=str,
)
def test_each_event_of_a_consumer_has_one_taker(keys: dict[str, Any]) -> None:
    """With and without a group, by both protocols, with and without telemetry."""
    config = ConsumerConfig(bootstrap_servers="h:1", **keys)
    taken = World().join(config).side.dispatch.events
    wanted = {*COMMON, *get_args(ConsumerEvent)}
    if config.enable_metrics_push:
        wanted |= set(get_args(TelemetryEvent))
    assert taken == wanted - {Close}


@pytest.mark.parametrize("idempotent", [True, False])
def test_each_event_of_a_producer_has_one_taker(*, idempotent: bool) -> None:
    """A producer takes its own events, those of every client, and those of telemetry."""
    config = ProducerConfig(
        bootstrap_servers="h:1", enable_idempotence=idempotent, enable_metrics_push=True
    )
    taken = World().join_producer(config).side.dispatch.events
    assert taken == {*COMMON, *get_args(ProducerEvent), *get_args(TelemetryEvent)}


def test_a_second_taker_of_an_event_is_refused() -> None:
    """Which of two managers takes an event is never a matter of order."""
    dispatch = Dispatch(Calls(Timer(0.0)))
    handler: Callable[[Any], None] = lambda _: None  # noqa: E731 - one of the table's
    dispatch.register(Taker({Polled: handler}))
    with pytest.raises(AssertionError, match="Polled has a second taker"):
        dispatch.register(Taker({Polled: handler}))


def test_an_event_without_a_taker_ends_the_thread() -> None:
    """It is a bug: passed over in silence, its caller would wait until its deadline."""
    with pytest.raises(AssertionError, match="no manager takes Polled"):
        Dispatch(Calls(Timer(0.0))).take(Polled(call("poll")))


def test_an_operation_that_a_handler_returns_answers_the_call() -> None:
    """The handler has it begun by `Calls`, which ends it at the deadline."""
    dispatch = Dispatch(Calls(Timer(0.0)))

    async def answer() -> int:
        return 5

    dispatch.register(Taker({ListTopics: lambda _: answer()}))
    asked = call("list_topics")
    dispatch.take(ListTopics(asked))
    assert asked.result() == 5


@pytest.mark.parametrize("event", get_args(GroupEvent))
def test_without_a_group_its_events_are_refused(event: type[Any]) -> None:
    """B51: at once, and the error names the key."""
    refused = WithoutGroup().handlers()[event]
    asked = call()
    refused(SimpleNamespace(call=asked))
    with pytest.raises(InvalidGroupIdException, match=r"group\.id"):
        asked.result()
