"""A world in virtual time: the real network thread, and a cluster model as its network.

Time stands still while any client has something to do, and then jumps to the next
moment at which something is due. So thirty seconds take milliseconds, and a loop that
spins is one that turns without end at one moment: that is an error here.

Thread: the one that calls; it turns the loops of all clients itself.
"""

import math
from abc import abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import field
from random import Random
from typing import Any, Final, Generic, TypeVar

from prokurist.assembly.admin import AdminSide
from prokurist.assembly.consumer import ConsumerSide
from prokurist.assembly.network_side import System, trace_of
from prokurist.assembly.producer import ProducerSide
from prokurist.assembly.share import ShareSide
from prokurist.config import (
    AdminConfig,
    ConsumerConfig,
    ProducerConfig,
    ShareConsumerConfig,
)
from prokurist.config.connection import ConnectionKeys
from prokurist.events.waiter import Waiter
from prokurist.lazy_dataclasses import dataclass
from prokurist.network_thread.connections.authentication import Authenticator
from prokurist.network_thread.io.network import SocketAddress
from prokurist.network_thread.operations.timer import Timer
from prokurist.network_thread.thread import Life, NetworkThread
from prokurist.network_thread.wire.versions import Versions
from prokurist.security.cloud_request import CloudRequest
from prokurist.security.mechanisms import ConfiguredMechanisms
from prokurist.security.token_request import Endpoint, EndpointAnswer
from prokurist.testing.cluster.cluster import Cluster
from prokurist.testing.cluster.control import Control
from prokurist.testing.virtual_time.helping import Helping
from prokurist.testing.virtual_time.names import Names
from prokurist.testing.virtual_time.network import ModelNetwork
from prokurist.types import Node

Wire = TypeVar("Wire", bound=ModelNetwork)

MOST_TURNS_AT_ONE_MOMENT: Final = 500

SOFTWARE: Final = ("prokurist", "0")
"""The name and version that the model's brokers are told."""


class Spinning(AssertionError):
    """The loop turns and turns, and time does not go on."""


@dataclass
class Clock:
    """Virtual time; a wait lives through everything that happens until then."""

    world: "World[Any]"
    time: float = 1000.0

    def now(self) -> float:
        """The moment."""
        return self.time

    def sleep(self, seconds: float) -> None:
        """Let time pass."""
        self.world.run(self.time + max(seconds, 0.0))

    def wait(self, waiter: Waiter, until: float) -> bool:
        """Wait on a waiter, as an application thread does."""
        return self.world.run(until, waiter)


@dataclass
class Client(Generic[Wire]):
    """A client in the world.

    Attributes:
        thread: Its network thread; the world runs its turns.
        timer: Its Timer.
        network: Its network.
        names: Looks hosts up for it.
        helping: Runs jobs of its helper thread.
    """

    thread: NetworkThread
    timer: Timer
    network: Wire
    names: Names
    helping: Helping

    def due(self) -> float:
        """When its loop has something to do."""
        if self.thread.life is not Life.RUNNING:
            return math.inf
        # A loop that was told something comes round again before it waits.
        if self.network.woken or self.network.told or not self.thread.turns:
            return -math.inf
        top = self.timer.top()
        return math.inf if top is None else top.at


@dataclass
class Member(Client[Wire]):
    """A consumer's network side in the world."""

    config: ConsumerConfig
    side: ConsumerSide


@dataclass
class Sender(Client[Wire]):
    """A producer's network side in the world."""

    config: ProducerConfig
    side: ProducerSide


@dataclass
class Administrator(Client[Wire]):
    """An admin client's network side in the world."""

    config: AdminConfig
    side: AdminSide


@dataclass
class Sharer(Client[Wire]):
    """A share consumer's network side in the world."""

    config: ShareConsumerConfig
    side: ShareSide


