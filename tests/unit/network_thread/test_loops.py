"""Every loop of the network thread's code ends: it waits, or it shrinks something.

A new `while`, or a `for` over what has no end, fails here until the table has its measure.
"""

import ast
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest

import prokurist
from prokurist.network_thread.operations import rounds
from prokurist.network_thread.operations.rounds import Rounds
from prokurist.network_thread.operations.timer import Timer

PACKAGE: Final = Path(prokurist.__file__).parent
ROOMS: Final = ("network_thread", "events")
ENDLESS: Final = ("count", "cycle", "repeat", "iter")

SLEEPS: Final = "sleeps: each round that does not return awaits a pause of the Timer"
WAITS: Final = "waits: each round awaits an answer, a promise that is not kept, or a pause"
COUNTED: Final = "counted: a wait may be over at once, and `Rounds` bounds the rounds of a turn"
THREAD: Final = "thread: it is the life of a thread, and waits for its work"
CALLER: Final = (
    "caller: on the application's thread, which waits until a deadline in each round"
)

LOOPS: Final[dict[str, tuple[str, ...]]] = {
    "events/accumulator/accumulator.py:begin": ("shrinks: one open batch, closed",),
    "events/accumulator/accumulator.py:close_old": ("shrinks: the batches that grow",),
    "events/accumulator/accumulator.py:due": ("shrinks: the partitions that linger",),
    "events/accumulator/appending.py:append_rows": ("shrinks: the rows behind the last",),
    "events/accumulator/batch.py:part": ("shrinks: the way down a tree of splits",),
    "events/accumulator/buffer_memory.py:_grant": ("shrinks: the claims that wait",),
    "events/accumulator/deliveries.py:_awaited": ("shrinks: the records of a run",),
    "events/accumulator/deliveries.py:_first_error": ("shrinks: the records of a run",),
    "events/accumulator/deliveries.py:_leaves": ("shrinks: the records of a run",),
    "events/accumulator/deliveries.py:next_leaf": ("shrinks: the way down a tree of splits",),
    "events/accumulator/delivery.py:await_end": (WAITS,),
    "events/accumulator/delivery.py:ended": (CALLER,),
    "events/accumulator/delivery.py:when_done": ("shrinks: the splits until one has ended",),
    "events/accumulator/record_metadata.py:without_traceback": ("shrinks: the causes",),
    "events/accumulator/sticky_partitioner.py:_next": ("shrinks: a topic has a partition",),
    "events/background_events.py:_take_pending": ("shrinks: the errors",),
    "events/clock.py:wait": (CALLER,),
    "events/loop_wakes.py:_take": ("shrinks: the waiters that were opened",),
    "events/committable.py:_settle": ("shrinks: the order",),
    "events/committable.py:cut": ("shrinks: the order",),
    "network_thread/admin/manager.py:_settle": (SLEEPS,),
    "network_thread/admin/operations/topics.py:check_partitions": (SLEEPS,),
    "network_thread/admin/operations/topics.py:seen": (SLEEPS,),
    "network_thread/cluster/attempts.py:ask": (SLEEPS,),
    "network_thread/cluster/brokers_to_ask.py:next": (SLEEPS,),
    "network_thread/cluster/leader_queries.py:_settle": (SLEEPS,),
    "network_thread/cluster/metadata_manager.py:_ask": (SLEEPS,),
    "network_thread/connections/authentication.py:_made_ready": (WAITS, SLEEPS),
    "network_thread/connections/pipeline.py:flush": ("shrinks: the requests in the queue",),
    "network_thread/fetch/fetch_progress.py:attend": (WAITS,),
    "network_thread/fetch/manager.py:poll": (COUNTED,),
    "network_thread/io/framing.py:took": ("shrinks: the bytes that were read",),
    "network_thread/io/helper.py:_work": (THREAD,),
    "network_thread/io/tls.py:_decrypted": ("shrinks: what one read has brought",),
    "network_thread/io/tls.py:_pumped": (
        "shrinks: the reads of a turn, of which there are few",
    ),
    "network_thread/io/tls.py:encrypted": ("shrinks: the bytes to encrypt",),
    "network_thread/io/tls.py:read_into": ("shrinks: the room that is left",),
    "network_thread/membership/classic/heartbeats.py:_beat": (SLEEPS,),
    "network_thread/membership/classic/round.py:_join": (WAITS,),
    "network_thread/membership/classic/round.py:_part": (WAITS,),
    "network_thread/membership/classic/round.py:run": (SLEEPS,),
    "network_thread/membership/heartbeating.py:_send_heartbeats": (COUNTED,),
    "network_thread/membership/heartbeating.py:until": (WAITS,),
    "network_thread/membership/consumer/reconciler.py:_reconcile": (COUNTED,),
    "network_thread/offsets/positions_manager.py:_committed": (SLEEPS,),
    "network_thread/offsets/positions_manager.py:_without_refused": (
        "shrinks: the partitions that no topic's refusal has ended",
    ),
    "network_thread/offsets/positions_manager.py:position": (COUNTED,),
    "network_thread/produce/transactions/manager.py:_add": (WAITS,),
    "network_thread/operations/calls.py:fail": ("shrinks: the operations that run",),
    "network_thread/operations/timer.py:fire": ("shrinks: the entries that are due",),
    "network_thread/operations/timer.py:top": ("shrinks: the dead entries",),
    "network_thread/produce/drafting.py:_can_number": ("shrinks: the epochs that are left",),
    "network_thread/produce/manager.py:_serve": (
        "shrinks: the requests that may be in flight",
    ),
    "network_thread/produce/topics.py:_found": (WAITS,),
    "network_thread/share/manager.py:_end_source": (WAITS,),
    "network_thread/share/manager.py:poll": (COUNTED,),
    "network_thread/share/source.py:_send_groups": (WAITS,),
    "network_thread/share/source.py:idle": (WAITS,),
    "network_thread/telemetry/manager.py:_live": (SLEEPS, SLEEPS),
    "network_thread/telemetry/manager.py:_subscription": (WAITS,),
    "network_thread/telemetry/manager.py:_to_be_asked": (WAITS,),
    "network_thread/telemetry/payload.py:payload_of": ("shrinks: the metrics, halved",),
    "network_thread/thread.py:_run": (THREAD,),
    "network_thread/thread.py:turn": ("shrinks: the events that were taken",),
    "network_thread/wire/schema.py:below": ("shrinks: the rows",),
    "network_thread/wire/writing.py:write_varint": ("shrinks: the number",),
}


