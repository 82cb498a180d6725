"""A Kafka broker, or several, inside the test's own process.

    with EmbeddedBroker(topics={"orders": 6}) as broker:
        consumer = KafkaConsumer({"bootstrap.servers": broker.bootstrap})
        with broker.freeze():
            ...  # every call still answers by its deadline

It serves the model of `prokurist.testing.cluster` over loopback, with one thread
of its own, to any Kafka client; and it is its own control: `freeze`, `delay`,
`fail`, `move_leader`, `requests` and the others are methods of it. When such a
method returns, the server has acted on it.

`python -m prokurist.testing.broker` serves one to play with.

Threads: the methods may be called from any; the model is only ever touched under
one lock, and sockets only by the server's thread.
"""

import argparse
import sys
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Self

from prokurist.events.clock import Clock, MonotonicClock, epoch_milliseconds
from prokurist.testing.broker_server import LOOPBACK, PATIENCE, Server, serve
from prokurist.testing.cluster.apis import ApiName
from prokurist.testing.cluster.control import Controls
from prokurist.testing.cluster.group_settings import GroupSettings
from prokurist.testing.cluster.sasl import Sasl
from prokurist.testing.cluster.steering import Change
from prokurist.testing.cluster.transactions import TransactionSettings

if TYPE_CHECKING:
    from ssl import SSLContext
    from types import TracebackType


class EmbeddedBroker(Controls):
    """Brokers on loopback, from the beginning of a `with` block to its end."""

    def __init__(
        self,
        nodes: int = 1,
        topics: Mapping[str, int] | None = None,
        *,
        clock: Clock | None = None,
        auto_create: bool = False,
        versions: Mapping[ApiName, tuple[int, int]] | None = None,
        groups: GroupSettings | None = None,
        transactions: TransactionSettings | None = None,
        ports: Sequence[int] = (),
        sasl: Sasl | None = None,
        certificate: Path | None = None,
        authority: Path | None = None,
    ) -> None:
        """Describe the brokers; they listen from `start`, or from `with`, on.

        Args:
            nodes: How many.
            topics: The topics there are, and how many partitions each has.
            clock: The clock, also for the brokers' timestamps; the system's clocks by default.
            auto_create: True if Metadata requests create missing topics.
            versions: The API versions to offer, for brokers older than kio.
            groups: The brokers' configuration of groups.
            transactions: The brokers' configuration of transactions.
            ports: A port for each; free ones by default.
            sasl: How clients authenticate; not at all by default.
            certificate: PEM file with its key and its certificate, for TLS; none by default.
            authority: PEM file with who vouches for the certificates of clients, where they
                have to have one.

        Raises:
            ValueError: The arguments make no sense together.
        """
        if ports and len(ports) != nodes:
            raise ValueError(f"{nodes} brokers need {nodes} ports, or none: {list(ports)}")
        self._clock: Clock = MonotonicClock() if clock is None else clock
        self._wall_ahead = (
            epoch_milliseconds() / 1000 - self._clock.now() if clock is None else 0.0
        )
        self._ports = tuple(ports) or (0,) * nodes
        self._topics = dict(topics or {})
        self._auto_create = auto_create
        self._versions = dict(versions or {})
        self._groups = groups
        self._transactions = transactions
        self._sasl = sasl
        self._certificate = certificate
        self._authority = authority
        self._server: Server | None = None
        self._thread: threading.Thread | None = None

    def __repr__(self) -> str:
        return f"EmbeddedBroker({self._server or 'not started'})"

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self,
        kind: "type[BaseException] | None",
        error: BaseException | None,
        traceback: "TracebackType | None",
    ) -> None:
        try:
            self.close()
        except Exception as own:
            if error is None:
                raise
            # What the test itself saw comes first; ours may well be its cause.
            error.add_note(f"and the embedded broker failed: {own!r}")

    @property
    def bootstrap(self) -> str:
        """The addresses, as `bootstrap.servers` takes them."""
        return ",".join(f"{LOOPBACK}:{port}" for port in self.ports)

    @property
    def ports(self) -> tuple[int, ...]:
        """The port of each broker, by node id from 1.

        Raises:
            RuntimeError: It is not started.
        """
        return self._running().ports

    def start(self) -> None:
        """Listen, and serve from now on.

        Raises:
            RuntimeError: It was started before.
            OSError: A port is taken.
        """
        if self._server is not None:
            raise RuntimeError("an embedded broker is started once")
        self._server = serve(
            self._ports,
            self._topics,
            self._clock,
            auto_create=self._auto_create,
            versions=self._versions,
            groups=self._groups,
            transactions=self._transactions,
            sasl=self._sasl,
            tls=self._context(),
            wall_ahead=self._wall_ahead,
        )
        self._thread = threading.Thread(
            target=self._server.run, name="prokurist-embedded-broker", daemon=True
        )
        self._thread.start()

    def _context(self) -> "SSLContext | None":
        if self._certificate is None:
            return None
        from prokurist.testing.server_tls import server_context  # noqa: PLC0415 - imports ssl

        return server_context(self._certificate, self._authority)

    def wait(self) -> None:
        """Block until it ends by itself: never, unless something is wrong."""
        if self._thread is not None:
            self._thread.join()

    def close(self) -> None:
        """End the thread and close every socket, within five seconds.

        Raises:
            RuntimeError: The thread does not end.
            Exception: An error of a handler, or a malformed request; several come as a group.
        """
        server, thread = self._server, self._thread
        if server is None or thread is None:
            return
        self._thread = None
        server.stop()
        thread.join(PATIENCE)
        if thread.is_alive():
            raise RuntimeError(f"the embedded broker's thread does not end: {server!r}")
        failures = server.take_failures()
        if len(failures) == 1:
            raise failures[0]
        if failures:
            raise BaseExceptionGroup("the embedded broker failed", failures)

    def take_failures(self) -> list[BaseException]:
        """Return the errors of the broker so far, so that `close` does not raise them.

        For tests that send malformed requests, or break a handler on purpose.
        """
        return self._running().take_failures()

    def _running(self) -> Server:
        if self._server is None:
            raise RuntimeError("the embedded broker is not started: use it in a with block")
        return self._server

    @contextmanager
    def _change(self) -> Iterator[Change]:
        with self._running().changing() as change:
            yield change