@dataclass
class World(Generic[Wire]):
    """Brokers, clients and their time.

    Attributes:
        nodes: How many brokers.
        topics: How many partitions each topic has.
        seed: For the jitter of pauses, and all else that is random.
        hosts: The addresses behind each broker's name, in the brokers' order; without
            any, brokers advertise numbers, and nothing is looked up.
    """

    nodes: int = 1
    topics: dict[str, int] = field(default_factory=lambda: {"orders": 3})
    seed: int = 1
    hosts: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.clock: Clock = Clock(self)
        self.random: Random = Random(self.seed)  # noqa: S311 - a replayable seed
        hosts = list(self.hosts) or [f"10.0.0.{number + 1}" for number in range(self.nodes)]
        brokers = [Node(number + 1, host, 9092) for number, host in enumerate(hosts)]
        self.cluster: Cluster = Cluster(brokers, self.topics)
        self.control: Control = Control(self.cluster, self.clock)
        self.members: list[Member[Wire]] = []
        self.senders: list[Sender[Wire]] = []
        self.administrators: list[Administrator[Wire]] = []
        self.sharers: list[Sharer[Wire]] = []
        self._turns_now = 0
        self._plans: list[tuple[float, Callable[[], object]]] = []

    # --- building --------------------------------------------------------------------

    def address(self, node: int) -> str:
        """Return a broker's advertised address."""
        broker = self.cluster.state.broker(node)
        return f"{broker.node.host}:{broker.node.port}"

    @property
    def bootstrap(self) -> list[str]:
        """Advertised addresses of all brokers."""
        return [self.address(node) for node in self.cluster.state.brokers]

    def broker_at(self, address: SocketAddress) -> int:
        """Return the broker that listens at an address.

        Raises:
            ConnectionRefusedError: None does.
        """
        for each in self.cluster.state.brokers.values():
            hosts = self.hosts.get(each.node.host, (each.node.host,))
            if address.host in hosts and address.port == each.node.port:
                return each.node.id
        raise ConnectionRefusedError(f"nothing listens at {address}")

    def join(self, config: ConsumerConfig, cap: Versions | None = None) -> Member[Wire]:
        """A consumer's network side; it runs from `start` on.

        Args:
            config: Its configuration.
            cap: Upper bounds on versions.
        """
        network = self.network()
        names = Names(self, network.wake)
        helping = Helping(self, network.wake)
        system = System(
            clock=self.clock,
            network=network,
            resolver=names,
            random=self.random,
            software=SOFTWARE,
            cap=cap,
            authenticator=self._authenticator(config, helping),
        )
        trace = trace_of(config, "consumer", config.group_id, self.clock)
        side = ConsumerSide(config, trace, system)
        member = Member(side.thread, side.timer, network, names, helping, config, side)
        self.members.append(member)
        return member

    def join_producer(
        self, config: ProducerConfig, cap: Versions | None = None
    ) -> Sender[Wire]:
        """A producer's network side; it runs from `start` on.

        Args:
            config: Its configuration.
            cap: Upper bounds on versions.
        """
        network = self.network()
        names = Names(self, network.wake)
        helping = Helping(self, network.wake)
        system = System(
            clock=self.clock,
            network=network,
            resolver=names,
            random=self.random,
            software=SOFTWARE,
            cap=cap,
            time_of_day=lambda: round(self.clock.time * 1000),
            authenticator=self._authenticator(config, helping),
        )
        trace = trace_of(config, "producer", None, self.clock)
        side = ProducerSide(config, trace, system)
        sender = Sender(side.thread, side.timer, network, names, helping, config, side)
        self.senders.append(sender)
        return sender

    def join_admin(
        self, config: AdminConfig, cap: Versions | None = None
    ) -> Administrator[Wire]:
        """An admin client's network side; it runs from `start` on.

        Args:
            config: Its configuration.
            cap: Upper bounds on versions.
        """
        network = self.network()
        names = Names(self, network.wake)
        helping = Helping(self, network.wake)
        system = System(
            clock=self.clock,
            network=network,
            resolver=names,
            random=self.random,
            software=SOFTWARE,
            cap=cap,
            time_of_day=lambda: round(self.clock.time * 1000),
            authenticator=self._authenticator(config, helping),
        )
        trace = trace_of(config, "admin", None, self.clock)
        side = AdminSide(config, trace, system)
        made = Administrator(side.thread, side.timer, network, names, helping, config, side)
        self.administrators.append(made)
        return made

    def join_share(
        self, config: ShareConsumerConfig, cap: Versions | None = None
    ) -> Sharer[Wire]:
        """A share consumer's network side; it runs from `start` on.

        Args:
            config: Its configuration.
            cap: Upper bounds on versions.
        """
        network = self.network()
        names = Names(self, network.wake)
        helping = Helping(self, network.wake)
        system = System(
            clock=self.clock,
            network=network,
            resolver=names,
            random=self.random,
            software=SOFTWARE,
            cap=cap,
            authenticator=self._authenticator(config, helping),
        )
        trace = trace_of(config, "share-consumer", config.group_id, self.clock)
        side = ShareSide(config, trace, system)
        made = Sharer(side.thread, side.timer, network, names, helping, config, side)
        self.sharers.append(made)
        return made

    def _authenticator(self, config: ConnectionKeys, helping: Helping) -> Authenticator | None:
        if not config.security_protocol.startswith("SASL"):
            return None
        mechanisms = ConfiguredMechanisms(
            config,
            endpoint=no_endpoint,
            ask=no_cloud,
            now=lambda: self.clock.time,
            draw=self.random.random,
        )
        return Authenticator(mechanisms, helping, self.random.random)

    @abstractmethod
    def network(self) -> Wire:
        """Return a new client's network."""

    def start(self, member: Client[Wire]) -> None:
        """Have a client's loop turn: it is the world that turns it, and no thread."""
        member.thread.life = Life.RUNNING

    # --- living ----------------------------------------------------------------------

    @property
    def clients(self) -> list[Client[Wire]]:
        """All of them, consumers first."""
        return [*self.members, *self.senders, *self.administrators, *self.sharers]

    def at(self, moment: float, action: Callable[[], object]) -> None:
        """Have something happen at a moment, in any wait: a signal, another thread."""
        self._plans.append((moment, action))

    def run(self, until: float, waiter: Waiter | None = None) -> bool:
        """Live until a waiter opens or a moment has come; return True if it is open."""
        while True:
            if waiter is not None and waiter.is_open:
                return True
            if self._step():
                continue
            due = self._next_due()
            if min(due, until) == math.inf:
                raise AssertionError("every thread waits, and no event is due")
            if due >= until:
                self._go_to(until)
                return waiter is not None and waiter.is_open
            self._go_to(due)

    def _go_to(self, moment: float) -> None:
        if moment > self.clock.time:
            self.clock.time = moment
            self._turns_now = 0

    def _step(self) -> bool:
        """Do one due action; return True if there was one."""
        now = self.clock.time
        for plan in self._plans:
            if plan[0] <= now:
                self._plans.remove(plan)
                plan[1]()
                return True
        self.carry()
        for member in self.clients:
            if member.thread.life is Life.RUNNING and (
                member.network.next_due() <= now or member.due() <= now
            ):
                self._turns_now += 1
                if self._turns_now > MOST_TURNS_AT_ONE_MOMENT:
                    raise Spinning(f"{member.thread!r} spins: {member.timer!r}")
                member.thread.guarded_turn()
                return True
        return False

    def carry(self) -> None:
        """Deliver bytes on the wires, on both sides."""
        for member in self.clients:
            member.network.carry()
        for delivery in self.cluster.advance(self.clock.time):
            for member in self.clients:
                member.network.deliver(delivery)

    def _next_due(self) -> float:
        due = self.cluster.next_due()
        moments = [math.inf if due is None else due, *(at for at, _ in self._plans)]
        for member in self.clients:
            # What has come for a loop that stands still waits until it goes on.
            if member.thread.life is Life.RUNNING:
                moments += [member.due(), member.network.next_due()]
        return min(moments)

    def __repr__(self) -> str:
        return f"World({len(self.clients)} clients, {self.cluster!r}, at {self.clock.time:g})"


def no_endpoint(url: str) -> Endpoint:
    """There is no HTTP in virtual time."""
    raise AssertionError(f"nothing answers at {url} in virtual time")


def no_cloud(request: CloudRequest) -> EndpointAnswer:
    """Refuse to ask a cloud's service: the simulated world has none."""
    raise AssertionError(request)
