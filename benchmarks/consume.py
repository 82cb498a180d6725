"""How fast records are read: ours beside other clients, every value looked at.

A real Kafka on the same machine, six partitions, values of 100 bytes and of 1 KiB in batches of
256 KiB. Each turn is one pass of a fresh process through the topic (reading.py); turns go round
by round, and of each client's settings the fastest is shown. Ratios are of the turns of one
round, to ours by `poll` of 500 records.

    python benchmarks/consume.py [--mib N] [--rounds N] [--sizes 100 1024]
                                 [--codecs none lz4] [--only NAME ...] [--keep]
"""

import argparse
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

from data_files import Conditions, Table, keep
from data_files import show as show_table
from reading import (
    COLD,
    OURS,
    PARTITIONS,
    PURE,
    SETTINGS,
    WARM,
    Reader,
    clients,
    fill,
    how_many,
    java_reading,
)
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
    thousands,
    times,
    values,
)

from prokurist.testing.kafka import RealKafka

POLL = Turn(OURS, "", "poll")
RAW = Turn("raw pull", "", "poll")
WAYS: Mapping[str, Sequence[Sequence[str]]] = {
    OURS: [["poll"], ["iteration"], ["next"], ["columns"]],
    PURE: [["poll"]],
    "Java": [[COLD, WARM]],
}
"""How each client is used, by the processes that it takes; others have one way, `poll`."""

NAMES = {
    (OURS, "poll"): "prokurist, `poll`, 500 at most",
    (OURS, "iteration"): "prokurist, `for record in consumer`",
    (OURS, "next"): "prokurist, `next`",
    (OURS, "columns"): "prokurist, `columns` of polls of 10 000",
}

SHARES: Mapping[str, float] = {"aiokafka": 0.3, "kafka-python": 0.05, PURE: 0.1}
SHIPPED = Turn("confluent-kafka", "", "poll"), 0.25
"""The share of the topic that is read where all takes a minute; `SHIPPED` of small values."""

LARGE = 1000
"""Bytes from which on values are large."""

MIB = {100: 1024, 1024: 2048}
"""How much there is in a topic: seconds of reading for the fastest, at either size."""


def main() -> None:
    """Fill topics, let the clients take turns, and print tables."""
    asked = arguments()
    # With all of the virtual machine's compilers, as brokers in production have them.
    with (
        tempfile.TemporaryDirectory() as classes,
        RealKafka(java_options=["-Xmx1g"]) as kafka,
    ):
        java = java_reading(Path(classes))
        wanted = [each for each in asked.only if each != "Java" or java]
        for size in asked.sizes:
            for codec in asked.codecs:
                conditions = Conditions()
                tables = of_topic(kafka, size, codec, asked, wanted, java)
                for name, table in tables.items():
                    show_table(name, table)
                if asked.keep:
                    told = conditions.told() | {"kafka": kafka.version}
                    keep("consume", tables, clients(), told)


