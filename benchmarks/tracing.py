"""What the trace costs, read and unread: `python benchmarks/tracing.py`.

A commit is made again and again in virtual time, where nothing but our own code runs: no
thread is switched to, no socket is waited for. It is made without a reader, with a
recording of `prokurist.timeline`, and without one again; the two kinds of rounds take turns.
All of it in the time of the processor that it takes.
"""

import statistics
import sys
import time
import timeit
from pathlib import Path

from data_files import Conditions

sys.path.insert(0, str(Path(__file__).parents[1]))

from prokurist import timeline
from prokurist.consumer.consumer import KafkaConsumer
from prokurist.events.call import Call
from prokurist.events.call_log_events import CALL_WAITING
from prokurist.events.clock import NEVER
from prokurist.types import OffsetAndMetadata, TopicPartition
from tests.recorded_events import check
from tests.simulation.world import World

ROUNDS = 40
CALLS = 200
MANY = 500_000
OFFSETS = {TopicPartition("orders", 0): OffsetAndMetadata(1)}


def a_round(consumer: KafkaConsumer) -> float:
    """Microseconds a commit."""
    began = time.process_time()
    for _ in range(CALLS):
        consumer.commit_sync(OFFSETS)
    return (time.process_time() - began) / CALLS * 1e6


def of_a_call() -> None:
    """A commit with and without a reader, and how much of the difference an entry is."""
    world = World()
    with world.consumer() as consumer:
        world.members[-1].side.trace.left_by(check)
        a_round(consumer)
        unread, read, entries = [], [], 0
        for _ in range(ROUNDS):
            unread.append(a_round(consumer))
            with timeline.record(consumer) as recording:
                read.append(a_round(consumer))
            entries = len(recording) // CALLS
    plain, told = statistics.median(unread), statistics.median(read)
    spread = statistics.median(unread[::2]) - statistics.median(unread[1::2])
    print(f"a commit, no reader          {plain:8.1f} µs, between halves {spread:+.1f}")
    print(f"a commit, recorded           {told:8.1f} µs, {entries} entries")
    print(f"an entry                     {(told - plain) / entries:8.2f} µs")


def of_a_hook() -> None:
    """What a trace point costs without a reader."""
    call = Call("commit_sync", 0.0, NEVER)
    hook, empty = (
        min(timeit.repeat(code, globals={"c": call}, number=MANY, repeat=7)) / MANY
        for code in ("if c.trace is not None: c", "pass")
    )
    print(f"a trace point, no reader     {(hook - empty) * 1e9:8.0f} ns")


def of_an_entry() -> None:
    """One event by itself, as the network thread emits it."""
    world = World()
    with world.consumer() as consumer:
        trace = world.members[-1].side.trace
        trace.left_by(check)
        with timeline.record(consumer):
            taken = min(
                timeit.repeat(
                    lambda: trace.emit(CALL_WAITING, call=1, operation="o", reason="r"),
                    number=MANY,
                    repeat=5,
                    timer=time.process_time,
                )
            )
    print(f"an event that is recorded   {taken / MANY * 1e6:8.2f} µs, the call of it included")


if __name__ == "__main__":
    print(*Conditions().told().values(), sep="; ")
    of_a_call()
    of_a_hook()
    of_an_entry()
