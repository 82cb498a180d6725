"""What goes wrong in a life by lot: a table, one line a fault.

Each draws what it needs from the life's lot, does it, says it, and leaves behind how
it is undone.
"""

from collections.abc import Callable
from random import Random
from typing import Final

from prokurist.testing.cluster.apis import ApiName
from prokurist.testing.cluster.steering import Fault
from prokurist.types import TopicPartition
from tests.simulation.witness import SHARED
from tests.simulation.world import Member, World

APIS: Final[tuple[ApiName | None, ...]] = (
    None,
    "ApiVersions",
    "Metadata",
    "FindCoordinator",
    "OffsetCommit",
    "OffsetCommit",
    "OffsetFetch",
    "OffsetFetch",
    "ListOffsets",
    "ListOffsets",
)
CODES: Final = (3, 7, 14, 15, 15, 16, 16, 22, 25, 29, 30, 35, 42, 88, 100, 32000, -1)
"""Retriable ones, fatal ones, and some unknown ones."""

OF_LEADERS: Final = (3, 5, 6, 6, 9, 29, 56, 74, 75, 76, 78, 32000)
"""What leaders answer to look-ups of offsets, and one unknown code."""

LOGS: Final = "logs"
"""The topic that consumers read; commits without a consumer are about another."""

MOST_PARTITIONS: Final = 6


