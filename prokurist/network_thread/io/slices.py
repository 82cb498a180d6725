"""How long a slice of a processor's time the kernel is asked to give the network thread.

Thread: the network thread; what is asked for holds for the thread that asks.

Whoever has a longer slice gets no more of a processor in the end, and no less: it is let
on a little later, and for longer. Linux knows that since 6.12. Where there is none of it,
or where the process has a way of being scheduled of its own, nothing is asked for. The
pure twin asks for nothing either: importing what it would need costs more than it brings.
"""

from typing import Final

from prokurist.network_thread.io.watch import MODULES
from prokurist.twins import chosen

LONG: Final = 20_000_000
"""Nanoseconds, fourteen times what Linux gives everybody on two processors: ADR 12."""


class Slices:
    """Those of the thread that calls it."""

    def __init__(self) -> None:
        choice = chosen(MODULES)
        self._native = choice.module if choice.name == "native" else None
        self._usual = 0

    def give_way(self, on: bool) -> None:  # noqa: FBT001 - it is what it says
        """Ask for long slices, or for those that the thread had before."""
        if self._native is None:
            return
        if on:
            usual = self._native.slice_of_thread()
            if 0 < usual < LONG and self._native.set_slice_of_thread(LONG):
                self._usual = usual
        elif self._usual:
            self._native.set_slice_of_thread(self._usual)
            self._usual = 0

    def __repr__(self) -> str:
        return f"Slices({'long' if self._usual else 'as usual'})"
