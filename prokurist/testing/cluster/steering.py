"""A test's access to a cluster: one change at a time, at one moment.

Thread: any for a served cluster; the driver's for a model.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import NamedTuple, Self

from prokurist.testing.cluster.cluster import Cluster
from prokurist.testing.cluster.faults import Rule


class Change(NamedTuple):
    """The model and the time, for the duration of one change."""

    cluster: Cluster
    now: float


class Fault:
    """A fault in effect until undone."""

    __slots__ = ("_name", "_rule", "_undo")

    def __init__(self, name: str, undo: Callable[[], None], rule: Rule | None = None) -> None:
        self._name = name
        self._undo: Callable[[], None] | None = undo
        self._rule = rule

    def __repr__(self) -> str:
        return f"Fault({self._rule or self._name}, {'on' if self._undo else 'undone'})"

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.undo()

    @property
    def used(self) -> int:
        """Number of requests hit so far; 0 for faults that do not concern requests."""
        return self._rule.used if self._rule else 0

    def undo(self) -> None:
        """End it; twice is once."""
        undo, self._undo = self._undo, None
        if undo is not None:
            undo()


class Steering(ABC):
    """Base class of the controls."""

    __slots__ = ()

    @abstractmethod
    def _change(self) -> AbstractContextManager[Change]:
        """Lock the model for one change.

        On entry, everything due before has been applied; on exit, the effects of the change are
        scheduled.
        """
