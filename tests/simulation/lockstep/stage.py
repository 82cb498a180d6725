"""Threads in lock step: one goes on at a time, and who it is is a choice at every point.

An actor is a real thread that runs only while it has the baton. At each point (a
statement of what both threads touch, a lock, a waiter, a wait for the network) the
stage asks its `decide` who goes on. So a run is nothing but a list of choices: the
same choices make the same run, and the explorer changes them one at a time.

Time is virtual. It moves when no actor can go on, to the next moment at which one
can; or by choice, past those who could: that is a thread which gets no processor.
A signal is a choice too: its handler runs on the actor's own thread, wherever that is.

Thread: the test's own builds the stage and calls `run`; everything else happens on
the thread that has the baton, so nothing in here needs a lock.
"""

import math
import threading
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Final, NoReturn

MOST_POINTS: Final = 4000
"""At one moment; an actor that needs more is spinning."""

LONGEST_STALL: Final = 100.0
"""Seconds that a thread which could go on may be held up at once."""

FOR_EVER: Final = 1e6
"""Seconds; who waits longer than this waits in vain."""

KEPT: Final = 3000
"""Points that a failing run tells of."""


class Abandoned(BaseException):
    """The run is over for another reason; thrown into the actors that are left."""


class Wrong(AssertionError):
    """What may not be: a lost wake, a thread that spins or locks itself out."""


@dataclass(frozen=True, slots=True)
class Choice:
    """What there was to choose from at one point, and what was chosen.

    Attributes:
        costs: For each option, whether it takes the baton from an actor that could
            have gone on. The first is what happens without interference.
        taken: The one that was.
    """

    costs: tuple[int, ...]
    taken: int


class Actor:
    """A thread on the stage."""

    def __init__(self, name: str, body: Callable[[], object]) -> None:
        self.name = name
        self.body = body
        self.baton = threading.Semaphore(0)
        self.thread: threading.Thread | None = None
        self.ident = 0
        self.ended = False
        self.ready: Callable[[], bool] | None = None
        self.until = math.inf
        self.holds = 0
        self.stalled = 0.0
        self.locked_out = False
        self.handler: Callable[[], None] | None = None
        self.where = "the start"

    @property
    def waits(self) -> bool:
        """Whether it is in a wait; it may be able to go on all the same."""
        return self.ready is not None

    def __repr__(self) -> str:
        waits = f", waits until {self.until:.4f}" if self.waits else ""
        return f"Actor({self.name} at {self.where}{', ended' * self.ended}{waits})"


@dataclass(eq=False)
class Signal:
    """A handler that is to run once on an actor's thread.

    Attributes:
        when: Whether it may come while the actor waits; None for whenever it likes.
    """

    actor: Actor
    handler: Callable[[], None]
    when: Callable[[], bool] | None = None


Option = Actor | Signal | None
"""Who goes on; None lets time pass."""


