"""A life by lot: calls and faults in virtual time, all of it out of one seed."""

from random import Random
from typing import TYPE_CHECKING, Final

from prokurist.events.application_events import AutoCommit, Commit, LookUpCommitted, Withdraw
from prokurist.events.call import Call
from tests.simulation.quiescence import check_at_rest
from tests.simulation.random_calls import User
from tests.simulation.random_faults import LOGS, Faults
from tests.simulation.slow_brokers import let_brokers_lag
from tests.simulation.witness import MARK, SHARED, Watched, Witness
from tests.simulation.world import Member, World

if TYPE_CHECKING:
    from collections.abc import Callable

LONGEST: Final = 5.0


class ByLot:
    """One life.

    Args:
        seed: Everything comes of it.

    Attributes:
        log: What happened, for the report of a failure.
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
        self.world = World(brokers, {MARK: SHARED + 100, LOGS: 3}, seed, hosts)
        let_brokers_lag(self.world, seed)
        self.witness = Witness(self.world)
        self.hasty = False
        self.raw = [self._client() for _ in range(self.lot.choice((1, 1, 1, 2)))]
        self.members = list(self.raw)
        self.calls: list[Watched] = []
        self.log: list[str] = []
        self._undo: list[Callable[[], None]] = []
        self.users: list[User] = []
        if self.lot.random() < 0.6:
            user = User(self.world, self.lot, self._say, self.witness.history)
            self.users.append(user)
            self.members.append(user.member)
        self.faults = Faults(self.world, self.members, self.lot, self._say, self._undo)

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
        # With few faults calls come to something, and with many they do not.
        trouble = self.lot.choice((0.03, 0.2, 0.2))
        for _ in range(self.lot.randint(5, 40)):
            chance = self.lot.random()
            if chance < 0.45:
                self._act()
            elif chance < 0.45 + trouble:
                self.faults.one()
            elif chance < 0.75 and self._undo:
                self._undo.pop(self.lot.randrange(len(self._undo)))()
            else:
                self.world.clock.sleep(self.lot.choice((0.0, 0.0015, 0.05, 0.3, 1.5)))
        for user in self.users:
            if self.lot.random() < 0.5:
                user.close()  # In the midst of all faults.
        self.world.clock.sleep(LONGEST + 0.001)
        turns, lived = self._turns(), self.world.clock.time - 1000.0
        # Without a pause between tries a broker that refuses is asked once a round
        # trip by each member, and that is what was configured (B31).
        most = 3000 if self.hasty else 400
        assert turns < 1000 + most * lived, f"{turns} turns in {lived} s"
        for undo in self._undo:
            undo()
        check_at_rest(self.world)
        for user in self.users:
            user.close()
            user.judge()

    def _act(self) -> None:
        """A call of the user's, where there is one, or one without a consumer around it."""
        if self.users and self.lot.random() < 0.7:
            self.users[0].one()
        else:
            self._begin_call()

    def _turns(self) -> int:
        return sum(member.network.turns for member in self.members)

    def _say(self, what: str) -> None:
        self.log.append(f"{self.world.clock.time:.4f} {what}")

    def _begin_call(self) -> None:
        member = self.lot.choice(self.raw)
        timeout = self.lot.choice((0.0, 0.001, 0.01, 0.1, 0.5, 1.0, 2.0, LONGEST))
        call: Watched
        event: AutoCommit | Commit | LookUpCommitted
        if self.lot.random() < 0.6:
            count = self.lot.choice((1, 1, 2, SHARED))
            call, offsets = self.witness.commit(timeout, self.lot.sample(range(SHARED), count))
            if self.lot.random() < 0.3:
                self.witness.snapshots.add(call)
                event = AutoCommit(call, offsets)
            else:
                event = Commit(call, offsets)
        else:
            call, partitions = self.witness.committed(timeout)
            event = LookUpCommitted(call, partitions)
        self.calls.append(call)
        self._say(f"{call.operation} number {len(self.witness.seen)}, {timeout} s")
        member.thread.mailbox.post(event)
        self._plan_end(member, call, timeout)
        if self.lot.random() < 0.5:
            self.world.clock.wait(call.waiter, call.deadline.at)

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
