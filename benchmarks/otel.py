"""Cost of OpenTelemetry for a record: `python benchmarks/otel.py`.

A producer and a consumer in virtual time send and read records of 100 bytes. What differs
between the ways is what tracing costs, for the model of the brokers is the same. The ways have
their turns within each round, in CPU seconds of the process, so that a busy machine changes
little. Spans that are recorded are dropped when they end: an exporter has costs of its own.
"""

import statistics
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from data_files import Conditions
from opentelemetry.metrics import NoOpMeterProvider
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import InMemoryMetricReader
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.sampling import ALWAYS_OFF
from opentelemetry.trace import NoOpTracerProvider

sys.path.insert(0, str(Path(__file__).parents[1]))

import prokurist.otel
from tests.simulation.reading import A, reader
from tests.simulation.world import World

RECORDS: Final = 5000
ROUNDS: Final = 7
VALUE: Final = bytes(100)

WAYS: Final[dict[str, Callable[[], dict[str, object]] | None]] = {
    "off": None,
    "API without an SDK": lambda: {
        "tracer_provider": NoOpTracerProvider(),
        "meter_provider": NoOpMeterProvider(),
    },
    "metrics alone": lambda: {
        "tracer_provider": NoOpTracerProvider(),
        "meter_provider": MeterProvider([InMemoryMetricReader()]),
    },
    "spans sampled out": lambda: {
        "tracer_provider": TracerProvider(sampler=ALWAYS_OFF),
        "meter_provider": MeterProvider([InMemoryMetricReader()]),
    },
    "spans recorded": lambda: {
        "tracer_provider": TracerProvider(),
        "meter_provider": MeterProvider([InMemoryMetricReader()]),
    },
}


@contextmanager
def way(name: str) -> Iterator[None]:
    """Have clients that are built meanwhile watched in this way."""
    made = WAYS[name]
    if made is None:
        yield
        return
    prokurist.otel.instrument(**made())  # type: ignore[arg-type]
    try:
        yield
    finally:
        prokurist.otel.uninstrument()


def turn() -> dict[str, float]:
    """Microseconds of each step for a record."""
    world, taken = World(), {}
    with world.producer(linger_ms=5) as sender:
        sender.send("orders", VALUE, partition=0).result()
        began = time.process_time()
        for _ in range(RECORDS):
            sender.send("orders", VALUE, b"key", partition=0)
        sender.flush()
        taken["send"] = time.process_time() - began
        began = time.process_time()
        sender.send_many("orders", [VALUE] * RECORDS, partition=1)
        sender.flush()
        taken["send_many"] = time.process_time() - began
    with reader(world, A) as client:
        began, records = time.process_time(), []
        while len(records) <= RECORDS:
            records += client.poll(1.0)
        taken["poll"] = time.process_time() - began
        began = time.process_time()
        for record in records:
            with prokurist.otel.process(record):
                pass
        taken["process"] = time.process_time() - began
    return {step: seconds / RECORDS * 1e6 for step, seconds in taken.items()}


def main() -> None:
    """Print a table."""
    rounds: dict[str, list[dict[str, float]]] = {name: [] for name in WAYS}
    for number in range(ROUNDS):
        for name in list(WAYS)[:: 1 if number % 2 else -1]:
            with way(name):
                rounds[name].append(turn())
    print(f"{'µs a record':20}" + "".join(f"{step:>12}" for step in rounds["off"][0]))
    for name, turns in rounds.items():
        row = (statistics.median(each[step] for each in turns) for step in turns[0])
        print(f"{name:20}" + "".join(f"{each:12.2f}" for each in row))


if __name__ == "__main__":
    conditions = Conditions()
    main()
    print(*conditions.told().values(), sep="; ")
