"""A world in virtual time: the real network thread, and a cluster model as its network.

Time stands still while somebody has something to do, and then jumps to the next
moment at which something is due. So a test of thirty seconds takes milliseconds,
and a loop that spins is one that turns without end at one moment: that is an
error here.
"""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from random import Random

from prokurist.assembly import Machinery, consumer_machinery
from prokurist.config import ConsumerConfig
from prokurist.consumer.consumer import KafkaConsumer
from prokurist.errors import NetworkException
from prokurist.events.application_events import ApplicationEvent
from prokurist.events.call import Call
from prokurist.events.clock import Deadline
from prokurist.events.gate import Gate
from prokurist.network_thread.io.network import (
    Connected,
    Happening,
    Lost,
    SocketAddress,
    Written,
)
from prokurist.network_thread.thread import Life, NetworkThread
from prokurist.network_thread.wire.versions import Versions
from prokurist.testing.cluster.cluster import Cluster
from prokurist.testing.cluster.control import Control
from prokurist.testing.cluster.session import Delivery, Session
from prokurist.types import Node
from tests.simulation.delivering import told
from tests.simulation.names import Names
from tests.telling import check

LATENCY = 0.001
"""From the client to a broker, and back."""

MOST_TURNS_AT_ONE_MOMENT = 500


class Spinning(AssertionError):
    """The loop turns and turns, and time does not go on."""


@dataclass
class Clock:
    """Virtual time; waiting is living through what happens until then."""

    world: "World"
    time: float = 1000.0

    def now(self) -> float:
        """The moment."""
        return self.time

    def sleep(self, seconds: float) -> None:
        """Let time pass."""
        self.world.run(self.time + max(seconds, 0.0))

    def wait(self, gate: Gate, until: float) -> bool:
        """Wait at a gate, as an application thread does."""
        return self.world.run(until, gate)


class SimulatedNetwork:
    """A `Network` whose far end is the cluster model."""

    def __init__(self, world: "World") -> None:
        self.world = world
        self.turns = self.wakes = self.bytes_received = self.bytes_sent = 0
        self.connects = 0
        self.unreachable: set[SocketAddress] = set()
        self.woken = False
        self.told = False
        self.last_frame = b""
        self.over = False
        self.jammed = False
        self._stuck: dict[int, bytes] = {}
        self._sessions: dict[int, Session] = {}
        self._connecting: set[int] = set()
        self._queue: list[tuple[float, int, Happening]] = []
        self._outgoing: list[tuple[float, int, bytes]] = []

    def connect(self, connection: int, address: SocketAddress) -> None:
        """Begin to connect."""
        self.connects += 1
        self._connecting.add(connection)
        at = self.world.clock.time + LATENCY
        if address in self.unreachable:
            return  # Its packets are lost: nothing ever comes of it.
        try:
            node = self.world.broker_at(address)
            session = self.world.cluster.connect(node, self.world.clock.time)
        except ConnectionRefusedError as error:
            lost = NetworkException(f"{address} refuses connections")
            lost.__cause__ = error.with_traceback(None)
            self._queue.append((at, connection, Lost(connection, lost)))
        else:
            self._sessions[connection] = session
            self._queue.append((at, connection, Connected(connection)))

    def write(self, connection: int, frame: bytes) -> None:
        """Write a frame; it reaches the broker a little later."""
        assert self.writable(connection), f"{connection} is not writable"
        assert int.from_bytes(frame[:4]) == len(frame) - 4
        self.bytes_sent += len(frame)
        if self.jammed:
            self._stuck[connection] = frame
            return
        self._outgoing.append((self.world.clock.time + LATENCY, connection, frame[4:]))

    def writable(self, connection: int) -> bool:
        """Whether the connection stands, and nothing unwritten is left."""
        return (
            connection in self._sessions
            and connection not in self._connecting
            and connection not in self._stuck
        )

    def close(self, connection: int) -> None:
        """End a connection; what was written is on its way all the same."""
        self._connecting.discard(connection)
        self._stuck.pop(connection, None)
        session = self._sessions.pop(connection, None)
        if session is not None:
            for entry in [each for each in self._outgoing if each[1] == connection]:
                self._outgoing.remove(entry)
                session.receive(entry[2], self.world.clock.time)
            session.close(self.world.clock.time)
        self._queue = [entry for entry in self._queue if entry[1] != connection]

    def poll(self, seconds: float | None) -> list[Happening]:
        """What has happened by now; the world does the waiting."""
        assert seconds is None or seconds >= 0
        assert not self.over
        self.turns += 1
        self.woken = False
        now = self.world.clock.time
        ready = [entry for entry in self._queue if entry[0] <= now]
        self._queue = [entry for entry in self._queue if entry[0] > now]
        self.told = bool(ready)
        for _, connection, happening in ready:
            if isinstance(happening, Connected):
                self._connecting.discard(connection)
            elif isinstance(happening, Lost):
                self._connecting.discard(connection)
                self._stuck.pop(connection, None)
                self._sessions.pop(connection, None)
        return [happening for _, _, happening in ready]

    def wake(self) -> None:
        """End the wait."""
        self.wakes += 1
        self.woken = True

    def shutdown(self) -> None:
        """Close everything."""
        for connection in tuple(self._sessions):
            self.close(connection)
        self.over = True

    # --- the world's side ------------------------------------------------------------

    def block(self, host: str, port: int) -> None:
        """From now on nothing reaches an address, and nobody says so."""
        self.unreachable.add(SocketAddress(host, port))

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
        at = self.world.clock.time + LATENCY
        for connection, each in self._sessions.items():
            if each is delivery.session:
                self._queue += [(at, connection, each) for each in told(delivery, connection)]

    def carry(self) -> None:
        """Let what was written reach the brokers."""
        now = self.world.clock.time
        arrived = [entry for entry in self._outgoing if entry[0] <= now]
        self._outgoing = [entry for entry in self._outgoing if entry[0] > now]
        for _, connection, frame in arrived:
            session = self._sessions.get(connection)
            if session is not None:
                session.receive(frame, now)

    def next_due(self) -> float:
        """When something moves on the wires."""
        return min([entry[0] for entry in (*self._queue, *self._outgoing)], default=math.inf)

    @property
    def open(self) -> int:
        """How many connections stand."""
        return len(self._sessions)


