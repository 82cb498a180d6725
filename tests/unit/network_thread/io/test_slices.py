"""The kernel's slices: longer for the thread that asks, and as before when it is over."""

import os
import threading
from collections.abc import Callable
from importlib.util import find_spec

import pytest

from prokurist.network_thread.io.slices import LONG, Slices
from prokurist.network_thread.io.watch import MODULES
from prokurist.twins import VARIABLE, choose

needs_native = pytest.mark.skipif(
    find_spec(MODULES["native"]) is None, reason="the native twin was not built"
)


def own_slice() -> int:
    """That of this thread, in nanoseconds."""
    return int(choose(MODULES, "native").module.slice_of_thread())


def in_a_thread(work: Callable[[], object]) -> None:
    """Do something in a thread of its own, whose slices end with it."""
    raised: list[BaseException] = []

    def run() -> None:
        try:
            work()
        except BaseException as error:  # noqa: BLE001 - it is raised again below
            raised.append(error)

    thread = threading.Thread(target=run)
    thread.start()
    thread.join(10.0)
    assert not thread.is_alive()
    if raised:
        raise raised[0]


def known() -> None:
    """Skip where this system has no slices."""
    if not own_slice():
        pytest.skip("this kernel tells of no slices: Linux does since 6.12")


@needs_native
def test_they_are_long_and_as_before_again() -> None:
    """The niceness of the thread stays what it was, whichever it is."""
    known()

    def work() -> None:
        os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), 3)
        before, slices = own_slice(), Slices()
        assert before < LONG
        for _ in range(2):
            slices.give_way(True)
            assert own_slice() == LONG
        slices.give_way(False)
        assert own_slice() == before
        slices.give_way(False)
        assert own_slice() == before
        assert os.getpriority(os.PRIO_PROCESS, threading.get_native_id()) == 3

    in_a_thread(work)


@needs_native
def test_no_other_thread_has_them() -> None:
    """The application's own thread is nobody's business."""
    known()
    before = own_slice()
    in_a_thread(lambda: Slices().give_way(True))
    assert own_slice() == before


@needs_native
def test_who_has_longer_ones_keeps_them() -> None:
    """A process that asked for something itself gets it."""
    known()

    def work() -> None:
        native = choose(MODULES, "native").module
        assert native.set_slice_of_thread(2 * LONG)
        slices = Slices()
        for on in (True, False):
            slices.give_way(on)
            assert own_slice() == 2 * LONG

    in_a_thread(work)


@needs_native
def test_who_is_scheduled_in_another_way_is_left_alone() -> None:
    """A batch process stays one: nothing is asked for."""

    def work() -> None:
        thread = threading.get_native_id()
        os.sched_setscheduler(thread, os.SCHED_BATCH, os.sched_param(0))
        slices = Slices()
        slices.give_way(True)
        assert os.sched_getscheduler(thread) == os.SCHED_BATCH
        slices.give_way(False)
        assert os.sched_getscheduler(thread) == os.SCHED_BATCH

    in_a_thread(work)


def test_the_pure_twin_asks_for_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where nothing native may be loaded, slices stay what they are."""
    monkeypatch.setenv(VARIABLE, "python")
    slices = Slices()
    slices.give_way(True)
    assert repr(slices) == "Slices(as usual)"
    slices.give_way(False)
