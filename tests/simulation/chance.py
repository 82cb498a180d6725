"""A life by lot: calls and faults in virtual time, all of it out of one seed."""

from random import Random
from typing import TYPE_CHECKING, Final

from prokurist.events.application_events import Commit, LookUpCommitted, Withdraw
from prokurist.events.call import Call
from prokurist.testing.cluster.apis import ApiName
from prokurist.testing.cluster.steering import Fault
from tests.simulation.rest import check_at_rest
from tests.simulation.witness import MARK, SHARED, Watched, Witness
from tests.simulation.world import Member, World

if TYPE_CHECKING:
    from collections.abc import Callable

APIS: Final[tuple[ApiName | None, ...]] = (
    None,
    "ApiVersions",
    "Metadata",
    "FindCoordinator",
    "OffsetCommit",
    "OffsetCommit",
    "OffsetFetch",
    "OffsetFetch",
)
CODES: Final = (3, 7, 14, 15, 15, 16, 16, 22, 25, 29, 30, 35, 42, 88, 100, 32000, -1)
"""Retriable ones, fatal ones, and some that nobody knows."""

LONGEST: Final = 5.0


class ByLot:
    """One life.

    Args:
        seed: Everything comes of it.

    Attributes:
        log: What happened, for whoever reads a failure.
    """

    def __init__(self, seed: int) -> None:
        self.lot = Random(seed)  # noqa: S311 - a replayable seed
        brokers = self.lot.choice((1, 1, 2, 3))
        hosts = {}
        if self.lot.random() < 0.2:
            hosts = {
                f"kafka-{n}": tuple(
                    f"10.0.{n}.{each}" for each in range(self.lot.choice((1, 2, 3)))
                )
                for n in range(brokers)
            }
        self.world = World(brokers, {MARK: SHARED + 100}, seed, hosts)
        self.witness = Witness(self.world)
        self.hasty = False
        self.members = [self._client() for _ in range(self.lot.choice((1, 1, 1, 2)))]
        self.calls: list[Watched] = []
        self.log: list[str] = []
        self._undo: list[Callable[[], None]] = []

    def _client(self) -> Member:
        pick = self.lot.choice
        retry, reconnect = pick((0, 100, 100)), pick((0, 50, 50))
        self.hasty |= not retry
        member = self.world.client(
            request_timeout_ms=pick((200, 1_000, 30_000)),
            retry_backoff_ms=retry,
            reconnect_backoff_ms=reconnect,
            socket_connection_setup_timeout_ms=pick((300, 10_000)),
            connections_max_idle_ms=pick((0, 400, 540_000, -1)),
            metadata_max_age_ms=pick((1_000, 300_000)),
        )
        self.witness.watch(member)
        return member

    # --- living ----------------------------------------------------------------------

    def live(self) -> None:
        """Do things by lot, end everything, and have the witness speak."""
        for _ in range(self.lot.randint(5, 30)):
            chance = self.lot.random()
            if chance < 0.45:
                self._begin_call()
            elif chance < 0.65:
                self._begin_fault()
            elif chance < 0.75 and self._undo:
                self._undo.pop(self.lot.randrange(len(self._undo)))()
            else:
                self.world.clock.sleep(self.lot.choice((0.0, 0.0015, 0.05, 0.3, 1.5)))
        self.world.clock.sleep(LONGEST + 0.001)
        turns, lived = self._turns(), self.world.clock.time - 1000.0
        # Without a pause between tries a broker that refuses is asked once a round
        # trip by each member, and that is what was configured (B31).
        most = 3000 if self.hasty else 400
        assert turns < 1000 + most * lived, f"{turns} turns in {lived} s"
        for undo in self._undo:
            undo()
        check_at_rest(self.world)

    def _turns(self) -> int:
        return sum(member.network.turns for member in self.members)

    def _say(self, what: str) -> None:
        self.log.append(f"{self.world.clock.time:.4f} {what}")

    def _begin_call(self) -> None:
        member = self.lot.choice(self.members)
        timeout = self.lot.choice((0.0, 0.001, 0.01, 0.1, 0.5, 1.0, 2.0, LONGEST))
        call: Watched
        event: Commit | LookUpCommitted
        if self.lot.random() < 0.6:
            count = self.lot.choice((1, 1, 2, SHARED))
            call, offsets = self.witness.commit(timeout, self.lot.sample(range(SHARED), count))
            event = Commit(call, offsets)
        else:
            call, partitions = self.witness.committed(timeout)
            event = LookUpCommitted(call, partitions)
        self.calls.append(call)
        self._say(f"{call.operation} number {len(self.witness.seen)}, {timeout} s")
        member.thread.mailbox.post(event)
        self._plan_end(member, call, timeout)
        if self.lot.random() < 0.5:
            self.world.clock.wait(call.gate, call.deadline.at)

    def _plan_end(self, member: Member, call: Call, timeout: float) -> None:
        clock = self.world.clock

        def leave_early() -> None:
            if call.leave(clock.time, KeyboardInterrupt()):
                member.thread.mailbox.post(Withdraw(call))

        chance = self.lot.random()
        if chance < 0.2:
            # By a wake-up or an interrupt: the work has to be withdrawn.
            self.world.at(clock.time + timeout * self.lot.random(), leave_early)
        elif chance < 0.6:
            # By his own timed wait: the network thread finds out by itself.
            self.world.at(call.deadline.at, lambda: (call.leave(clock.time), None)[1])
        # Else by the network thread alone.

    # --- what goes wrong -------------------------------------------------------------

    def _begin_fault(self) -> None:
        faults = (
            self._broker,
            self._broker,
            self._slow,
            self._lost,
            self._refused,
            self._refused,
            self._wrong,
            self._moved,
            self._network,
        )
        self.lot.choice(faults)()

    def _keep(self, what: str, fault: Fault) -> None:
        self._say(f"{what}: {fault!r}")
        self._undo.append(fault.undo)

    def _node(self) -> int:
        return self.lot.choice(list(self.world.cluster.state.brokers))

    def _times(self) -> int | None:
        return self.lot.choice((1, 1, 2, 5, None))

    def _broker(self) -> None:
        control, number = self.world.control, self._node()
        match self.lot.randrange(4):
            case 0:
                self._keep(f"freeze {number}", control.freeze(number))
            case 1:
                missed = self.lot.random() < 0.5
                if self.world.cluster.state.broker(number).running:
                    self._keep(f"kill {number}", control.kill(number, missed=missed))
            case 2:
                self._say(f"disconnect {number}")
                control.disconnect(number, reset=self.lot.random() < 0.5)
            case _:
                self._say("thaw")
                control.thaw()

    def _slow(self) -> None:
        control, api = self.world.control, self.lot.choice(APIS)
        seconds, times = self.lot.choice((0.01, 0.3, 1.2, 4.0)), self._times()
        slow = self.lot.choice((control.delay, control.answer_late, control.throttle))
        self._keep("slow", slow(api, seconds, times=times))

    def _lost(self) -> None:
        control, api, times = self.world.control, self.lot.choice(APIS), self._times()
        applied = self.lot.random() < 0.5
        match self.lot.randrange(3):
            case 0:
                self._keep("drop", control.drop(api, times=times, applied=applied))
            case 1:
                reset = self.lot.random() < 0.5
                cut = control.cut(api, times=times, applied=applied, reset=reset)
                self._keep("cut", cut)
            case _:
                self._keep("hold", control.hold(api, times=times))

    def _refused(self) -> None:
        api = self.lot.choice(APIS[1:])
        assert api is not None
        code, times = self.lot.choice(CODES), self._times()
        part = None
        if api in ("OffsetCommit", "OffsetFetch") and self.lot.random() < 0.5:
            part = self.lot.randrange(SHARED)
        fault = self.world.control.fail(api, code, times=times, partition=part)
        self._keep("refuse", fault)

    def _wrong(self) -> None:
        control, api, times = self.world.control, self.lot.choice(APIS), self._times()
        if self.lot.random() < 0.5:
            self._keep("wrong id", control.wrong_correlation_id(api, times=times))
        else:
            data = self.lot.randbytes(self.lot.choice((0, 3, 4, 30)))
            self._keep("garbage", control.garbage(api, data, times=times))

    def _moved(self) -> None:
        control, number = self.world.control, self._node()
        match self.lot.randrange(3):
            case 0:
                self._say(f"the coordinator moves to {number}")
                control.move_coordinator("g", number)
            case 1:
                seconds = self.lot.choice((0.2, 2.0))
                self._keep("loading", control.coordinator_loading("g", seconds=seconds))
            case _:
                newest = self.lot.randint(8, 9)
                self._say(f"an older protocol: OffsetCommit {newest}")
                control.offer("OffsetCommit", 2, newest)

    def _network(self) -> None:
        network = self.lot.choice(self.members).network
        match self.lot.randrange(3):
            case 0:
                self._say("jam")
                network.jam()
                self._undo.append(network.unjam)
            case 1:
                broker = self.world.cluster.state.broker(self._node()).node
                host = self.lot.choice(self.world.hosts.get(broker.host, (broker.host,)))
                self._say(f"block {host}")
                network.block(host, broker.port)
                self._undo.append(network.unreachable.clear)
            case _:
                member = self.lot.choice(self.members)
                self._say("no names")
                member.names.silent = True
