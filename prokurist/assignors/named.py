"""The assignors that go by a name in `partition.assignment.strategy`.

Thread: either.
"""

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Final

from prokurist.assignors.assignor import Assignor
from prokurist.assignors.range_assignor import RangeAssignor
from prokurist.assignors.round_robin import RoundRobinAssignor
from prokurist.assignors.sticky import CooperativeStickyAssignor, StickyAssignor

NAMED: Final[Mapping[str, Callable[[], Assignor]]] = MappingProxyType(
    {
        "range": RangeAssignor,
        "roundrobin": RoundRobinAssignor,
        "sticky": StickyAssignor,
        "cooperative-sticky": CooperativeStickyAssignor,
    }
)
"""Factories: an assignor for each consumer."""