def arguments() -> argparse.Namespace:
    """What was asked for."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--mib", type=int, help="values in each topic")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--minutes", type=float, default=MINUTES, help="for all rounds")
    parser.add_argument("--sizes", type=int, nargs="+", default=[100, 1024])
    parser.add_argument("--codecs", nargs="+", default=["none"])
    parser.add_argument("--only", nargs="+", default=list(SETTINGS), choices=SETTINGS)
    parser.add_argument("--keep", action="store_true", help="as data of the pages")
    return parser.parse_args()


def of_topic(
    kafka: RealKafka,
    size: int,
    codec: str,
    asked: argparse.Namespace,
    wanted: Sequence[str],
    java: tuple[str, ...],
) -> dict[str, Table]:
    """The tables of one topic."""
    topic = kafka.unique_topic(partitions=PARTITIONS)
    mib = asked.mib or MIB.get(size, 1024)
    count = how_many(mib, size)
    fill(kafka.direct_bootstrap, topic, count, size, codec)
    reader = Reader(kafka.direct_bootstrap, topic, size, java)
    reader.run([RAW], count, {})  # So that the broker is warm, for the first client too.

    def run(process: Sequence[Turn]) -> Sequence[Mapping[str, float] | None]:
        keys = {"max.poll.records": 10_000} if process[0].way == "columns" else {}
        return reader.run(process, int(count * share(process[0], size)), keys)

    processes = [
        [Turn(client, setting, way) for way in ways]
        for client in wanted
        for setting in SETTINGS[client]
        for ways in WAYS.get(client, [["poll"]])
        if codec == "none" or client != "kafka-python"
    ]
    rounds = by_turns(processes, asked.rounds, asked.minutes, run)
    kafka.delete_topic(topic)
    name = f"{size} B" if codec == "none" else f"{size} B, {codec}"
    how = (
        f"{many(rounds)} rounds; {f'{count:,}'.replace(',', ' ')} records, {mib} MiB of "
        "values, in six partitions. Medians, and in brackets the lowest and the highest"
    )
    return {
        name: fastest(size, rounds, count, how),
        f"{name}, every setting": every_setting(rounds, how),
        f"{name}, aims": aims(size, rounds, how),
    }


def share(turn: Turn, size: int) -> float:
    """The share of the topic of values of this size that a turn reads."""
    shipped, part = SHIPPED
    if turn == shipped and size < LARGE:
        return part
    return SHARES.get(turn.client, 1.0)


# --- tables ------------------------------------------------------------------------------


def title(turn: Turn) -> str:
    """What a table calls a turn."""
    name = NAMES.get((turn.client, turn.way), turn.title)
    return f"{name}, {turn.way}" if turn.way in (COLD, WARM) else name


def rate(of: Sequence[Mapping[str, float] | None]) -> str:
    """Thousand records a second, as a cell."""
    return thousands(Spread.of(values(of, "rate"))) if any(of) else "failed"


def fastest(size: int, rounds: Rounds, count: int, how: str) -> Table:
    """Each client in each of its ways, by its best setting."""
    rows = []
    for turn in best(rounds):
        of = rounds[turn]
        rows.append(
            (
                title(turn),
                f"{count * share(turn, size) / 1e6:.2f}",
                rate(of),
                cell(Spread.of(values(of, "cpu")) if any(of) else None),
                f"{median(of, 'reading'):.2f}",
                f"{median(of, 'peak'):.0f}",
                "" if turn == POLL else cell(times(rounds.get(POLL, []), of)),
            )
        )
    columns = (
        "client",
        "million records read",
        "thousand records/s",
        "CPU s per million",
        "of which the thread that reads",
        "peak MiB",
        "`poll` of ours is so many times as fast",
    )
    return Table(how, columns, rows, kept(rounds))


def every_setting(rounds: Rounds, how: str) -> Table:
    """All settings that were tried, for those who ask whether the best was found."""
    rows = [
        (title(turn), rate(of), f"{median(of, 'cpu'):.2f}", f"{median(of, 'peak'):.0f}")
        for turn, of in rounds.items()
        if len(SETTINGS[turn.client]) > 1
    ]
    columns = "setting", "thousand records/s", "CPU s per million", "peak MiB"
    return Table(how, columns, rows)


def aims(size: int, rounds: Rounds, how: str) -> Table:
    """What was asked for, and what came of it."""
    chosen = {(turn.client, turn.way): turn for turn in best(rounds)}
    asked = [
        ("`poll`, times confluent-kafka", POLL, ("confluent-kafka", "poll"), 3.0, 1.3),
        ("`poll`, times Java, warm", POLL, ("Java", WARM), 1.5, None),
        ("`poll`, times iteration", POLL, (OURS, "iteration"), 2.0, 2.0),
        (
            "`columns`, of the raw pull",
            Turn(OURS, "", "columns"),
            ("raw pull", "poll"),
            0.75,
            0.75,
        ),
    ]
    rows = []
    for what, one, other, small, large in asked:
        goal = small if size < LARGE else large
        if one not in rounds or other not in chosen or goal is None:
            continue
        bound = "at most" if other == (OURS, "iteration") else "at least"
        found = times(rounds[one], rounds[chosen[other]])
        rows.append((what, f"{bound} {goal:g}", cell(found)))
    raw, peer = chosen.get(("raw pull", "poll")), chosen.get(("confluent-kafka", "poll"))
    if raw is not None and peer is not None:
        most = times(rounds[raw], rounds[peer])
        rows.append(("raw pull, times confluent-kafka", "for comparison", cell(most)))
    return Table(how, ("", "asked", "found"), rows)


if __name__ == "__main__":
    main()
