"""Puts points into what both threads touch, without a line of it being changed.

Each module's own source is compiled once more with a point before every statement,
and its functions are lent that code for as long as a test runs. Locks and threads
are replaced by ones that hand the baton on. In the same way a test plants a bug: it
names a few words of the source and what to put in their place.
"""

import ast
import inspect
import logging
import math
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from functools import lru_cache
from types import CodeType, FunctionType, ModuleType, SimpleNamespace
from typing import Any, Final
from unittest.mock import patch

from tests.simulation.lockstep.counted import Counted
from tests.simulation.lockstep.stage import Stage, Wrong

WITH_POINTS: Final = (
    "events.background_events",
    "events.call",
    "events.waiter",
    "events.mailbox",
    "events.log_event_queue",
    "events.loop_wakes",
    "events.accumulator.accumulator",
    "events.accumulator.batch",
    "events.accumulator.buffer_memory",
    "events.transaction_state",
    "producer.transacting",
    "application.call_runner",
    "application.single_thread_guard",
    "network_thread.io.wakeup",
)
"""Where the two threads meet. Elsewhere they meet at locks, which are points too."""

ONLY_IN: Final = {
    "events.accumulator.batch": ("_open_waiters", "end", "split_into", "unwatch", "watch"),
    "events.transaction_state": ("begin", "end", "fail", "require"),
    "producer.transacting": ("_ask", "_finish", "_tell"),
}
"""The functions of a module where threads meet: points in others would multiply the runs."""

WITH_LOCKS: Final = (
    "events.assigned",
    "events.background_events",
    "events.call",
    "events.fetch_buffer",
    "events.waiter",
    "events.mailbox",
    "events.log_event_queue",
    "events.accumulator.buffer_memory",
    "network_thread.thread",
)

WITHOUT_POINTS: Final = (
    "__repr__",  # what a failure prints
    "_close",  # runs whenever memory is freed
    "_refusal",
    "call",
    "check_usable",  # these look at nothing that both threads change
    "is_below",
    "is_open",
    "is_over",
    "now",
    "refusal",
    "stand",  # one look, and its caller stands at a point already
    "standing",
    "without_time",
)

MAKE_CALLS: Final = ("consumer.auto_commit", "application.call_runner", "consumer.polling")

NAME: Final = "__point__"

Edits = Mapping[str, tuple[tuple[str, str], ...]]
"""For a module: words that stand in it exactly once, and what to put in their place."""


def module_of(name: str) -> ModuleType:
    """A module of the package, by what its path says below it."""
    return sys.modules[f"prokurist.{name}"]


class Pointing(ast.NodeTransformer):
    """Puts a point before every statement of every function."""

    def __init__(self, name: str) -> None:
        self._file = name.rpartition(".")[2]
        self._function = ""
        self._only = ONLY_IN.get(name)

    def _visit_function(self, node: Any) -> Any:
        if node.name in WITHOUT_POINTS or (self._only and node.name not in self._only):
            return node
        outer, self._function = self._function, node.name
        self.generic_visit(node)
        self._function = outer
        return node

    visit_FunctionDef = visit_AsyncFunctionDef = _visit_function  # noqa: N815 - ast's names

    def generic_visit(self, node: ast.AST) -> ast.AST:
        """See `ast.NodeTransformer`."""
        super().generic_visit(node)
        if self._function:
            for part in ("body", "orelse", "finalbody"):
                block = getattr(node, part, None)
                if isinstance(block, list):
                    setattr(node, part, self._pointed(block))
        return node

    def _pointed(self, block: list[ast.stmt]) -> list[ast.stmt]:
        pointed: list[ast.stmt] = []
        for each in block:
            text = isinstance(each, ast.Expr) and isinstance(each.value, ast.Constant)
            if not text and not isinstance(each, (ast.Nonlocal, ast.Global)):
                where = f"{self._file}:{each.lineno} {self._function}"
                call = ast.Call(ast.Name(NAME, ast.Load()), [ast.Constant(where)], [])
                pointed.append(ast.copy_location(ast.Expr(call), each))
            pointed.append(each)
        return pointed


@lru_cache
def codes(
    name: str, edits: tuple[tuple[str, str], ...], *, points: bool
) -> dict[str, CodeType]:
    """The code of all functions of a module, by their qualified names."""
    module = module_of(name)
    source = inspect.getsource(module)
    for old, new in edits:
        assert source.count(old) == 1, f"{old!r} stands {source.count(old)} times in {name}"
        source = source.replace(old, new)
    tree = ast.parse(source)
    if points:
        tree = Pointing(name).visit(tree)
    file = module.__file__ or name
    whole = compile(ast.fix_missing_locations(tree), file, "exec", dont_inherit=True)
    found: dict[str, CodeType] = {}
    left = [whole]
    while left:
        for each in left.pop().co_consts:
            if isinstance(each, CodeType):
                found[each.co_qualname] = each
                left.append(each)
    return found


def functions(module: ModuleType) -> Iterator[FunctionType]:
    """All functions that a module defines, in classes and outside."""
    for thing in vars(module).values():
        if getattr(thing, "__module__", None) != module.__name__:
            continue
        for each in vars(thing).values() if inspect.isclass(thing) else (thing,):
            bare = each.fget if isinstance(each, property) else getattr(each, "__func__", each)
            bare = inspect.unwrap(bare) if callable(bare) else bare
            if isinstance(bare, FunctionType) and bare.__module__ == module.__name__:
                yield bare