class Faults:
    """What goes wrong in one life.

    Args:
        lot: Where everything is drawn from.
        say: Takes a line for the report of a failure.
        undo: Takes how to undo what was done.
    """

    def __init__(
        self,
        world: World,
        members: list[Member],
        lot: Random,
        say: Callable[[str], None],
        undo: list[Callable[[], None]],
    ) -> None:
        self._world = world
        self._control = world.control
        self._members = members
        self._lot = lot
        self._say = say
        self._undo = undo

    def one(self) -> None:
        """One of the table."""
        kinds = [kind for kind, _ in MENU]
        kind = self._lot.choices(kinds, [weight for _, weight in MENU])[0]
        kind(self)

    def _keep(self, what: str, fault: Fault) -> None:
        self._say(f"{what}: {fault!r}")
        self._undo.append(fault.undo)

    def _node(self) -> int:
        return self._lot.choice(list(self._world.cluster.state.brokers))

    def _times(self) -> int | None:
        return self._lot.choice((1, 1, 2, 5, None))

    def _log(self) -> TopicPartition | None:
        """One of the logs; None while their topic is deleted."""
        count = self._partitions()
        return TopicPartition(LOGS, self._lot.randrange(count)) if count else None

    def _partitions(self) -> int:
        topic = self._world.cluster.state.topics.get(LOGS)
        return len(topic.partitions) if topic is not None else 0

    # --- brokers and the network -----------------------------------------------------

    def freeze(self) -> None:
        """A broker stops, and is not missed."""
        number = self._node()
        self._keep(f"freeze {number}", self._control.freeze(number))

    def kill(self) -> None:
        """A broker ends; it is started again when this is undone."""
        number, missed = self._node(), self._lot.random() < 0.5
        if self._world.cluster.state.broker(number).running:
            self._keep(f"kill {number}", self._control.kill(number, missed=missed))

    def restart(self) -> None:
        """A broker ends and is there again at once, or a little later."""
        number, after = self._node(), self._lot.choice((0.0, 0.2, 1.0))
        if self._world.cluster.state.broker(number).running:
            self._say(f"restart {number}, in {after} s")
            fault = self._control.kill(number, missed=self._lot.random() < 0.5)
            self._world.at(self._world.clock.time + after, fault.undo)

    def disconnect(self) -> None:
        """The connections to a broker end."""
        number = self._node()
        self._say(f"disconnect {number}")
        self._control.disconnect(number, reset=self._lot.random() < 0.5)

    def thaw(self) -> None:
        """All frozen nodes go on."""
        self._say("thaw")
        self._control.thaw()

    def jam(self) -> None:
        """The kernel takes a part of each frame, and not the end of it."""
        network = self._lot.choice(self._members).network
        self._say("jam")
        network.jam()
        self._undo.append(network.unjam)

    def block(self) -> None:
        """Nothing reaches an address, without an error."""
        network = self._lot.choice(self._members).network
        broker = self._world.cluster.state.broker(self._node()).node
        host = self._lot.choice(self._world.hosts.get(broker.host, (broker.host,)))
        self._say(f"block {host}")
        network.block(host, broker.port)
        self._undo.append(network.unreachable.clear)

    def no_names(self) -> None:
        """The name server answers no more."""
        self._say("no names")
        self._lot.choice(self._members).names.silent = True

    # --- requests --------------------------------------------------------------------

    def slow(self) -> None:
        """Requests, or their answers, take longer."""
        control, api = self._control, self._lot.choice(APIS)
        seconds, times = self._lot.choice((0.01, 0.3, 1.2, 4.0)), self._times()
        slow = self._lot.choice((control.delay, control.answer_late, control.throttle))
        self._keep("slow", slow(api, seconds, times=times))

    def lost(self) -> None:
        """Requests are never answered, or their connection ends, or they are held."""
        control, api, times = self._control, self._lot.choice(APIS), self._times()
        applied, reset = self._lot.random() < 0.5, self._lot.random() < 0.5
        match self._lot.randrange(3):
            case 0:
                self._keep("drop", control.drop(api, times=times, applied=applied))
            case 1:
                cut = control.cut(api, times=times, applied=applied, reset=reset)
                self._keep("cut", cut)
            case _:
                self._keep("hold", control.hold(api, times=times))

    def refused(self) -> None:
        """Requests, or parts of them, are refused with a code."""
        api = self._lot.choice(APIS[1:])
        assert api is not None
        code = self._lot.choice(OF_LEADERS if api == "ListOffsets" else CODES)
        part = None
        if api in ("OffsetCommit", "OffsetFetch", "ListOffsets") and self._lot.random() < 0.5:
            part = self._lot.randrange(SHARED)
        fault = self._control.fail(api, code, times=self._times(), partition=part)
        self._keep("refuse", fault)

    def wrong(self) -> None:
        """Answers are not what was asked for."""
        control, api, times = self._control, self._lot.choice(APIS), self._times()
        if self._lot.random() < 0.5:
            self._keep("wrong id", control.wrong_correlation_id(api, times=times))
        else:
            data = self._lot.randbytes(self._lot.choice((0, 3, 4, 30)))
            self._keep("garbage", control.garbage(api, data, times=times))

    def denied(self) -> None:
        """The group, or the topic that is read, is forbidden."""
        fault = (
            self._control.deny(group="g")
            if self._lot.random() < 0.5
            else self._control.deny(topic=LOGS)
        )
        self._keep("deny", fault)

    # --- what brokers do themselves --------------------------------------------------

    def coordinator_moves(self) -> None:
        """Another broker coordinates the group."""
        number = self._node()
        self._say(f"the coordinator moves to {number}")
        self._control.move_coordinator("g", number)

    def loading(self) -> None:
        """The coordinator still loads."""
        seconds = self._lot.choice((0.2, 2.0))
        self._keep("loading", self._control.coordinator_loading("g", seconds=seconds))

    def older(self) -> None:
        """Brokers speak an older protocol from now on."""
        newest = self._lot.randint(8, 9)
        self._say(f"an older protocol: OffsetCommit {newest}")
        self._control.offer("OffsetCommit", 2, newest)

    def leader_moves(self) -> None:
        """Another broker leads a log."""
        log, number = self._log(), self._node()
        if log is not None:
            self._say(f"{log} moves to {number}")
            self._control.move_leader(log, number)

    def grows(self) -> None:
        """The topic that is read has one more partition."""
        if 1 < (total := self._partitions() + 1) <= MOST_PARTITIONS:
            self._say(f"{LOGS} has {total} partitions")
            self._control.add_partitions(LOGS, total)

    def deleted(self) -> None:
        """The topic that is read is deleted, and created again at once or a little later."""
        after, count = self._lot.choice((0.0, 0.0, 0.5, 3.0)), self._partitions()
        if not count:
            return
        self._say(f"{LOGS} is deleted, and created again in {after} s")
        self._control.delete_topic(LOGS)
        again = self._world.clock.time + after
        self._world.at(again, lambda: self._control.create_topic(LOGS, count))

    def written(self) -> None:
        """A log grows, or loses its beginning."""
        log = self._log()
        if log is None:
            return
        if self._lot.random() < 0.7:
            self._control.append(log, b"value")
        else:
            start, end = self._control.offsets(log)
            self._control.delete_records(log, self._lot.randint(start, end))


MENU: Final[tuple[tuple[Callable[[Faults], None], int], ...]] = (
    (Faults.freeze, 4),
    (Faults.kill, 4),
    (Faults.restart, 3),
    (Faults.disconnect, 4),
    (Faults.thaw, 3),
    (Faults.jam, 3),
    (Faults.block, 3),
    (Faults.no_names, 3),
    (Faults.slow, 9),
    (Faults.lost, 9),
    (Faults.refused, 18),
    (Faults.wrong, 9),
    (Faults.denied, 2),
    (Faults.coordinator_moves, 3),
    (Faults.loading, 3),
    (Faults.older, 3),
    (Faults.leader_moves, 5),
    (Faults.grows, 2),
    (Faults.deleted, 2),
    (Faults.written, 3),
)
"""What may go wrong, and how often in proportion."""
