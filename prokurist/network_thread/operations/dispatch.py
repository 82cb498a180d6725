"""Passes each event of the application to the manager that has registered for it.

Thread: the network thread alone; managers register while a client is wired.

Invariant: each event of a client has exactly one taker. A second one is refused when it
registers, and an event without a taker is a bug that ends the thread.
"""

from collections.abc import Callable, Coroutine, Mapping
from typing import Any, Protocol, TypeAlias, get_args

from prokurist.errors import InvalidGroupIdException
from prokurist.events.application_events import ApplicationEvent, GroupEvent, Withdraw
from prokurist.network_thread.operations.calls import Calls

Work: TypeAlias = Coroutine[Any, Any, Any]
"""The operation of an event's call."""

Handlers: TypeAlias = Mapping[type[ApplicationEvent], Callable[[Any], Work | None]]
"""The events that a manager takes, each with its handler.

A handler returns the operation that answers the event's call, or does the work itself.
"""


class Taker(Protocol):
    """The interface of a manager that takes events."""

    def handlers(self) -> Handlers:
        """Return the events that it takes."""
        ...


class Dispatch:
    """The handler of each event type.

    Args:
        calls: Starts the operations that handlers return.
    """

    def __init__(self, calls: Calls) -> None:
        self._calls = calls
        self._handlers: dict[type[ApplicationEvent], Callable[[Any], Work | None]] = {
            Withdraw: lambda event: calls.withdraw(event.call)
        }

    def register(self, *takers: Taker) -> None:
        """Add the handlers of managers."""
        for taker in takers:
            for event, handler in taker.handlers().items():
                if event in self._handlers:
                    raise AssertionError(f"{event.__name__} has a second taker, {taker}")
                self._handlers[event] = handler

    def take(self, event: ApplicationEvent) -> None:
        """Start the work for an event."""
        handler = self._handlers.get(type(event))
        if handler is None:
            raise AssertionError(f"no manager takes {type(event).__name__}")
        work = handler(event)
        if work is not None:
            self._calls.start(event.call, work)

    @property
    def events(self) -> frozenset[type[ApplicationEvent]]:
        """The event types that have a taker."""
        return frozenset(self._handlers)

    def __repr__(self) -> str:
        return f"Dispatch({len(self._handlers)} event types)"


class WithoutGroup:
    """Refuses the events of a group, in a client without one (B51)."""

    def handlers(self) -> Handlers:
        """Return all events of groups."""
        return dict.fromkeys(get_args(GroupEvent), self._refuse)

    def _refuse(self, event: GroupEvent) -> None:
        event.call.fail(
            InvalidGroupIdException(
                f"{event.call.operation} needs a group: set group.id in the configuration"
            )
        )

    def __repr__(self) -> str:
        return "WithoutGroup()"
