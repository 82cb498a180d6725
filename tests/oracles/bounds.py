"""Bounds that follow from a client's configuration and the fault in hand.

`metadata.max.age.ms` is no part of any of them: a client that waits for its metadata to come
of age before it reads on is what the liveness oracle is there to find.
"""

from dataclasses import dataclass
from typing import Final, Self

from prokurist.config import ConsumerConfig
from prokurist.config.clients import ProducerConfig

JITTER: Final = 1.2
"""How far a pause may lie above the configured one."""

STEPS: Final = 4
"""Requests that may fail one after another on the way to the next record, each with a pause
and a connection of its own: the fetch, the metadata, the coordinator's or the leader's
answer about the position, and the first fetch from the new leader."""

FIRST_REQUESTS: Final = 8
"""Requests of a connection beside the periodic ones: its greeting, metadata, look-ups."""

OF_AN_EVENT: Final = 12
"""Requests on one connection that one event (a fault, a call, an append) may lead to."""

OF_A_PAUSE: Final = 3
"""Requests on one connection between two pauses of a retry: the request that failed, the
metadata asked for because of it, and the look-up of a position."""


@dataclass(frozen=True)
class Settings:
    """The part of a configuration that bounds follow from, in seconds.

    Attributes:
        retry: `retry.backoff.ms`.
        retry_max: `retry.backoff.max.ms`.
        reconnect_max: `reconnect.backoff.max.ms`.
        request: `request.timeout.ms`.
        setup: `socket.connection.setup.timeout.ms`.
        wait: `fetch.max.wait.ms`.
        heartbeat: The interval of heartbeats; infinite without a group.
        commit: `auto.commit.interval.ms`; infinite without automatic commits.
        metadata: `metadata.max.age.ms`; how often metadata may be asked for unasked.
    """

    retry: float = 0.1
    retry_max: float = 1.0
    reconnect_max: float = 1.0
    request: float = 30.0
    setup: float = 10.0
    wait: float = 0.5
    heartbeat: float = float("inf")
    commit: float = float("inf")
    metadata: float = 300.0

    @classmethod
    def of(cls, config: ConsumerConfig, heartbeat: float = float("inf")) -> Self:
        """Read a configuration.

        Args:
            config: The consumer's.
            heartbeat: The interval of heartbeats, where there is a group; with the consumer
                protocol brokers configure it.
        """
        return cls(
            retry=config.retry_backoff_ms / 1000,
            retry_max=max(config.retry_backoff_ms, config.retry_backoff_max_ms) / 1000,
            reconnect_max=config.reconnect_backoff_max_ms / 1000,
            request=config.request_timeout_ms / 1000,
            setup=config.socket_connection_setup_timeout_ms / 1000,
            wait=config.fetch_max_wait_ms / 1000,
            heartbeat=heartbeat,
            commit=config.auto_commit_interval_ms / 1000
            if config.enable_auto_commit and config.group_id is not None
            else float("inf"),
            metadata=config.metadata_max_age_ms / 1000,
        )

    @classmethod
    def of_producer(cls, config: ProducerConfig) -> Self:
        """Read a producer's, which fetches and commits nothing."""
        return cls(
            retry=config.retry_backoff_ms / 1000,
            retry_max=max(config.retry_backoff_ms, config.retry_backoff_max_ms) / 1000,
            reconnect_max=config.reconnect_backoff_max_ms / 1000,
            request=config.request_timeout_ms / 1000,
            setup=config.socket_connection_setup_timeout_ms / 1000,
            wait=float("inf"),
            metadata=config.metadata_max_age_ms / 1000,
        )


def returned_within(settings: Settings, *, silent: bool = False, polls: float = 0.0) -> float:
    """Seconds within which a readable record of a reachable leader is returned.

    Args:
        settings: The client's.
        silent: Whether a broker took requests and did not answer meanwhile. Then one of them
            has to time out, and one connection to be given up, before another broker is asked.
        polls: The longest time between two polls of the application; a record waits for the
            poll that is due and, behind a backlog of another partition, for one more.
    """
    pauses = STEPS * JITTER * (settings.retry_max + settings.reconnect_max)
    bound = settings.wait + pauses + 2 * polls
    return bound + settings.request + settings.setup if silent else bound


def idle_rate(settings: Settings) -> float:
    """Requests a second on one connection of a client that has nothing to do."""
    return (
        1 / settings.wait
        + 1 / settings.heartbeat
        + 1 / settings.commit
        + JITTER / settings.metadata
    )


def idle_requests(settings: Settings, seconds: float) -> float:
    """Requests on one connection that a client may send while it has nothing to do."""
    return FIRST_REQUESTS + seconds * idle_rate(settings)


def troubled_requests(settings: Settings, seconds: float, events: int) -> float:
    """Requests on one connection that a client may send while something goes on.

    Args:
        settings: The client's.
        seconds: For how long.
        events: Records returned, batches written, calls made, faults begun and ended.
    """
    retries = seconds * OF_A_PAUSE / max(settings.retry, 0.01)
    return idle_requests(settings, seconds) + retries + OF_AN_EVENT * events


def idle_cpu(settings: Settings, seconds: float, connections: int) -> float:
    """Seconds of processor time that a client may take while it has nothing to do.

    Two milliseconds a request, many times what one costs, and a fiftieth of a core for an
    application that polls.
    """
    return 0.02 * seconds + 0.002 * connections * idle_requests(settings, seconds)
