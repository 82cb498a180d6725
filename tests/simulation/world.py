"""The world of `prokurist.testing.virtual_time`, with what our own tests want of it.

Its network is strict with the client and has faults of its own, its clients are made of
keys, what is told is held against the table, and requests can be made without a consumer
around them.
"""

from math import inf
from typing import TypeAlias

from prokurist.admin.admin import KafkaAdmin
from prokurist.config import (
    AdminConfig,
    ConsumerConfig,
    ProducerConfig,
    ShareConsumerConfig,
)
from prokurist.consumer.consumer import KafkaConsumer
from prokurist.events.application_events import ApplicationEvent
from prokurist.events.call import Call
from prokurist.events.clock import Deadline
from prokurist.network_thread.io.network import Happening, Lost, SocketAddress, Written
from prokurist.network_thread.wire.versions import Versions
from prokurist.producer.producer import KafkaProducer
from prokurist.share.consumer import KafkaShareConsumer
from prokurist.testing.cluster.session import Delivery
from prokurist.testing.virtual_time import world as virtual_time
from prokurist.testing.virtual_time.network import LATENCY, ModelNetwork
from prokurist.testing.virtual_time.world import Clock, Spinning
from tests.recorded_events import check

__all__ = [
    "BUILT",
    "LATENCY",
    "Clock",
    "Member",
    "SimulatedNetwork",
    "Spinning",
    "World",
]


class SimulatedNetwork(ModelNetwork):
    """A network that knows what a client may do, and that can be jammed and blocked."""

    def __init__(self, world: "World") -> None:
        super().__init__(world)
        self.connects = 0
        self.unreachable: set[SocketAddress] = set()
        self.last_frame = b""
        self.over = False
        self.jammed = False
        self.longest: float = inf
        self._begun: dict[int, tuple[int, int]] = {}
        self._stuck: dict[int, bytes] = {}

    def connect(self, connection: int, address: SocketAddress, server_name: str = "") -> None:
        """Begin to connect."""
        self.connects += 1
        if address in self.unreachable:
            self._connecting.add(connection)
            return  # Its packets are lost: nothing ever comes of it.
        super().connect(connection, address, server_name)

    def write(self, connection: int, frame: bytes | bytearray) -> None:
        """Write a frame; it reaches the broker a little later."""
        assert self.writable(connection), f"{connection} is not writable"
        assert int.from_bytes(frame[:4]) == len(frame) - 4
        if self.jammed:
            self.bytes_sent += len(frame)
            self._stuck[connection] = bytes(frame)
            return
        super().write(connection, frame)

    def writable(self, connection: int) -> bool:
        """Whether the connection stands, and nothing unwritten is left."""
        return super().writable(connection) and connection not in self._stuck

    def close(self, connection: int) -> None:
        """End a connection; what was written is on its way all the same."""
        self._stuck.pop(connection, None)
        self._begun.pop(connection, None)
        super().close(connection)

    def arriving(self, connection: int) -> tuple[int, int] | None:
        """How much has come of an answer that is too long for its time."""
        return self._begun.get(connection)

    def poll(self, seconds: float | None) -> list[Happening]:
        """What has happened by now; the world does the waiting."""
        assert seconds is None or seconds >= 0
        assert not self.over
        happenings = super().poll(seconds)
        for happening in happenings:
            if isinstance(happening, Lost):
                self._stuck.pop(happening.connection, None)
        return happenings

    def shutdown(self) -> None:
        """Close everything."""
        super().shutdown()
        self.over = True

    # --- the world's side ------------------------------------------------------------

    def block(self, host: str, port: int) -> None:
        """From now on nothing reaches an address, without an error."""
        self.unreachable.add(SocketAddress(host, port))

    def slow(self, longest: float) -> None:
        """From now on there is time for so many bytes of an answer and no more."""
        self.longest = longest

    def jam(self) -> None:
        """From now on the kernel takes one frame of each connection, and not the end of it."""
        self.jammed = True

    def unjam(self) -> None:
        """What is stuck goes on its way."""
        self.jammed = False
        at = self.world.clock.time + LATENCY
        stuck, self._stuck = self._stuck, {}
        for connection, frame in stuck.items():
            self._outgoing.append((at, connection, frame[4:]))
            self._queue.append((at, connection, Written(connection)))

    def deliver(self, delivery: Delivery) -> None:
        """Something came from a broker."""
        self.last_frame = delivery.frame
        if len(delivery.frame) > self.longest:
            for number, session in self._sessions.items():
                if session is delivery.session:
                    self._begun[number] = int(self.longest), len(delivery.frame)
            return
        super().deliver(delivery)


