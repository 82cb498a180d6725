"""The members of one group in a chaos run: started, struck by lot, and replaced.

Thread: one at a time, for all groups: the nursery answers one question after another.
"""

import os
import signal
import time
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from contextlib import suppress
from itertools import chain
from pathlib import Path
from typing import Final

from tests.chaos.journal import Event, Reading
from tests.chaos.kinds import READERS
from tests.chaos.member import Duty
from tests.chaos.nursery import AnyDuty, Nursery
from tests.chaos.schedule import SLOTS, Blow, blows
from tests.chaos.verdict import Life

TICK: Final = 0.05
LEAVES_WITHIN: Final = 20.0
"""Seconds for a member to end in order, before it counts as hung."""


class Slot:
    """A place in the group, and who has it.

    Attributes:
        number: Which.
        due: When the present trouble is undone; never, if there is none.
        struck: The present trouble's kind, if there is one.
    """

    def __init__(self, process_group: "ProcessGroup", number: int) -> None:
        self.number = number
        self.due: float = float("inf")
        self.struck: str | None = None
        self._process_group = process_group
        self._count = 0
        self._pid: int | None = None
        self._life: Life = Life("none", [])
        self._journal = Path()
        self._since = 0.0

    def enter(self) -> None:
        """Have a new member take the place."""
        self._count += 1
        name = f"{self._process_group.group}-{self.number}.{self._count}"
        duty = self._process_group.duty(self.number, self._count, name)
        self._journal = Path(duty.journal)
        reading = Reading(self._journal)
        self._life = Life(name, reading.events, client=duty.client)
        self._process_group.lives.append(self._life)
        self._process_group.readings.append(reading)
        self._pid = self._process_group.nursery.start(duty)

    def strike(self, blow: Blow) -> bool:
        """Do something to the member; False if there is none, or it is struck already."""
        if self.struck is not None or self._pid is None or not self._journal.exists():
            return False
        self._since = time.monotonic()
        self.struck, self.due = blow.kind, self._since + blow.length
        if blow.kind == "kill":
            self._send(signal.SIGKILL)
            self._bury()
        elif blow.kind == "leave":
            self._send(signal.SIGTERM)
        else:
            self._send(signal.SIGSTOP)
        return True

    def look(self) -> None:
        """Undo what is due, and bury who has ended."""
        now = time.monotonic()
        if self._pid in self._process_group.nursery.codes:
            self._has_ended(self._process_group.nursery.codes[self._pid])
        if self.struck == "leave" and self._pid is not None:
            if now - self._since > LEAVES_WITHIN:
                self._hangs()
        elif now >= self.due:
            self.undo()

    def undo(self) -> None:
        """Let a frozen member go on, or a new one take the place of the one that is gone."""
        if self.struck is None:
            return
        if self._pid is None:
            self.enter()
        else:
            self._send(signal.SIGCONT)
            self._life.frozen.append((self._since, time.monotonic()))
        self.struck, self.due = None, float("inf")

    def ask_to_leave(self) -> None:
        """For good."""
        self.struck, self.due, self._since = "leave", float("inf"), time.monotonic()
        self._send(signal.SIGTERM)

    @property
    def is_empty(self) -> bool:
        """Whether the place is empty."""
        return self._pid is None

    @property
    def is_leaving(self) -> bool:
        """Whether a member is about to go."""
        return self.struck == "leave" and self._pid is not None

    def close(self) -> None:
        """End the member at once."""
        if self._pid is not None:
            self._send(signal.SIGKILL)
            self._bury()

    def _send(self, number: signal.Signals) -> None:
        if self._pid is not None:
            with suppress(ProcessLookupError):
                os.kill(self._pid, number)

    def _has_ended(self, code: int) -> None:
        said = self._said()
        if code != 0 or said:
            self._process_group.wrongs.append(
                f"{self._life.name} has ended with {code}: {said}"
            )
        self._bury()
        if self.struck is None:
            self.struck, self.due = "ended", 0.0

    def _hangs(self) -> None:
        """It does not leave: have it say where it stands."""
        self._send(signal.SIGUSR1)
        time.sleep(1.0)
        self._process_group.wrongs.append(f"{self._life.name} does not leave: {self._said()}")
        self.close()

    def _said(self) -> str:
        path = self._journal.with_suffix(".stderr")
        return path.read_text("utf-8", "replace")[-4000:] if path.exists() else ""

    def _bury(self) -> None:
        """See that it has ended, and when."""
        while self._pid not in self._process_group.nursery.codes:
            time.sleep(0.002)
            self._process_group.nursery.look()
        # Another member may be given the same number one day.
        del self._process_group.nursery.codes[self._pid]
        self._pid = None
        self._life.ended = time.monotonic()


