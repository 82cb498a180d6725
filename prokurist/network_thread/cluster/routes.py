"""Routes: the destinations of requests, by the reason why a broker is asked.

Thread: the network thread alone. `Attempts` says how a route is used. One resolves to a broker,
or to None while none is known; the ledger then has the reason. An answer that refutes a route
has it resolved again. `Coordinator`, in `coordinators`, is the route to a coordinator.
"""

from collections.abc import Callable
from typing import Final

from prokurist.errors import KafkaException
from prokurist.events.call import Call
from prokurist.network_thread.cluster.attempts import Verdict
from prokurist.network_thread.cluster.brokers_to_ask import BrokersToAsk
from prokurist.network_thread.connections.requests import Lane
from prokurist.network_thread.error_actions import Action
from prokurist.types import Node


class AnyBroker:
    """The route to any broker: the least loaded one that has not failed.

    Args:
        brokers: The candidates.
        is_shared: Returns True for errors that another broker may repeat: such an error is
            raised if no other broker can help (`BrokersToAsk.failed`). Others are passed by.
    """

    lane: Final = Lane.GENERAL
    is_any: Final = True

    def __init__(
        self,
        brokers: BrokersToAsk,
        is_shared: Callable[[KafkaException], bool] = lambda _error: True,
    ) -> None:
        self._brokers = brokers
        self._is_shared = is_shared

    async def find(self, call: Call | None) -> Node | None:
        """See `Route`."""
        return await self._brokers.next(call)

    def failed(self, node: Node, error: KafkaException) -> KafkaException:
        """See `Route`."""
        brokers = self._brokers
        return (brokers.failed if self._is_shared(error) else brokers.suspect)(node, error)

    def answered(self, node: Node, verdict: Verdict) -> KafkaException | None:
        """See `Route`; an answer that a broker should not give makes it suspect."""
        if verdict.action is Action.REDISCOVER and verdict.error is not None:
            return self._brokers.suspect(node, verdict.error)
        self._brokers.answered()
        return None

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._brokers})"