def main(arguments: Sequence[str] | None = None) -> int:
    """Serve a cluster until Ctrl-C."""
    parser = argparse.ArgumentParser(
        prog="python -m prokurist.testing.broker",
        description="An embedded Kafka broker, to play with. It keeps nothing.",
    )
    parser.add_argument("--nodes", type=int, default=1, help="how many brokers (1)")
    parser.add_argument(
        "--port", type=int, default=0, help="the first broker's port, the others follow"
    )
    parser.add_argument(
        "--topic",
        action="append",
        default=[],
        metavar="NAME:PARTITIONS",
        type=named_topic,
        help="a topic to begin with; may be given several times",
    )
    given = parser.parse_args(arguments)
    ports = [given.port + turn for turn in range(given.nodes)] if given.port else []
    try:
        with EmbeddedBroker(
            given.nodes, dict(given.topic), ports=ports, auto_create=True
        ) as broker:
            sys.stdout.write(f"bootstrap.servers={broker.bootstrap}\nCtrl-C ends it.\n")
            sys.stdout.flush()
            broker.wait()
    except KeyboardInterrupt:
        return 0
    except (OSError, ValueError) as error:
        sys.stderr.write(f"{parser.prog}: {error}\n")
        return 1
    return 0


def named_topic(text: str) -> tuple[str, int]:
    """`NAME:PARTITIONS`, or a name alone for one partition."""
    name, _, partitions = text.partition(":")
    return name, int(partitions or 1)


if __name__ == "__main__":
    sys.exit(main())