@dataclass
class Stage:
    """The threads, their time, and what they do.

    Attributes:
        decide: Given what each option costs: which one.
        fine: Whether there is a choice also while a lock is held.
        time: The moment.
        quiet: Choices are not asked for while this is above zero.
        free_start: Whether it costs nothing to begin with another than the first.
        due: When something will happen that no actor does.
        rules: Called before time moves because no actor could go on: what has to
            hold when both threads have nothing left to do.
    """

    decide: Callable[[tuple[int, ...]], int]
    fine: bool = False
    time: float = 1000.0
    quiet: int = 0
    free_start: bool = False
    due: Callable[[], float] = lambda: math.inf
    rules: list[Callable[[], object]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.choices: list[Choice] = []
        self.story: deque[tuple[float, str, str]] = deque(maxlen=KEPT)
        self.actors: list[Actor] = []
        self._signals: list[Signal] = []
        self._present: Actor | None = None
        self._main = threading.Semaphore(0)
        self._points = 0
        self._looks = False
        self._wrong: BaseException | None = None

    # --- before and after ------------------------------------------------------------

    def enter(self, name: str, body: Callable[[], object]) -> Actor:
        """Put one more thread on the stage."""
        actor = Actor(name, body)
        actor.thread = threading.Thread(target=self._live, args=(actor,), name=name)
        self.actors.append(actor)
        actor.thread.start()
        return actor

    def signal(
        self, actor: Actor, handler: Callable[[], None], when: Callable[[], bool] | None = None
    ) -> None:
        """Have a signal come at some point of an actor's life; see `Signal`."""
        self._signals.append(Signal(actor, handler, when))

    def run(self) -> None:
        """Let all of them live to their ends.

        Raises:
            BaseException: What went wrong first.
        """
        self._hand_over(self._pick(None))
        self._main.acquire()
        for actor in self.actors:
            if not actor.ended:
                actor.baton.release()
            if actor.thread is not None:
                actor.thread.join()
        if self._wrong is not None:
            raise self._wrong

    def _live(self, actor: Actor) -> None:
        actor.ident = threading.get_ident()
        actor.baton.acquire()
        try:
            if self._wrong is None:
                actor.body()
        except Abandoned:
            pass
        except BaseException as error:  # noqa: BLE001 - the test's own thread raises it
            self._wrong = self._wrong or error
        actor.ended = True
        if self._wrong is None:
            with suppress(Abandoned):
                self._hand_over(self._pick(actor))
        if self._wrong is not None:
            self._main.release()

    # --- on the stage ----------------------------------------------------------------

    @property
    def present(self) -> Actor | None:
        """Who has the baton; None on a thread that is no actor's."""
        actor = self._present
        if actor is not None and not actor.ended and actor.ident == threading.get_ident():
            return actor
        return None

    def point(self, where: str) -> None:
        """Another actor may go on here."""
        me = self.present
        if me is None or self._looks:
            return
        if self._wrong is not None:
            raise Abandoned
        me.where = where
        self.story.append((self.time, me.name, where))
        self._points += 1
        if self._points > MOST_POINTS:
            self.fail(Wrong(f"{me!r} spins: {MOST_POINTS} points, and time stands still"))
        if self.quiet or (me.holds and not self.fine):
            return
        self._pass_on(me)

    def wait(self, ready: Callable[[], bool], until: float, where: str) -> bool:
        """Have the others go on until something is so, or a moment has come: whether it is."""
        me = self.present
        if me is None:
            raise AssertionError(f"only an actor may wait: {where}")
        if self._wrong is not None:
            raise Abandoned
        me.where = where
        self.story.append((self.time, me.name, f"waits at {where}"))
        me.ready, me.until = ready, until
        try:
            while not self._look(ready) and self.time < until:
                if self._wrong is not None:
                    raise Abandoned
                self._pass_on(me)
        finally:
            me.ready = None
        return self._look(ready)

    def _pass_on(self, me: Actor) -> None:
        chosen = self._pick(me)
        if chosen is not me:
            self._hand_over(chosen)
            me.baton.acquire()
            self._present = me
            if self._wrong is not None:
                raise Abandoned
        handler, me.handler = me.handler, None
        if handler is not None:
            waiting = me.ready, me.until
            me.ready = None
            self.story.append((self.time, me.name, "--- a signal"))
            handler()
            me.ready, me.until = waiting

    def _hand_over(self, to: Actor | None) -> None:
        self._present = to
        if to is None:
            self._main.release()
        else:
            to.baton.release()

    # --- choosing --------------------------------------------------------------------

    def _pick(self, me: Actor | None) -> Actor | None:
        """Who goes on; None when every actor has ended."""
        while True:
            able, due = self._able(me)
            options: list[Option] = [*able]
            if not able and due == math.inf:
                left = [each for each in self.actors if not each.ended]
                if left:
                    self.fail(Wrong(f"every actor waits, and no event is due: {left}"))
                return None
            # Who has something to lose: the one that has the baton, or at the beginning
            # the first. Who goes on after a wait is free.
            first = able[0] if able and not self.free_start else me
            favoured = me if self.choices else first
            costs = [int(each is not favoured) for each in able]
            if favoured not in able:
                costs = [0] * len(able)
            for signal in self._signals if not self.quiet else ():
                if self._may_come(signal):
                    options.append(signal)
                    costs.append(int(bool(able)))
            if due < math.inf and (not able or due - self.time < LONGEST_STALL):
                options.append(None)
                costs.append(int(bool(able)))
            chosen = options[self._choose(tuple(costs))]
            if isinstance(chosen, Actor):
                return chosen
            if isinstance(chosen, Signal):
                self._signals.remove(chosen)
                chosen.actor.handler = chosen.handler
                return chosen.actor
            self._move(due, able)
            # An actor that was held up has lost the baton in any case.
            me = None

    def _choose(self, costs: tuple[int, ...]) -> int:
        if len(costs) == 1 or self.quiet:
            return 0
        taken = self.decide(costs)
        self.choices.append(Choice(costs, taken))
        return taken

    def _able(self, me: Actor | None) -> tuple[list[Actor], float]:
        """Who can go on, the one with the baton first, and when something is due next.

        It is asked at every point of thousands of runs.
        """
        due = math.inf
        able: list[Actor] = []
        for each in self.actors:
            if each.ended:
                continue
            if each.ready is not None and self.time < each.until:
                due = min(due, each.until)
                if not self._look(each.ready):
                    continue
            if each is me:
                able.insert(0, each)
            else:
                able.append(each)
        other = self.due()
        if self.time < other < due:
            due = other
        return able, due if due < self.time + FOR_EVER else math.inf

    def _look(self, ready: Callable[[], object]) -> bool:
        """Ask what an actor waits for; none goes on meanwhile."""
        before, self._looks = self._looks, True
        try:
            return bool(ready())
        finally:
            self._looks = before

    def _may_come(self, signal: Signal) -> bool:
        if signal.actor.ended:
            return False
        return signal.when is None or (signal.actor.waits and self._look(signal.when))

    def _move(self, to: float, able: list[Actor]) -> None:
        if not able:
            self._check()
        for each in self.actors:
            if each in able or each.locked_out:
                each.stalled += to - self.time
        self.story.append((to, "time", "passes" if able else "moves"))
        self.time = to
        self._points = 0

    def _check(self) -> None:
        try:
            for rule in self.rules:
                self._look(rule)
        except AssertionError as wrong:
            self.fail(wrong)

    def fail(self, wrong: AssertionError) -> NoReturn:
        """End the run; on the actors' threads no other code can take the error for its own."""
        self._wrong = self._wrong or wrong
        raise Abandoned

    def __repr__(self) -> str:
        return f"Stage({self.time:.4f}, {self.actors}, {len(self.choices)} choices)"
