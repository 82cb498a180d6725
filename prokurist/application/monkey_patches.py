"""Refuses to build a client where gevent or eventlet has patched its thread's foundations.

Thread: the application's. Neither library is imported: a program that has patched anything has
imported it.
"""

import sys
from typing import Any, Final

from prokurist.errors import IllegalStateException

GEVENT: Final = ("thread", "socket", "select")
"""Modules that gevent may have patched, and that the network thread needs as they are."""

EVENTLET: Final = ("thread", "socket", "select")
"""The same by the names that eventlet has for them."""


def refuse_patched() -> None:
    """Raise if threads, sockets or `select` have been replaced.

    Raises:
        IllegalStateException: They have been patched.
    """
    gevent: Any = sys.modules.get("gevent.monkey")
    if gevent is not None and any(gevent.is_module_patched(name) for name in GEVENT):
        raise refusal(
            "gevent", "gevent.monkey.patch_all(thread=False, socket=False, select=False)"
        )
    eventlet: Any = sys.modules.get("eventlet.patcher")
    if eventlet is not None and any(eventlet.is_monkey_patched(name) for name in EVENTLET):
        raise refusal(
            "eventlet", "eventlet.monkey_patch(thread=False, socket=False, select=False)"
        )


def refusal(library: str, instead: str) -> IllegalStateException:
    """The error for a library that has patched too much."""
    return IllegalStateException(
        f"prokurist cannot run where {library} has patched threads, sockets or select, because "
        f"its network thread has to be a real one: run the consumer in a process that is not "
        f"patched, or patch with {instead}"
    )
