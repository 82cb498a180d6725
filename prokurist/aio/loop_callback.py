"""Delivery callbacks on the event loop of the task that sent.

Thread: the network thread calls; the callback runs on the loop's.
"""

from asyncio import AbstractEventLoop, iscoroutinefunction
from contextvars import copy_context
from functools import partial
from weakref import ref

from prokurist.errors import KafkaException
from prokurist.events.accumulator.record_metadata import OnDelivery, RecordMetadata
from prokurist.events.loop_wakes import wakes_of


def in_loop(callback: OnDelivery, loop: AbstractEventLoop) -> OnDelivery:
    """Make a callback that has the user's called on a loop, in the context of now.

    The loop is woken once for all that end together. A loop that was closed is told nothing.

    Raises:
        TypeError: It is a coroutine function, and nothing would await it.
    """
    if iscoroutinefunction(callback):
        raise TypeError(
            f"on_delivery is a plain function, not the coroutine function {callback!r}: await "
            f"the delivery in a task of yours instead"
        )
    wakes, context, known = wakes_of(loop), copy_context(), ref(loop)

    def call(metadata: RecordMetadata, error: KafkaException | None) -> None:
        try:
            context.run(callback, metadata, error)
        except Exception as raised:  # noqa: BLE001 - the user's own code
            told = known()
            if told is not None:
                text = f"delivery callback {callback!r} raised"
                told.call_exception_handler({"message": text, "exception": raised})

    def put(metadata: RecordMetadata, error: KafkaException | None) -> None:
        wakes.put(partial(call, metadata, error))

    return put
