"""How late calls end: elapsed time minus deadline, with a broker that does not answer.

Two faults: a real broker frozen by SIGSTOP, and a proxy that swallows what the
broker answers. Two processes: an idle one, and one with two threads that burn
bytecode. Ours: thousands of calls in each of the four, deadlines of 50 to 200 ms.
Peers, and ourselves among them: each call asked to end after 2 s where it can be
asked, broker frozen, process idle, watched for 45 s, each in a process of its own.

With --secured ours speak TLS and SCRAM; peers are left out.

    python benchmarks/overshoot.py [--calls N] [--samples N] [--only NAME]... [--secured]
        [--json FILE]
"""

import argparse
import json
import sys
import tempfile
import time
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from clients import prokurist_pool
from conditions import FAULTS, frozen, machine, show, topic_with_records
from peers import CALLS, HERE, Measured, Peer, Peers, Silent, releases

from prokurist.testing.kafka import RealKafka, SecuredListener

ASKED = 2.0
POLL = 0.2
LIMIT = 45.0
POOL_LIMIT = 300.0

COLUMNS = (
    "calls",
    "p50",
    "p95",
    "p99.9",
    "max",
    "bare p50",
    "bare p95",
    "bare p99.9",
    "bare max",
    "close max",
    "full collections",
    "pending",
)


def pooled(
    kafka: RealKafka, fault: str, busy: int, calls: int, keys: dict[str, Any]
) -> dict[str, Any]:
    """Ours in one condition, in a process of its own."""
    program = str(HERE / "clients" / "prokurist_pool.py")
    told = (kafka.bootstrap, str(calls), str(busy), json.dumps(keys))
    with Measured((sys.executable, program, *told)) as ours:
        ours.wait_until_ready()
        with FAULTS[fault](kafka):
            ours.go()
            figures: dict[str, Any] = ours.hear(POOL_LIMIT)
            return figures


def beside_the_harness(kafka: RealKafka, calls: int, keys: dict[str, Any]) -> dict[str, Any]:
    """The same in this process, whose heap is the harness's too."""
    consumers = prokurist_pool.prepared(kafka.bootstrap, prokurist_pool.CLOSERS, keys)
    with frozen(kafka):
        return prokurist_pool.measure(consumers, calls, 0)


def ours(kafka: RealKafka, calls: int, keys: dict[str, Any]) -> dict[str, Any]:
    """Our table."""
    result: dict[str, Any] = {}
    show(f"prokurist: milliseconds behind the deadline ({machine()})")
    show(f"  {'':26}" + "".join(f"{each:>{max(9, len(each) + 2)}}" for each in COLUMNS))

    def row(name: str, figures: dict[str, Any]) -> None:
        result[name] = figures
        cells = (
            f"{value:.2f}" if isinstance(value := figures[each], float) else str(value)
            for each in COLUMNS
        )
        widths = (max(9, len(each) + 2) for each in COLUMNS)
        show(
            f"  {name:26}"
            + "".join(f"{cell:>{width}}" for cell, width in zip(cells, widths, strict=True))
        )

    for fault in FAULTS:
        for busy in (0, 2):
            name = f"{fault}, {'busy' if busy else 'idle'} process"
            row(name, pooled(kafka, fault, busy, calls, keys))
    row("frozen, harness inside", beside_the_harness(kafka, calls, keys))
    show("  each call, p50 / p99.9 / max:")
    for call in result["frozen, idle process"]["of each call"]:
        if call not in CALLS:
            continue  # One that ended otherwise, and early.
        cells = []
        for figures in result.values():
            each = figures["of each call"][call]
            cells.append(f"{each['p50']:.2f} / {each['p99.9']:.2f} / {each['max']:.2f}")
        show(f"  {call:20}" + "".join(f"{cell:>24}" for cell in cells))
    return result


