"""Weakly bound methods of a client, for parts that the network thread keeps.

The network thread refers to many parts of a client. A bound method there would keep a client
that its user has forgotten, and with it the thread.

Thread: any.
"""

from collections.abc import Callable
from typing import Any, Generic, ParamSpec, TypeVar
from weakref import WeakMethod

from prokurist.errors import IllegalStateException

P = ParamSpec("P")
T = TypeVar("T")


class WeakCall(Generic[P, T]):
    """A bound method that does not keep its object.

    Args:
        method: The method.
    """

    __slots__ = ("_method",)

    def __init__(self, method: Callable[P, T]) -> None:
        self._method: WeakMethod[Any] = WeakMethod(method)

    def __call__(self, *args: P.args, **keywords: P.kwargs) -> T:
        """Call the method.

        Raises:
            IllegalStateException: Its object is gone.
        """
        method = self._method()
        if method is None:
            raise IllegalStateException(
                "this producer was never closed, and was collected since nothing refers to it: "
                "keep it, and close it. What was sent is still delivered, or fails by "
                "delivery.timeout.ms, but nothing can be waited for any more"
            )
        found: T = method(*args, **keywords)
        return found
