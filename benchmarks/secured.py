"""How fast records are read over TLS: ours beside confluent-kafka, each beside plain text.

A real Kafka on the same machine with one listener in plain text and one with TLS, six
partitions, values of 100 bytes and of 1 KiB. Each turn is one pass of a fresh process through
the topic (reading.py); turns go round by round. Of confluent-kafka's settings its best one is
shown for each way.

    python benchmarks/secured.py [--mib N] [--rounds N] [--sizes 100 1024] [--busy] [--keep]
"""

import argparse
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

from data_files import Conditions, Table, keep
from data_files import show as show_table
from reading import OURS, PARTITIONS, SETTINGS, Reader, clients, fill, how_many
from turns import (
    MINUTES,
    Rounds,
    Spread,
    Turn,
    best,
    by_turns,
    cell,
    kept,
    many,
    median,
    times,
    values,
)

from prokurist.testing.kafka import RealKafka, SecuredListener
from prokurist.testing.kafka.pki import Authority

CLIENTS = (OURS, "confluent-kafka")
TLS, PLAIN = "TLS", "plain text"


def main() -> None:
    """Fill topics, let the clients take turns, and print tables."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--mib", type=int, default=512, help="values in each topic")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--minutes", type=float, default=MINUTES, help="for all rounds")
    parser.add_argument("--sizes", type=int, nargs="+", default=[100, 1024])
    parser.add_argument("--busy", action="store_true", help="beside a thread that computes")
    parser.add_argument("--keep", action="store_true", help="as data of the pages")
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        authority = Authority(Path(folder))
        listener = SecuredListener(certificate=authority.issue("broker"), is_direct=True)
        # With all of the virtual machine's compilers, as brokers in production have them.
        with RealKafka(security=listener, java_options=["-Xmx1g"]) as kafka:
            for size in asked.sizes:
                conditions = Conditions()
                name = f"{size} B" + (", beside a busy thread" if asked.busy else "")
                table = of_size(kafka, size, asked, authority.location)
                show_table(name, table)
                if asked.keep:
                    told = conditions.told() | {"kafka": kafka.version}
                    keep("secured", {name: table}, clients(CLIENTS), told)


def of_size(kafka: RealKafka, size: int, asked: argparse.Namespace, authority: Path) -> Table:
    """One table."""
    topic = kafka.unique_topic(partitions=PARTITIONS)
    count = how_many(asked.mib, size)
    fill(kafka.direct_bootstrap, topic, count, size, "none")
    tls = {"security.protocol": "SSL", "ssl.ca.location": str(authority)}
    at = {TLS: (kafka.bootstrap, tls), PLAIN: (kafka.direct_bootstrap, {})}

    def run(process: Sequence[Turn]) -> Sequence[Mapping[str, float] | None]:
        bootstrap, keys = at[process[0].way]
        reader = Reader(bootstrap, topic, size, ())
        return reader.run(process, count, keys, how="poll", busy=asked.busy)

    processes = [
        [Turn(client, setting, way)]
        for way in at
        for client in CLIENTS
        for setting in SETTINGS[client]
    ]
    for way in at:
        run([Turn(OURS, "", way)])  # So that the broker is warm, for the first client too.
    rounds = by_turns(processes, asked.rounds, asked.minutes, run)
    kafka.delete_topic(topic)
    how = (
        f"{many(rounds)} rounds; {f'{count:,}'.replace(',', ' ')} records in six partitions. "
        "Medians, and in brackets the lowest and the highest"
    )
    return compared(rounds, how)


def compared(rounds: Rounds, how: str) -> Table:
    """Ours and confluent-kafka's best, in either way."""
    chosen = {(turn.client, turn.way): turn for turn in best(rounds)}
    rows = []
    for turn in chosen.values():
        of = rounds[turn]
        ours = rounds[chosen[OURS, turn.way]]
        plain = rounds[chosen[turn.client, PLAIN]]
        rows.append(
            (
                f"{turn.title}, {turn.way}",
                cell(Spread.of(values(of, "mb")) if any(of) else None, 0),
                f"{median(of, 'cpu'):.2f}",
                f"{median(of, 'reading'):.2f}",
                "" if turn.way == PLAIN else cell(times(of, plain)),
                "" if turn.client == OURS else cell(times(ours, of)),
            )
        )
    columns = (
        "client",
        "MB/s",
        "CPU s per million",
        "of which the thread that reads",
        "of its own plain text",
        "ours is so many times as fast",
    )
    return Table(how, columns, rows, kept(rounds))


if __name__ == "__main__":
    main()
