"""The whole client on a stage: `KafkaConsumer` and all its side, on the cluster model.

Thread: as in production, the application's actor and the network's; brokers and wires
belong to the actor that has the baton.
"""

import math
import select

from prokurist.consumer.consumer import KafkaConsumer
from prokurist.events.clock import MonotonicClock
from prokurist.network_thread.io.network import Happening
from prokurist.network_thread.io.wakeup import Wakeup
from prokurist.producer.producer import KafkaProducer
from prokurist.testing.cluster.control import Control
from prokurist.testing.virtual_time.world import Client
from tests.simulation.lockstep.points import SteppedRLock
from tests.simulation.lockstep.stage import Stage
from tests.simulation.quiescence import check_closed
from tests.simulation.world import BUILT, Clock, Member, Sender, SimulatedNetwork, World


class StageClock(Clock):
    """The time of a stage, for the model."""

    def __init__(self, world: World, stage: Stage) -> None:
        self._stage = stage
        super().__init__(world)

    @property
    def time(self) -> float:
        """The moment."""
        return self._stage.time

    @time.setter
    def time(self, moment: float) -> None:
        """The stage alone moves it."""


class StageNetwork(SimulatedNetwork):
    """Waits as an actor does, and is woken by the real pipe."""

    def __init__(self, world: "StageWorld", stage: Stage) -> None:
        super().__init__(world)
        self._stage = stage
        self._wakeup = Wakeup()
        self._readable = select.poll()
        self._readable.register(self._wakeup.fileno(), select.POLLIN)

    def wake(self) -> None:
        """End the wait."""
        self._wakeup.ask()

    def _is_ready(self) -> bool:
        self.world.carry()
        return bool(self._readable.poll(0)) or self.next_due() <= self._stage.time

    def poll(self, seconds: float | None) -> list[Happening]:
        """Wait for a wake-up or for something to come."""
        until = math.inf if seconds is None else self._stage.time + seconds
        self._stage.wait(self._is_ready, until, "the network")
        if self._readable.poll(0):
            self._wakeup.taken()
        return super().poll(seconds)


class StageWorld(World):
    """A world whose clients have threads."""

    def __init__(self, stage: Stage) -> None:
        self._stage = stage
        super().__init__(nodes=1, seed=1)
        # The stage looks after it, and does so in thousands of runs.
        BUILT.remove(self)
        self.clock = StageClock(self, stage)
        self.control = Control(self.cluster, self.clock)
        stage.due = self._next
        stage.rules.append(self._nothing_lies_about)

    def _next(self) -> float:
        due = self.cluster.next_due()
        wires = [member.network.next_due() for member in self.clients]
        return min([math.inf if due is None else due, *wires])

    def network(self) -> SimulatedNetwork:
        """See `World`."""
        return StageNetwork(self, self._stage)

    def start(self, member: "Client[SimulatedNetwork]") -> None:
        """See `World`."""
        member.thread.start()

    def stage_consumer(self, **keys: object) -> KafkaConsumer:
        """A consumer that waits by the real clock, of which the stage has the time."""
        member = self.client(None, fetches=False, **keys)
        return KafkaConsumer.wired(member.config, MonotonicClock(), member.side)

    def stage_producer(self, stage: Stage, **keys: object) -> KafkaProducer:
        """A producer in the same way; senders and the network thread meet at its lock."""
        sender = self.sender(None, **keys)
        lock = sender.side.accumulator.appender.lock = SteppedRLock(stage)  # type: ignore[assignment]
        if (transaction := sender.side.accumulator.transaction) is not None:
            transaction._lock = lock  # type: ignore[assignment]
        clock = MonotonicClock()
        sender.side.accumulator.wait = clock.wait
        return KafkaProducer.wired(sender.config, clock, sender.side)

    def _nothing_lies_about(self) -> None:
        for member in self.clients:
            assert not len(member.thread.mailbox), f"{member.thread.mailbox!r}: no reader comes"

    def judge(self, *, mortal: bool = False) -> None:
        """See that nothing is left, and that no thread died that was not to."""
        members: list[Member | Sender] = [*self.members, *self.senders]
        for member in members:
            if member.thread.died_of is not None and not mortal:
                raise AssertionError("the thread died") from member.thread.died_of
            check_closed(member)
        assert not self.cluster.failures, "the client sent what a broker cannot read"