def sampled(kafka: RealKafka, peer: Peer, calls: list[str]) -> list[tuple[str, dict[str, Any]]]:
    """One sample of each of some calls of a peer, all in one freeze."""
    heard: list[tuple[str, dict[str, Any]]] = []
    running: list[tuple[str, Measured]] = []
    try:
        for call in calls:
            asked = POLL if call == "poll" else ASKED
            running.append((call, peer.start(kafka.bootstrap, "call", call, asked)))
        for call, process in list(running):
            try:
                process.wait_until_ready()
            except Silent as why:
                heard.append((call, {"seconds": None, "outcome": f"could not prepare: {why}"}))
                running.remove((call, process))
                process.end()
        with frozen(kafka):
            for _, process in running:
                process.go()
            over = time.monotonic() + LIMIT
            for call, process in running:
                try:
                    heard.append((call, process.hear(max(0.1, over - time.monotonic()))))
                except Silent:
                    heard.append((call, {"seconds": None, "outcome": f"> {LIMIT:.0f} s"}))
    finally:
        for _, process in running:
            process.end()
    return heard


def of_peer(kafka: RealKafka, peer: Peer, samples: int) -> dict[str, Any]:
    """The column of one peer."""
    found: dict[str, list[dict[str, Any]]] = {call: [] for call in CALLS}
    left = [call for call in CALLS for _ in range(samples)]
    while left:
        batch, left = left[: peer.at_once], left[peer.at_once :]
        for call, sample in sampled(kafka, peer, batch):
            found[call].append(sample)
    return found


def told(samples: list[dict[str, Any]]) -> str:
    """The worst of some samples, as a cell."""
    if any(each["outcome"].startswith("could not prepare") for each in samples):
        return "-"
    if any(each["seconds"] is None for each in samples):
        return f"> {LIMIT:.0f}"
    return f"{max(each['seconds'] for each in samples):.3f}"


def secured(stack: ExitStack) -> tuple[SecuredListener, dict[str, Any]]:
    """A listener with TLS and SCRAM, and what a client needs for it."""
    from prokurist.testing.kafka.pki import Authority  # noqa: PLC0415 - wants cryptography

    authority = Authority(Path(stack.enter_context(tempfile.TemporaryDirectory())))
    user, password = "anna", "not-a-secret"
    listener = SecuredListener(
        certificate=authority.issue("broker"),
        mechanisms=("SCRAM-SHA-256",),
        users={user: password},
    )
    return listener, {
        "security.protocol": "SASL_SSL",
        "ssl.ca.location": str(authority.location),
        "sasl.mechanism": "SCRAM-SHA-256",
        "sasl.username": user,
        "sasl.password": password,
    }


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--calls", type=int, default=9000, help="of ours, in each condition")
    parser.add_argument("--samples", type=int, default=2, help="of each call of each peer")
    parser.add_argument("--only", action="append", default=[], help="peers to measure")
    parser.add_argument("--no-peers", action="store_true")
    parser.add_argument("--secured", action="store_true", help="over TLS and SCRAM; no peers")
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    result: dict[str, Any] = {"machine": machine()}
    with ExitStack() as stack:
        security, keys = secured(stack) if options.secured else (None, {})
        kafka = stack.enter_context(RealKafka(controls=True, security=security))
        peers = stack.enter_context(Peers(options.only))
        topic_with_records(kafka)
        result["ours"] = ours(kafka, options.calls, keys)
        if not options.no_peers and not options.secured:
            result["releases"] = releases(peers)
            result["peers"] = {}
            show(f"seconds until a call ended, the worst of {options.samples}; 2 s asked,")
            show("poll 0.2; * it takes no timeout; broker frozen, process idle")
            show(f"  {'':17}" + "".join(f"{call:>19}" for call in CALLS))
            for peer in peers:
                column = result["peers"][peer.name] = of_peer(kafka, peer, options.samples)
                cells = (
                    told(column[call]) + ("" if peer.has_timeout(call) else " *")
                    for call in CALLS
                )
                show(f"  {peer.name:17}" + "".join(f"{cell:>19}" for cell in cells))
    if options.json:
        options.json.write_text(json.dumps(result, indent=2) + "\n", "utf-8")


if __name__ == "__main__":
    main()
