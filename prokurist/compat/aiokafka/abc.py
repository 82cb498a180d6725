"""aiokafka's interfaces: a rebalance listener, and a source of tokens."""

from abc import ABC, abstractmethod

from prokurist.types import TopicPartition


class ConsumerRebalanceListener(ABC):
    """Is told of revoked and assigned partitions; its methods may be coroutine functions.

    They are awaited in `start`, `getone`, `getmany` and `stop`, before these return. What one
    raises is raised there.
    """

    @abstractmethod
    def on_partitions_revoked(self, revoked: set[TopicPartition]) -> object:
        """Called before partitions are revoked, and when they are lost."""

    @abstractmethod
    def on_partitions_assigned(self, assigned: set[TopicPartition]) -> object:
        """Called with newly assigned partitions, before anything of them is read."""


class AbstractTokenProvider(ABC):
    """Source of tokens for OAUTHBEARER."""

    @abstractmethod
    async def token(self) -> str:
        """Return a token; it runs on the event loop on which its client was started."""

    def extensions(self) -> dict[str, str]:
        """Return SASL extensions."""
        return {}
