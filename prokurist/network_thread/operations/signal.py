"""Signals: how a part of the network thread calls those that depend on it.

Thread: the network thread emits; listeners connect while a client is wired.

A manager that needs to hear of another one takes it as an argument and connects to its signal
in its constructor, so that both classes show the call.
"""

from collections.abc import Callable
from typing import Generic, TypeVarTuple

Values = TypeVarTuple("Values")


class Signal(Generic[*Values]):
    """Calls its listeners in the order of their connection."""

    __slots__ = ("_listeners",)

    def __init__(self) -> None:
        self._listeners: tuple[Callable[[*Values], object], ...] = ()

    def connect(self, listener: Callable[[*Values], object]) -> None:
        """Add a listener; its result is ignored."""
        self._listeners = (*self._listeners, listener)

    def emit(self, *values: *Values) -> None:
        """Call every listener with these values."""
        for listener in self._listeners:
            listener(*values)

    def __repr__(self) -> str:
        return f"Signal({len(self._listeners)} listeners)"
