"""Tells `error_cb` of outages: once, when no broker can be reached."""

from collections.abc import Callable

from prokurist.compat.confluent_kafka.error import KafkaError
from prokurist.consumer.health import Health
from prokurist.producer.health import ProducerHealth


class Outages:
    """Calls `error_cb` for outages and errors of the whole client.

    Args:
        callback: The user's; None for none.
    """

    def __init__(self, callback: Callable[[KafkaError], object] | None) -> None:
        self._callback = callback
        self._told = False

    @property
    def are_heard(self) -> bool:
        """True if there is a callback."""
        return self._callback is not None

    def look(self, health: Health | ProducerHealth) -> None:
        """Call it if an outage has begun since the last look."""
        if self._callback is None:
            return
        if health.unreachable_for is None:
            self._told = False
        elif not self._told:
            self._told = True
            self._callback(
                KafkaError(KafkaError._ALL_BROKERS_DOWN, health.last_error, retriable=True)
            )

    def tell(self, error: KafkaError) -> None:
        """Call it with an error that belongs to no partition."""
        if self._callback is not None:
            self._callback(error)
