"""Rows of workers: records in hand, and what became of the others.

Thread: any.
"""

from collections.abc import Callable, Iterator

from prokurist.events.work_counters import WorkCounters
from prokurist.metrics.metric import Metric, Value, counter, gauge, histogram
from prokurist.metrics.reading import ConsumerReading


def number(of: Callable[[WorkCounters], int]) -> Callable[[ConsumerReading], Iterator[Value]]:
    """A number of the workers; no value without workers."""

    def read(at: ConsumerReading) -> Iterator[Value]:
        if (its := at.client.workers) is not None:
            yield (), of(its)

    return read


def results(at: ConsumerReading) -> Iterator[Value]:
    """Attempts by result."""
    if (its := at.client.workers) is not None:
        for result, each in its.results.children.items():
            yield (result,), each.number


def seconds(at: ConsumerReading) -> Iterator[Value]:
    """Durations of attempts."""
    if (its := at.client.workers) is not None:
        yield (), its.seconds


ROWS: tuple[Metric[ConsumerReading], ...] = (
    gauge(
        "prokurist_workers_running",
        "Records that workers are working on.",
        number(lambda its: its.running),
    ),
    gauge(
        "prokurist_workers_queued",
        "Records that wait for a worker, or for one before them with the same key.",
        number(lambda its: its.queued),
    ),
    gauge(
        "prokurist_workers_waiting",
        "Records that have failed and wait for their next attempt.",
        number(lambda its: its.waiting),
    ),
    gauge(
        "prokurist_workers_bytes",
        "Bytes of keys and values of the records that workers have in hand.",
        number(lambda its: its.bytes),
    ),
    counter(
        "prokurist_workers_attempts_total",
        "Attempts of workers, by result: done; retried, where another follows; dead, with a "
        "dead letter; failed, which ends the run; given_up, of a partition that has gone.",
        results,
        "result",
    ),
    histogram(
        "prokurist_workers_attempt_seconds",
        "How long attempts of workers took, without pauses and dead letters.",
        seconds,
    ),
)
