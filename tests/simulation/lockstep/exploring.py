"""Plays a scene again and again, with other choices each time.

Two ways to choose. `everything` goes through all runs in which the baton is taken
from an actor at most so many times: a race needs one or two such moments, regardless of what
else happens, so a small bound finds nearly all there is. `by_lot` draws them, many at
once, also while locks are held.

A run is told by where it departs from what would happen without interference; that is
short, can be played again, and is what a failure prints.
"""

import gc
import os
from collections.abc import Callable, Mapping, Sequence
from itertools import groupby
from random import Random
from typing import Final

from tests.simulation.lockstep.counted import Counted
from tests.simulation.lockstep.points import Edits, Play, in_lock_step
from tests.simulation.lockstep.stage import Choice, Stage

PLAY_AGAIN: Final = "PROKURIST_SCHEDULE"
WHERE: Final = "tests/simulation/lockstep"

Scene = Callable[[Stage], None]
"""Puts the actors on a stage and plays them; raises what is wrong."""

Departures = Mapping[int, int]
"""At which choice not to go on as without interference, and what to choose there."""


def written(departures: Departures) -> str:
    """Departures as one word."""
    return ".".join(f"{at}:{option}" for at, option in sorted(departures.items())) or "none"


def read(text: str) -> dict[int, int]:
    """And back."""
    pairs = [each.split(":") for each in text.split(".") if each != "none"]
    return {int(at): int(option) for at, option in pairs}


def once(scene: Scene, play: Play, departures: Departures, *, fine: bool) -> list[Choice]:
    """Play it with these departures."""
    number = -1

    def decide(costs: tuple[int, ...]) -> int:
        nonlocal number
        number += 1
        taken = departures.get(number, 0)
        return taken if taken < len(costs) else 0

    return _played(scene, play, decide, fine=fine)


def _played(
    scene: Scene, play: Play, decide: Callable[[tuple[int, ...]], int], *, fine: bool
) -> list[Choice]:
    stage = play.stage = Stage(decide, fine=fine)
    Counted.made.clear()
    try:
        scene(stage)
    except BaseException as error:
        error.add_note(told(stage))
        departed = {at: each.taken for at, each in enumerate(stage.choices) if each.taken}
        name = getattr(scene, "__name__", "")
        error.add_note(
            f"play it again: {PLAY_AGAIN}={written(departed)}{'+fine' * fine} "
            f".venv/bin/python -m pytest {WHERE} -k {name}"
        )
        raise
    finally:
        play.stage = None
        gc.collect()
    return stage.choices


def told(stage: Stage) -> str:
    """The story of a run: who did what, from one hand-over to the next."""
    lines = []
    for (time, name), part in groupby(stage.story, key=lambda each: each[:2]):
        steps = [each[2] for each in part if not each[2].startswith("lock:")]
        if steps:
            shown = (
                steps
                if len(steps) < 6
                else [*steps[:2], f"({len(steps) - 4} more)", *steps[-2:]]
            )
            lines.append(f"{time:.4f} {name:>8}  {' | '.join(shown)}")
    return "\n".join(lines)


def everything(scene: Scene, play: Play, bound: int) -> int:
    """All runs in which the baton is taken away at most so often: how many there were."""
    left: list[tuple[dict[int, int], int, int]] = [({}, 0, 0)]
    runs = 0
    while left:
        departures, first, spent = left.pop()
        choices = once(scene, play, departures, fine=False)
        runs += 1
        for at in range(first, len(choices)):
            for option, cost in enumerate(choices[at].costs):
                if option and spent + cost <= bound:
                    left.append(({**departures, at: option}, at + 1, spent + cost))
    return runs


def by_lot(scene: Scene, play: Play, seeds: Sequence[int]) -> None:
    """One run for each seed."""
    for seed in seeds:
        lot = Random(seed)  # noqa: S311 - a replayable seed
        often = lot.choice((0.005, 0.02, 0.1, 0.4))

        def decide(costs: tuple[int, ...], lot: Random = lot, often: float = often) -> int:
            free = not any(costs)
            return lot.randrange(len(costs)) if free or lot.random() < often else 0

        _played(scene, play, decide, fine=True)


def explore(
    scene: Scene, *, bound: int, seeds: Sequence[int] = (), edits: Edits | None = None
) -> int:
    """Play a scene in all ways within a bound, and in some by lot: how many the first were.

    With `PROKURIST_SCHEDULE` set, play that one run.

    Raises:
        BaseException: What goes wrong, with the story of that run and how to play it
            again.
    """
    play = Play()
    # Memory is freed between runs: a finalizer in the midst of one would be a choice
    # that was not made.
    gc.disable()
    gc.freeze()
    try:
        return _explore(scene, play, bound, seeds, edits)
    finally:
        gc.unfreeze()
        gc.enable()


def _explore(
    scene: Scene, play: Play, bound: int, seeds: Sequence[int], edits: Edits | None
) -> int:
    with in_lock_step(play, edits):
        if again := os.environ.get(PLAY_AGAIN):
            schedule, _, fine = again.partition("+")
            once(scene, play, read(schedule), fine=bool(fine))
            return 1
        runs = everything(scene, play, bound)
        by_lot(scene, play, seeds)
    return runs
