"""Arguments that can be called back by none."""

from collections.abc import Callable
from typing import Any

import pytest

from prokurist import KafkaProducer
from tests.simulation.world import World

NO_CALLBACK: Any = 5


@pytest.mark.parametrize(
    "call",
    [
        lambda producer: producer.send("orders", b"v", on_delivery=NO_CALLBACK),
        lambda producer: producer.send_many("orders", [b"v"], on_delivery=NO_CALLBACK),
        lambda producer: producer.send_batch("orders", None, on_delivery=NO_CALLBACK),
    ],
    ids=["send", "send_many", "send_batch"],
)
@pytest.mark.parametrize("keys", [{}, {"value_serializer": bytes}], ids=["plain", "serialized"])
def test_a_callback_that_cannot_be_called(
    call: Callable[[KafkaProducer], object], keys: dict[str, Any]
) -> None:
    """B446: it is refused at the call, by its value, and nothing is sent."""
    world = World()
    with world.producer(**keys) as producer:
        with pytest.raises(TypeError, match="it is 5, which is not callable"):
            call(producer)
        producer.flush(1.0)
        assert not world.control.requests("Produce")
