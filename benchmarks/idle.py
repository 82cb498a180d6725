"""What a consumer costs that does nothing: idle, before a frozen broker, and after timeouts.

- Idle: assigned, `poll(1.0)` in a loop, nothing comes. Threads beyond the first,
  times a second that any of them is scheduled, and processor time.
- Frozen: the same with the broker stopped for 20 s, `poll(0.2)`: processor time, and
  by how much memory has grown.
- After 10 000 `committed` that timed out after 3 ms each, broker frozen: by how much
  memory has grown; and of ours, what is pending anywhere when the broker is back.

Each client in a process of its own, looked at from outside.

    python benchmarks/idle.py [--timeouts N] [--only NAME]... [--keep]
"""

import argparse
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psutil
import taking_part
from conditions import frozen, show, topic_with_records
from data_files import Conditions, Table, keep
from data_files import show as show_table
from peers import Measured, Peer, Peers, Silent

from prokurist.testing.kafka import RealKafka

SETTLE = 4.0
IDLE = 15.0
FROZEN = 20.0
TOO_SHORT = 0.003
MEGABYTE = 1024 * 1024


@dataclass(frozen=True)
class Reading:
    """A process at a moment, from outside."""

    at: float
    processor: float
    switches: int
    threads: int
    memory: int

    @classmethod
    def of(cls, pid: int) -> "Reading":
        """Take it."""
        process = psutil.Process(pid)
        times = process.cpu_times()
        return cls(
            time.monotonic(),
            times.user + times.system,
            sum(map(switches, Path(f"/proc/{pid}/task").glob("*/status"))),
            process.num_threads(),
            process.memory_info().rss,
        )

    def until(self, later: "Reading") -> dict[str, float]:
        """What has come to pass between two of them."""
        seconds = later.at - self.at
        return {
            "threads": later.threads - 1,
            "wake-ups a second": (later.switches - self.switches) / seconds,
            "cpu %": 100 * (later.processor - self.processor) / seconds,
            "growth MB": (later.memory - self.memory) / MEGABYTE,
        }


def switches(status: Path) -> int:
    """How often a thread has given up the processor by itself: each is a wake-up later."""
    try:
        lines = status.read_text("ascii", "replace").splitlines()
    except OSError:
        return 0  # It has ended meanwhile.
    return sum(int(line.split()[1]) for line in lines if line.startswith("voluntary"))


def idle(kafka: RealKafka, peers: list[Peer]) -> dict[str, Any]:
    """All of them beside each other: they hardly take anything."""
    found: dict[str, Any] = {}
    running: dict[str, Measured] = {}
    try:
        for peer in peers:
            running[peer.name] = peer.start(
                kafka.direct_bootstrap, "poll", 1.0, SETTLE + IDLE + 3.0
            )
        for process in running.values():
            process.wait_until_ready()
        for process in running.values():
            process.go()
        time.sleep(SETTLE)
        before = {name: Reading.of(process.pid) for name, process in running.items()}
        time.sleep(IDLE)
        for name, process in running.items():
            found[name] = before[name].until(Reading.of(process.pid))
        for name, process in running.items():
            own = process.hear(15.0)
            if "turns" in own["after"]:
                turns = own["after"]["turns"] - own["before"]["turns"]
                found[name]["turns a second"] = turns / (SETTLE + IDLE + 3.0)
    finally:
        for process in running.values():
            process.end()
    return found


def while_frozen(kafka: RealKafka, peer: Peer) -> dict[str, float]:
    """One at a time: some of them spin."""
    with peer.start(kafka.bootstrap, "poll", 0.2, 2 * FROZEN) as process:
        process.wait_until_ready()
        process.go()
        time.sleep(2.0)
        with frozen(kafka):
            before = Reading.of(process.pid)
            time.sleep(FROZEN)
            return before.until(Reading.of(process.pid))


def after_timeouts(kafka: RealKafka, peer: Peer, number: int) -> dict[str, Any]:
    """Memory before and after, and what is left."""
    with peer.start(kafka.bootstrap, "timeouts", number, TOO_SHORT) as process:
        process.wait_until_ready()
        with frozen(kafka):
            process.go()
            process.hear(60.0)
            before = Reading.of(process.pid)
            process.go()
            at_end = process.hear(400.0)
            grown = before.until(Reading.of(process.pid))["growth MB"]
        process.go()
        return {
            "growth MB": grown,
            "pending": at_end,
            "pending later": process.hear(9.0),
        }


def costs(
    names: Sequence[str],
    idling: Mapping[str, Mapping[str, float]],
    stopped: Mapping[str, Mapping[str, float]],
    grown: Mapping[str, Mapping[str, Any]],
    timeouts: int,
) -> Table:
    """A column for each client."""

    def row(
        title: str, of: Mapping[str, Mapping[str, Any]], what: str, digits: int
    ) -> list[str]:
        return [
            title,
            *(f"{of[each][what]:.{digits}f}" if each in of else "-" for each in names),
        ]

    rows = [
        row("threads beyond the first", idling, "threads", 0),
        row("idle: wake-ups a second", idling, "wake-ups a second", 0),
        row("idle: processor time, %", idling, "cpu %", 1),
        row("frozen: processor time, %", stopped, "cpu %", 1),
        row("frozen: growth, MB", stopped, "growth MB", 1),
        row(f"{timeouts} timeouts: growth, MB", grown, "growth MB", 2),
    ]
    how = (
        f"`poll(1.0)` beside an idle broker for {IDLE:.0f} s, and `poll(0.2)` with the broker "
        f"frozen for {FROZEN:.0f} s; timeouts are of `committed` after 3 ms"
    )
    figures = {"idle": idling, "frozen": stopped, "timeouts": grown}
    return Table(how, ["", *names], rows, figures)


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--timeouts", type=int, default=10_000)
    parser.add_argument("--only", action="append", default=[], help="clients to measure")
    parser.add_argument("--keep", action="store_true", help="as data of the pages")
    options = parser.parse_args()
    conditions = Conditions()
    grown: dict[str, dict[str, Any]] = {}
    with RealKafka(controls=True) as kafka, Peers(options.only) as peers:
        topic_with_records(kafka)
        idling = idle(kafka, peers)
        stopped = {peer.name: while_frozen(kafka, peer) for peer in peers}
        for peer in peers:
            if not peer.has_timeout("committed"):
                show(f"{peer.name}: its committed takes no timeout")
                continue
            try:
                figures = after_timeouts(kafka, peer, options.timeouts)
            except Silent as why:
                show(f"{peer.name}: timeouts not measured: {why}")
                continue
            grown[peer.name] = figures
            if figures["pending"]:
                show(f"pending then: {figures['pending']}")
                show(f"pending when the broker is back: {figures['pending later']}")
    table = costs([peer.name for peer in peers], idling, stopped, grown, options.timeouts)
    show_table("costs", table)
    if options.keep:
        told = conditions.told() | {"kafka": kafka.version}
        keep("idle", {"costs": table}, taking_part.of_calls(), told)


if __name__ == "__main__":
    main()
