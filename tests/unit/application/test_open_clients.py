"""Which clients are open, and by which names."""

import gc
from types import SimpleNamespace
from typing import Any, cast

from prokurist.application.caller_counters import CallerCounters, ClosedClients
from prokurist.application.open_clients import OpenClients
from prokurist.consumer.consumer_counters import CountedConsumer
from prokurist.events.counter_types import Family


def client(client_id: str) -> CountedConsumer:
    """One that has nothing but a name."""
    side = cast("Any", SimpleNamespace(client_id=client_id))
    nothing = cast("Any", None)
    return CountedConsumer(nothing, side, nothing, Family(nothing))


def names(clients: OpenClients[CountedConsumer]) -> list[str]:
    """By which those go that are open."""
    return [name for name, _ in clients.all()]


def test_two_with_one_id_have_two_names() -> None:
    """The younger one's has a number, which is free again when it is gone."""
    clients = OpenClients[CountedConsumer]()
    first, second, third = (client("orders") for _ in range(3))
    assert [clients.add(each) for each in (first, second, third)] == [
        "orders",
        "orders (2)",
        "orders (3)",
    ]
    clients.remove(second)
    assert names(clients) == ["orders", "orders (3)"]
    fourth = client("orders")
    assert clients.add(fourth) == "orders (2)"
    assert repr(clients) == "OpenClients(3)"


def test_an_unclosed_one_is_gone_when_it_is_collected() -> None:
    """The list keeps no client alive."""
    clients = OpenClients[CountedConsumer]()
    clients.add(client("left behind"))
    gc.collect()
    assert names(clients) == []
    kept = client("left behind")
    assert clients.add(kept) == "left behind"


def test_closed_clients_are_counted_together() -> None:
    """Their phases, by name."""
    closed = ClosedClients()
    for seconds in (0.1, 0.3):
        counters = CallerCounters()
        counters.closing.of("leave").observe(seconds)
        closed.add(counters)
    assert closed.phases.children["leave"].count == 2
    assert closed.phases.children["leave"].total == 0.4
    assert repr(closed) == "ClosedClients(2)"