def loops() -> Iterator[tuple[str, ast.AST, bool]]:
    """Each loop: its file and function, itself, and whether that is a coroutine's."""
    for room in ROOMS:
        for path in sorted((PACKAGE / room).rglob("*.py")):
            name = path.relative_to(PACKAGE).as_posix()
            yield from within(ast.parse(path.read_text("utf-8")), name, "", is_async=False)


def within(
    tree: ast.AST, file: str, function: str, *, is_async: bool
) -> Iterator[tuple[str, ast.AST, bool]]:
    """The loops below a node, in their order."""
    for each in ast.iter_child_nodes(tree):
        if isinstance(each, ast.FunctionDef | ast.AsyncFunctionDef):
            coroutine = isinstance(each, ast.AsyncFunctionDef)
            yield from within(each, file, each.name, is_async=coroutine)
            continue
        if isinstance(each, ast.While) or (isinstance(each, ast.For) and is_endless(each)):
            yield f"{file}:{function}", each, is_async
        yield from within(each, file, function, is_async=is_async)


def is_endless(loop: ast.For) -> bool:
    """Whether a `for` goes over what may have no end: `count()`, or `iter` of a function."""
    call = loop.iter
    return (
        isinstance(call, ast.Call)
        and isinstance(call.func, ast.Name)
        and call.func.id in ENDLESS
        and (call.func.id != "iter" or len(call.args) > 1)
    )


def test_each_loop_has_a_measure() -> None:
    """B481: the table has each loop, and no other."""
    found: dict[str, int] = {}
    for place, _, _ in loops():
        found[place] = found.get(place, 0) + 1
    assert found == {place: len(measures) for place, measures in LOOPS.items()}


def test_each_loop_does_what_its_measure_says() -> None:
    """B481: one that sleeps, waits or counts has the line that does so."""
    seen: dict[str, int] = {}
    for place, loop, is_async in loops():
        nth = seen.get(place, 0)
        seen[place] = nth + 1
        measure = LOOPS[place][nth]
        nodes = list(ast.walk(loop))
        if measure in (SLEEPS, WAITS):
            assert is_async, place
            assert any(isinstance(each, ast.Await) for each in nodes), place
        if measure == SLEEPS:
            names = {each.attr for each in nodes if isinstance(each, ast.Attribute)}
            assert names & {"sleep", "pause", "_pause"}, place
        if measure == COUNTED:
            assert any(ast.unparse(each) == "rounds.count()" for each in nodes), place


def test_a_loop_that_does_not_end_dies_loudly(monkeypatch: pytest.MonkeyPatch) -> None:
    """B481: by a bug's exception, which ends the thread; each turn counts anew."""
    monkeypatch.setattr(rounds, "MOST_ROUNDS", 10)
    timer = Timer(1.0)
    counted = Rounds(timer, "a look-up")
    for _ in range(3):
        timer.now += 0.1
        for _ in range(10):
            counted.count()
    with pytest.raises(AssertionError, match="a look-up went round 10 times without a wait"):
        counted.count()