class ProcessGroup:
    """One group.

    Args:
        nursery: Where members come from.
        bootstrap: Where the cluster is.
        topic: The topic to read.
        flavour: Which protocol, and how it shares out.
        seed: Seed of the lots.
        folder: Where journals go.
        clients: Clients of its members, which take them by turns.

    Attributes:
        lives: Every process that there was.
        readings: Their journals.
        struck: How often each trouble came.
        wrongs: What was wrong with processes, in words.
        nursery: Where members come from.
        group: The group's id.
        folder: Where journals go.
        bootstrap: Where the cluster is.
        topic: What it reads or writes.
        seed: Seed of the lots.
        clients: Clients of its members, which take them by turns.
    """

    def __init__(
        self,
        nursery: Nursery,
        bootstrap: str,
        topic: str,
        flavour: str,
        seed: int,
        folder: Path,
        clients: Sequence[str] = ("core",),
    ) -> None:
        self.lives: list[Life] = []
        self.readings: list[Reading] = []
        self.struck: Counter[str] = Counter()
        self.wrongs: list[str] = []
        self.nursery = nursery
        self.group = flavour
        self.folder = folder
        self.bootstrap = bootstrap
        self.topic = topic
        self.seed = seed
        self.clients = clients
        self._blows: Iterator[Blow] = blows(seed, flavour)
        self._slots = [Slot(self, number) for number in range(SLOTS)]
        self._reached: Counter[int] = Counter()
        self._owned: dict[str, set[int]] = defaultdict(set)
        self._blow = next(self._blows)
        self._strikes_at = 0.0

    def duty(self, slot: int, turn: int, name: str) -> AnyDuty:
        """Return the duty of a member; the first place is a static one, for all its members.

        Args:
            slot: Its place.
            turn: How many members that place has had, with this one.
            name: What it is called.
        """
        client = self.clients[(slot + turn) % len(self.clients)]
        styles = READERS[client].styles
        return Duty(
            bootstrap=self.bootstrap,
            group=self.group,
            topic=self.topic,
            flavour=self.group,
            client=client,
            style=styles[(slot + turn - 1) % len(styles)],
            instance="first" if slot == 0 else None,
            # Two read from followers where there are some.
            rack=f"rack-{slot}" if slot in (1, 2) else "",
            journal=str(self.folder / f"{name}.journal"),
            seed=f"{self.seed} {name}",
        )

    def start(self) -> None:
        """Have all members join."""
        for slot in self._slots:
            slot.enter()

    def step(self, *, rests: bool = False) -> None:
        """Make the trouble that is due, but in a rest; undo what has lasted long enough."""
        self._look()
        if rests:
            return
        now = time.monotonic()
        self._strikes_at = self._strikes_at or now + self._blow.calm
        if now >= self._strikes_at:
            if self._slots[self._blow.slot].strike(self._blow):
                self.struck[self._blow.kind] += 1
            self._blow = next(self._blows)
            self._strikes_at = now + self._blow.calm

    def calm(self) -> None:
        """End all trouble: every member is there, and awake."""
        while any(slot.is_leaving for slot in self._slots):
            time.sleep(TICK)
            self._look()
        for slot in self._slots:
            slot.undo()

    def is_settled(self, ends: dict[int, int]) -> bool:
        """Whether everything is read, and each partition in one living member's hands."""
        self._look()
        for life, reading in zip(self.lives, self.readings, strict=True):
            for event in reading.more():
                self._follow(life, event)
        living = [life for life in self.lives if life.ended == float("inf")]
        owners = Counter(chain.from_iterable(self._owned[life.name] for life in living))
        return all(
            self._reached[partition] >= end and owners[partition] == 1
            for partition, end in ends.items()
        )

    def _look(self) -> None:
        self.nursery.look()
        for slot in self._slots:
            slot.look()

    def _follow(self, life: Life, event: Event) -> None:
        owned = self._owned[life.name]
        if event.kind == "read":
            for partition, _, end in event.what:
                self._reached[partition] = max(self._reached[partition], end)
        elif event.kind == "assigned":
            owned.update(event.what[1])
        elif event.kind in ("revoking", "lost"):
            owned.difference_update(event.what)

    def leave(self) -> None:
        """Have all members leave in order, all at once, and see that they do."""
        for slot in self._slots:
            slot.ask_to_leave()
        while not all(slot.is_empty for slot in self._slots):
            time.sleep(TICK)
            self._look()

    def close(self) -> None:
        """End the members that are left, and read what is left."""
        for slot in self._slots:
            slot.close()
        for reading in self.readings:
            reading.more()
