"""Parts of a registry's client that go on in a forked process.

A child has none of its parent's helper threads, and a lock that one of them held stays locked.

Thread: any; `_renew` in the only thread of a child.
"""

import os
from typing import Any, Final, Protocol
from weakref import WeakSet


class Forked(Protocol):
    """Parts with locks or threads."""

    def renew(self) -> None:
        """Make new locks, and forget threads: in the child of a fork."""
        ...


_PARTS: Final[WeakSet[Any]] = WeakSet()


def renew_in_children(part: Forked) -> None:
    """Have a part renewed in each child of this process, as long as there is the part."""
    _PARTS.add(part)


def _renew() -> None:
    for each in list(_PARTS):
        each.renew()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_renew)