@dataclass
class Member:
    """A client in the world."""

    config: ConsumerConfig
    machinery: Machinery
    network: SimulatedNetwork
    names: Names

    @property
    def thread(self) -> NetworkThread:
        """Its network thread, of which the world runs the turns."""
        return self.machinery.thread

    def due(self) -> float:
        """When its loop has something to do."""
        if self.thread.life is not Life.RUNNING:
            return math.inf
        # A loop that was told something comes round again before it waits.
        if self.network.woken or self.network.told or not self.thread.turns:
            return -math.inf
        top = self.machinery.timer.top()
        return math.inf if top is None else top.at


BUILT: "list[World]" = []
"""Those of the present test, for the fixture that looks after them at its end."""


@dataclass
class World:
    """Brokers, clients and their time.

    Attributes:
        nodes: How many brokers.
        topics: How many partitions each topic has.
        seed: For the jitter of pauses, and whatever else is drawn by lot.
        hosts: The addresses behind each broker's name, in the brokers' order; without
            any, brokers advertise numbers, and nothing is looked up.
    """

    nodes: int = 1
    topics: dict[str, int] = field(default_factory=lambda: {"orders": 3})
    seed: int = 1
    hosts: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        BUILT.append(self)
        self.clock = Clock(self)
        self.random = Random(self.seed)  # noqa: S311 - a replayable seed
        hosts = list(self.hosts) or [f"10.0.0.{number + 1}" for number in range(self.nodes)]
        brokers = [Node(number + 1, host, 9092) for number, host in enumerate(hosts)]
        self.cluster = Cluster(brokers, self.topics)
        self.control = Control(self.cluster, self.clock)
        self.members: list[Member] = []
        self._turns_now = 0
        self._plans: list[tuple[float, Callable[[], object]]] = []

    # --- building --------------------------------------------------------------------

    def address(self, node: int) -> str:
        """What a broker advertises."""
        broker = self.cluster.state.broker(node)
        return f"{broker.node.host}:{broker.node.port}"

    def broker_at(self, address: SocketAddress) -> int:
        """Which broker listens there.

        Raises:
            ConnectionRefusedError: None does.
        """
        for each in self.cluster.state.brokers.values():
            hosts = self.hosts.get(each.node.host, (each.node.host,))
            if address.host in hosts and address.port == each.node.port:
                return each.node.id
        raise ConnectionRefusedError(f"nobody listens at {address}")

    def client(
        self, cap: Versions | None = None, *, fetches: bool = True, **keys: object
    ) -> Member:
        """A consumer's network side, running.

        Without fetches no records come, for tests of all else that polls do.
        """
        settings: dict[str, object] = {
            "bootstrap.servers": [self.address(node) for node in self.cluster.state.brokers],
            "group.id": "g",
        }
        settings.update({name.replace("_", "."): value for name, value in keys.items()})
        network = self.network()
        names = Names(self, network.wake)
        config = ConsumerConfig(settings)
        machinery = consumer_machinery(
            config,
            clock=self.clock,
            network=network,
            resolver=names,
            random=self.random,
            software=("prokurist", "0"),
            cap=cap,
        )
        machinery.trace.read_by(check, fine=False)
        machinery.fetches._closed = not fetches
        member = Member(config, machinery, network, names)
        self.members.append(member)
        self.start(member)
        return member

    def network(self) -> SimulatedNetwork:
        """What a client is wired to."""
        return SimulatedNetwork(self)

    def start(self, member: Member) -> None:
        """Have a client's loop turn: it is the world that turns it, and no thread."""
        member.thread.life = Life.RUNNING

    def consumer(
        self, cap: Versions | None = None, *, fetches: bool = True, **keys: object
    ) -> KafkaConsumer:
        """A consumer that lives in this world; see `client`."""
        member = self.client(cap, fetches=fetches, **keys)
        return KafkaConsumer.wired(member.config, self.clock, member.machinery)

    # --- living ----------------------------------------------------------------------

    def at(self, moment: float, action: Callable[[], object]) -> None:
        """Have something happen at a moment, whoever waits then: a signal, another thread."""
        self._plans.append((moment, action))

    def run(self, until: float, gate: Gate | None = None) -> bool:
        """Live until a gate opens or a moment has come: whether the gate is open."""
        while True:
            if gate is not None and gate.is_open:
                return True
            if self._step():
                continue
            due = self._next_due()
            if min(due, until) == math.inf:
                raise AssertionError("everybody waits, and nothing will ever happen")
            if due >= until:
                self._go_to(until)
                return gate is not None and gate.is_open
            self._go_to(due)

    def _go_to(self, moment: float) -> None:
        if moment > self.clock.time:
            self.clock.time = moment
            self._turns_now = 0

    def _step(self) -> bool:
        """Do one thing that is due now: whether there was one."""
        now = self.clock.time
        for plan in [each for each in self._plans if each[0] <= now]:
            self._plans.remove(plan)
            plan[1]()
            return True
        self.carry()
        for member in self.members:
            ready = member.network.next_due() <= now and member.thread.life is Life.RUNNING
            if ready or member.due() <= now:
                self._turns_now += 1
                if self._turns_now > MOST_TURNS_AT_ONE_MOMENT:
                    raise Spinning(f"{member.thread!r} spins: {member.machinery.timer!r}")
                member.thread.guarded_turn()
                return True
        return False

    def carry(self) -> None:
        """Let what is on the wires arrive, on both sides."""
        for member in self.members:
            member.network.carry()
        for delivery in self.cluster.advance(self.clock.time):
            for member in self.members:
                member.network.deliver(delivery)

    def _next_due(self) -> float:
        due = self.cluster.next_due()
        moments = [math.inf if due is None else due, *(at for at, _ in self._plans)]
        for member in self.members:
            # What has come for a loop that stands still waits until it goes on.
            if member.thread.life is Life.RUNNING:
                moments += [member.due(), member.network.next_due()]
        return min(moments)

    # --- calling ---------------------------------------------------------------------

    def call(self, operation: str, timeout: float) -> Call:
        """A call that begins now."""
        now = self.clock.time
        return Call(operation, now, Deadline.after(now, timeout))

    def ask(self, member: Member, event: ApplicationEvent) -> object:
        """Post an event and wait for its call, as a public call does."""
        call: Call = event.call
        member.thread.mailbox.post(event)
        if not self.clock.wait(call.gate, call.deadline.at):
            call.leave(self.clock.time)
        return call.result()
