"""A batch that is due in the moment in which it begins."""

import threading
from collections.abc import Callable

from prokurist.events.accumulator.accumulator import RecordAccumulator
from prokurist.events.accumulator.batch import Batch
from prokurist.events.accumulator.buffer_memory import BufferMemory
from prokurist.events.accumulator.implementation import Appender, TopicQueues
from prokurist.events.accumulator.partition_queue import PartitionQueue
from prokurist.events.trace import Trace
from prokurist.producer.sending import Sending


class LetGo:
    """A lock behind which another thread stands.

    Args:
        then: What that does, as soon as it can.
    """

    def __init__(self, then: Callable[[], None]) -> None:
        self._lock = threading.Lock()
        self._then = then

    def __enter__(self) -> None:
        self._lock.acquire()

    def __exit__(self, *_: object) -> None:
        self._lock.release()
        self._then()


def test_a_batch_that_is_taken_at_once_has_its_first_record() -> None:
    """Without linger, the network thread takes it as soon as it is woken."""
    queue = PartitionQueue("t", 0)
    taken: list[Batch | None] = []
    woken: list[bool] = []
    appender = Appender(1000, lambda: 7, ignore_keys=False)
    accumulator = RecordAccumulator(
        appender,
        BufferMemory(10_000),
        batch_size=1000,
        linger=0.0,
        delivery=120.0,
        most=5000,
        largest=5000,
        now=lambda: 1.0,
        wait=lambda _waiter, _until: False,
        wake=lambda: woken.append(True),
    )

    def look() -> None:
        if woken:
            woken.clear()
            taken.extend(accumulator.take(each) for each in accumulator.due(1.0))

    appender.lock = LetGo(look)  # type: ignore[assignment]
    appender.topics["t"] = topic = TopicQueues("t")
    topic.queues = [queue]
    topic.sticky = queue
    topic.is_used = False
    sending = Sending(accumulator, lambda: None, 1.0, lambda: True, Trace())  # type: ignore[arg-type,return-value]
    heard: list[object] = []
    for number in (1, 2):
        value = b"%d" % number * 500 * number
        delivery = sending.send(
            "t", value, None, b"\0", None, 7, lambda *told: heard.append(told)
        )
        batch = taken[-1]
        assert batch is not None
        assert batch.count == 1
        assert value in batch.body()
        assert len(batch.callbacks) == 1
        assert delivery.timestamp == 7
        assert batch.is_ready == (number == 2)
    assert len(taken) == 2
    assert topic.is_used
    assert topic.sticky_bytes == sum(each.payload for each in taken if each is not None)