Member: TypeAlias = virtual_time.Member[SimulatedNetwork]
"""A consumer's network side in the world."""

Sender: TypeAlias = virtual_time.Sender[SimulatedNetwork]
"""A producer's network side in the world."""

Administrator: TypeAlias = virtual_time.Administrator[SimulatedNetwork]
"""An admin client's network side in the world."""

Sharer: TypeAlias = virtual_time.Sharer[SimulatedNetwork]
"""A share consumer's network side in the world."""

BUILT: "list[World]" = []
"""Those of the present test, for the fixture that looks after them at its end."""


class World(virtual_time.World[SimulatedNetwork]):
    """Brokers, clients and their time; see `virtual_time.World` for what it is made of."""

    def __post_init__(self) -> None:
        super().__post_init__()
        BUILT.append(self)

    def client(
        self, cap: Versions | None = None, *, fetches: bool = True, **keys: object
    ) -> Member:
        """A consumer's network side, running.

        Without fetches no records come, for tests of all else that polls do.
        """
        settings: dict[str, object] = {"bootstrap.servers": self.bootstrap, "group.id": "g"}
        settings.update({name.replace("_", "."): value for name, value in keys.items()})
        member = self.join(ConsumerConfig(settings), cap)
        member.side.trace.read_by(check, fine=False)
        member.side.fetches._closed = not fetches
        self.start(member)
        return member

    def network(self) -> SimulatedNetwork:
        """What a client is wired to."""
        return SimulatedNetwork(self)

    def consumer(
        self, cap: Versions | None = None, *, fetches: bool = True, **keys: object
    ) -> KafkaConsumer:
        """A consumer that lives in this world; see `client`."""
        member = self.client(cap, fetches=fetches, **keys)
        return KafkaConsumer.wired(member.config, self.clock, member.side)

    def sender(self, cap: Versions | None = None, **keys: object) -> Sender:
        """A producer's network side, running."""
        settings: dict[str, object] = {"bootstrap.servers": self.bootstrap}
        settings.update({name.replace("_", "."): value for name, value in keys.items()})
        sender = self.join_producer(ProducerConfig(settings), cap)
        sender.side.trace.read_by(check, fine=False)
        self.start(sender)
        return sender

    def producer(self, cap: Versions | None = None, **keys: object) -> KafkaProducer:
        """A producer that lives in this world."""
        sender = self.sender(cap, **keys)
        return KafkaProducer.wired(sender.config, self.clock, sender.side)

    def administrator(self, cap: Versions | None = None, **keys: object) -> Administrator:
        """An admin client's network side, running."""
        settings: dict[str, object] = {"bootstrap.servers": self.bootstrap}
        settings.update({name.replace("_", "."): value for name, value in keys.items()})
        made = self.join_admin(AdminConfig(settings), cap)
        made.side.trace.read_by(check, fine=False)
        self.start(made)
        return made

    def admin(self, cap: Versions | None = None, **keys: object) -> KafkaAdmin:
        """An admin client that lives in this world."""
        made = self.administrator(cap, **keys)
        return KafkaAdmin.wired(made.config, self.clock, made.side)

    def sharer(self, cap: Versions | None = None, **keys: object) -> Sharer:
        """A share consumer's network side, running."""
        settings: dict[str, object] = {"bootstrap.servers": self.bootstrap, "group.id": "s"}
        settings.update({name.replace("_", "."): value for name, value in keys.items()})
        made = self.join_share(ShareConsumerConfig(settings), cap)
        made.side.trace.read_by(check, fine=False)
        self.start(made)
        return made

    def share_consumer(self, cap: Versions | None = None, **keys: object) -> KafkaShareConsumer:
        """A share consumer that lives in this world."""
        made = self.sharer(cap, **keys)
        return KafkaShareConsumer.wired(made.config, self.clock, made.side)

    # --- calling ---------------------------------------------------------------------

    def call(self, operation: str, timeout: float) -> Call:
        """A call that begins now."""
        now = self.clock.time
        return Call(operation, now, Deadline.after(now, timeout))

    def ask(self, member: Member, event: ApplicationEvent) -> object:
        """Post an event and wait for its call, as a public call does."""
        call: Call = event.call
        member.thread.mailbox.post(event)
        if not self.clock.wait(call.waiter, call.deadline.at):
            call.leave(self.clock.time)
        return call.result()
