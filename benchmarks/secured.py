"""How fast records are read over TLS: ours beside confluent-kafka, each beside plain text.

A real Kafka on the same machine with one listener in plain text and one with TLS, six
partitions, values of 100 bytes and of 1 KiB. Each reads the topic through once, from a fresh
process (clients/straight.py); they take turns, round by round, and medians are told. Of
confluent-kafka several settings of its queue are tried, and its best one is shown.

    python benchmarks/secured.py [--mib N] [--rounds N] [--sizes 100 1024] [--busy]
"""

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

from conditions import machine, show
from consume import PARTITIONS, PARTS, fill
from peers import HERE

from prokurist.testing.kafka import RealKafka, SecuredListener
from prokurist.testing.kafka.pki import Authority

TUNED = {
    "confluent-kafka": {},
    "confluent-kafka, deep queue": {
        "queued.min.messages": 1_000_000,
        "queued.max.messages.kbytes": 262_144,
        "fetch.message.max.bytes": 4_194_304,
    },
    "confluent-kafka, short back-off": {
        "queued.min.messages": 200_000,
        "fetch.queue.backoff.ms": 10,
        "fetch.message.max.bytes": 1_048_576,
    },
}
CLIENTS = {"prokurist, poll(500)": {}, **TUNED}


def main() -> None:
    """Fill topics, let the clients take turns, and print tables."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--mib", type=int, default=384, help="values in each topic")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--sizes", type=int, nargs="+", default=[100, 1024])
    parser.add_argument("--busy", action="store_true", help="beside a thread that computes")
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        authority = Authority(Path(folder))
        listener = SecuredListener(certificate=authority.issue("broker"), is_direct=True)
        # With all of the virtual machine's compilers, as brokers in production have them.
        with RealKafka(security=listener, java_options=["-Xmx1g"]) as kafka:
            for size in asked.sizes:
                of_size(kafka, size, asked, authority.location)


def of_size(kafka: RealKafka, size: int, asked: argparse.Namespace, authority: Path) -> None:
    """One table."""
    topic = kafka.unique_topic(partitions=PARTITIONS)
    count = (asked.mib << 20) // size // PARTS * PARTS
    fill(kafka.direct_bootstrap, topic, count, size, "none")
    tls = {"security.protocol": "SSL", "ssl.ca.location": str(authority)}
    ways = {"TLS": (kafka.bootstrap, tls), "plain text": (kafka.direct_bootstrap, {})}
    rounds: dict[tuple[str, str], list[dict[str, float]]] = {}
    for _ in range(asked.rounds):
        for way, (bootstrap, keys) in ways.items():
            for client, settings in CLIENTS.items():
                figures = one(client, bootstrap, topic, count, {**keys, **settings}, asked)
                print(way, client, figures, file=sys.stderr, flush=True)
                rounds.setdefault((way, client), []).append(figures)
    beside = ", beside a busy thread" if asked.busy else ""
    show(f"\n{size} B, {count:,} records{beside} ({machine()})\n")
    show("| | records/s | MB/s | CPU s per million | spread |")
    show("|---|--:|--:|--:|--:|")
    for way in ways:
        best = max(TUNED, key=lambda name: median(rounds[way, name], "rate"))
        for client in ("prokurist, poll(500)", best):
            of = rounds[way, client]
            low, high = (pick(each["rate"] for each in of) for pick in (min, max))
            show(
                f"| {way}: {client} | {median(of, 'rate'):,.0f} | {median(of, 'mb'):.0f} | "
                f"{median(of, 'cpu'):.2f} | {low:,.0f}–{high:,.0f} |"
            )
    kafka.delete_topic(topic)


def median(of: list[dict[str, float]], key: str) -> float:
    """The median of the rounds."""
    return statistics.median(each[key] for each in of)


def one(
    client: str,
    bootstrap: str,
    topic: str,
    count: int,
    keys: dict[str, object],
    asked: argparse.Namespace,
) -> dict[str, float]:
    """One client's figures."""
    busy = "busy" if asked.busy else "quiet"
    program = str(HERE / "clients" / "straight.py")
    command = [sys.executable, program, client, bootstrap, topic, str(count)]
    done = subprocess.run(
        [*command, json.dumps(keys), busy],
        capture_output=True,
        text=True,
        check=True,
        timeout=600,
    )
    figures: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    return figures


if __name__ == "__main__":
    main()