class SteppedLock:
    """A lock whose waiting hands the baton on."""

    def __init__(self, stage: Stage) -> None:
        self._stage = stage
        self._taken = False
        self._owner: object = None

    def acquire(self, blocking: bool = True, timeout: float = -1) -> bool:  # noqa: FBT001, FBT002
        """See `threading.Lock`."""
        self._stage.point("lock: acquire")
        if self._taken:
            if not blocking:
                return False
            until = math.inf if timeout < 0 else self._stage.time + timeout
            if not self._stage.wait(lambda: not self._taken, until, "lock"):
                return False
        self._taken, self._owner = True, self._stage.present
        return True

    def release(self) -> None:
        """See `threading.Lock`."""
        if not self._taken:
            raise RuntimeError("release unlocked lock")
        self._taken, self._owner = False, None

    def locked(self) -> bool:
        """See `threading.Lock`."""
        return self._taken

    def __enter__(self) -> None:
        me = self._stage.present
        if self._taken and me is not None and self._owner is me:
            self._stage.fail(Wrong(f"{me!r} waits for a lock that it holds itself"))
        if me is None:
            self.acquire()
            return
        # Its holder may be held up, and then so are those that wait for it.
        me.locked_out = True
        self.acquire()
        me.locked_out = False
        me.holds += 1

    def __exit__(self, *_: object) -> None:
        me = self._stage.present
        if me is not None:
            me.holds -= 1
        self.release()


class SteppedRLock(SteppedLock):
    """The same for one that its holder may take once more: in a signal handler."""

    def __init__(self, stage: Stage) -> None:
        super().__init__(stage)
        self._depth = 0

    def _is_owned(self) -> bool:
        """See `threading.RLock`."""
        return self._taken and self._owner is self._stage.present

    def __enter__(self) -> None:
        if self._stage.present is None or not self._is_owned():
            super().__enter__()
        self._depth += 1

    def __exit__(self, *_: object) -> None:
        self._depth -= 1
        if not self._depth:
            super().__exit__()


class SteppedThread:
    """A thread that begins as an actor."""

    def __init__(self, stage: Stage, target: Callable[[], None], name: str) -> None:
        self.name = name
        self.ident: int | None = None
        self._stage = stage
        self._target = target
        self._over = False

    def start(self) -> None:
        """See `threading.Thread`."""
        self.ident = 1
        self._stage.enter(self.name.rpartition("-")[2], self._run)

    def _run(self) -> None:
        try:
            self._target()
        finally:
            self._over = True

    def join(self, seconds: float) -> None:
        """See `threading.Thread`."""
        until = self._stage.time + seconds
        self._stage.wait(lambda: self._over, until, "the end of the thread")

    def is_alive(self) -> bool:
        """See `threading.Thread`."""
        return self.ident is not None and not self._over


class Play:
    """What is being played: the stage of the present run.

    Locks, threads and points ask for it when they are made or passed; so the code
    with points is lent once, and serves all runs of a test.
    """

    def __init__(self) -> None:
        self.stage: Stage | None = None

    def now(self) -> Stage:
        """The stage of the present run."""
        assert self.stage is not None, "nothing is being played"
        return self.stage

    def point(self, where: str) -> None:
        """A point, if anything is being played."""
        if self.stage is not None:
            self.stage.point(where)


@contextmanager
def in_lock_step(play: Play, edits: Edits | None = None) -> Iterator[None]:
    """Lend the modules their code with points, and stepped locks, threads and time."""
    changed = edits or {}
    threading = SimpleNamespace(
        Lock=lambda: SteppedLock(play.now()),
        RLock=lambda: SteppedRLock(play.now()),
        Thread=lambda target, name, daemon: SteppedThread(play.now(), target, name),  # noqa: ARG005
        TIMEOUT_MAX=math.inf,
        get_ident=__import__("threading").get_ident,
    )
    time = SimpleNamespace(monotonic=lambda: play.now().time)
    lent: list[tuple[FunctionType, CodeType]] = []
    patches: list[Any] = [
        patch.object(module_of(name), "threading", threading) for name in WITH_LOCKS
    ]
    clock = module_of("events.clock")
    patches.append(patch.object(clock, "time", time))
    # It holds the function itself, not the module.
    patches.append(patch.object(clock.MonotonicClock, "now", staticmethod(time.monotonic)))
    patches += [patch.object(module_of(name), "Call", Counted) for name in MAKE_CALLS]
    for name in {*WITH_POINTS, *changed}:
        points = name in WITH_POINTS
        new = codes(name, tuple(changed.get(name, ())), points=points)
        patches.append(patch.object(module_of(name), NAME, play.point, create=True))
        lent += [
            (each, new[each.__code__.co_qualname])
            for each in functions(module_of(name))
            if each.__code__.co_qualname in new
        ]
    old = [(function, function.__code__) for function, _ in lent]
    for each in patches:
        each.start()
    # A scene may kill its thread a thousand times, each time with a page in the log.
    logging.disable(logging.CRITICAL)
    try:
        for function, code in lent:
            function.__code__ = code
        yield
    finally:
        logging.disable(logging.NOTSET)
        for function, code in old:
            function.__code__ = code
        for each in patches:
            with suppress(AttributeError):
                each.stop()
