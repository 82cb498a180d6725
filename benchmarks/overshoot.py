"""How late calls end: elapsed time minus deadline, with a broker that does not answer.

Two faults: a real broker frozen by SIGSTOP, and a proxy that swallows what the
broker answers. Two processes: an idle one, and one with two threads that burn
bytecode. Ours: thousands of calls in each of the four, deadlines of 50 to 200 ms.
Peers, and ourselves among them: each call asked to end after 2 s where it can be
asked, broker frozen, process idle, watched for 45 s, each in a process of its own.

With --secured ours speak TLS and SCRAM; peers are left out.

    python benchmarks/overshoot.py [--calls N] [--samples N] [--only NAME]... [--secured]
        [--keep]
"""

import argparse
import json
import os
import sys
import tempfile
import time
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import taking_part
from clients import prokurist_pool
from conditions import FAULTS, frozen, show, topic_with_records
from data_files import Conditions, Table, keep
from data_files import show as show_table
from peers import CALLS, HERE, Measured, Peer, Peers, Silent

from prokurist.testing.kafka import RealKafka, SecuredListener

ASKED = 2.0
POLL = 0.2
LIMIT = 45.0
POOL_LIMIT = 300.0


def pooled(
    kafka: RealKafka, fault: str, busy: int, calls: int, keys: dict[str, Any]
) -> dict[str, Any]:
    """Ours in one condition, in a process of its own."""
    program = str(HERE / "clients" / "prokurist_pool.py")
    given = (kafka.bootstrap, str(calls), str(busy), json.dumps(keys))
    with Measured((sys.executable, program, *given)) as ours:
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


def ours(kafka: RealKafka, calls: int, keys: dict[str, Any]) -> Table:
    """Our table."""
    result: dict[str, Any] = {}
    loads: dict[str, float] = {}
    for fault in FAULTS:
        for busy in (0, 2):
            name = f"{fault}, {'busy' if busy else 'idle'}"
            loads[name] = os.getloadavg()[0]
            result[name] = pooled(kafka, fault, busy, calls, keys)
    name = "frozen, idle, harness inside"
    loads[name] = os.getloadavg()[0]
    result[name] = beside_the_harness(kafka, calls, keys)
    show("each call, p50 / p99.9 / max:")
    for call in result["frozen, idle"]["of each call"]:
        if call not in CALLS:
            continue  # One that ended otherwise, and early.
        cells = []
        for figures in result.values():
            each = figures["of each call"][call]
            cells.append(f"{each['p50']:.2f} / {each['p99.9']:.2f} / {each['max']:.2f}")
        show(f"  {call:20}" + "".join(f"{cell:>24}" for cell in cells))
    rows = [
        (
            *(name, f"{loads[name]:.1f}", str(figures["calls"])),
            *(
                f"{figures[each]:.1f} ({figures[f'bare {each}']:.1f})"
                for each in ("p50", "p95", "p99.9")
            ),
            f"{figures['close max']:.0f}",
            str(figures["full collections"]),
        )
        for name, figures in result.items()
    ]
    columns = (
        *("broker, process", "load", "calls", "p50", "p95", "p99.9"),
        *("close(0.2) at the latest", "full collections"),
    )
    how = "Milliseconds behind the deadline; the bare waits of the same moment in brackets"
    return Table(how, columns, rows, result)


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
    return f"{max(each['seconds'] for each in samples):.2f}"


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
    parser.add_argument("--keep", action="store_true", help="as data of the pages")
    options = parser.parse_args()
    conditions = Conditions()
    with ExitStack() as stack:
        security, keys = secured(stack) if options.secured else (None, {})
        kafka = stack.enter_context(RealKafka(controls=True, security=security))
        peers = stack.enter_context(Peers(options.only))
        topic_with_records(kafka)
        tables = {"ours": ours(kafka, options.calls, keys)}
        if not options.no_peers and not options.secured:
            tables["peers"] = ends(kafka, peers, options.samples)
        for name, table in tables.items():
            show_table(name, table)
        if options.keep and not options.secured:
            measured = conditions.told() | {"kafka": kafka.version}
            keep("overshoot", tables, taking_part.of_calls(), measured)


def ends(kafka: RealKafka, peers: list[Peer], samples: int) -> Table:
    """The table of all clients: a column for each."""
    columns = {peer.name: of_peer(kafka, peer, samples) for peer in peers}
    rows = [
        (
            call,
            *(
                f"{told(columns[peer.name][call])}{'' if peer.has_timeout(call) else ' *'}"
                for peer in peers
            ),
        )
        for call in CALLS
    ]
    how = (
        f"Seconds until a call ended, broker frozen, {ASKED:.0f} s asked (`poll` {POLL}), "
        f"{'once' if samples == 1 else f'the worst of {samples}'}; * takes no timeout"
    )
    return Table(how, ("call", *columns), rows, columns)


if __name__ == "__main__":
    main()
