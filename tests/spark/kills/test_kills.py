"""Some of `make kill-spark`, a hundred batches, and that their checks are able to fail."""

from collections.abc import Callable
from dataclasses import replace
from itertools import islice
from pathlib import Path

import pytest

from prokurist.testing.kafka import DEFAULT_VERSION, KafkaUnavailable, RealKafka
from prokurist.testing.kafka.java import find_java

pytest.importorskip("pyspark", reason="PySpark is not installed")

from tests.spark.kills import rounds, sink_rounds, steady
from tests.spark.kills.process_tree import PROGRAM, Role, role_of
from tests.spark.kills.rounds import CLUSTER, LOCAL, VICTIMS, Blow, Round, drawn
from tests.spark.kills.sink import Row, begun, value_of, wrongs
from tests.spark.kills.steady import Held, Sample

ROUNDS = [
    Round(LOCAL, "latest", (Blow(Role.WORKER, 0, 0.3), Blow(Role.DRIVER, 1, 0.6))),
    Round(CLUSTER, "earliest", (Blow(Role.EXECUTOR, 1, 0.4), Blow(Role.RUNNER, 0, 0.8))),
]
"""Each process once, in as few starts of Spark as that takes."""


@pytest.fixture
def _java() -> None:
    try:
        find_java(DEFAULT_VERSION)
    except KafkaUnavailable as error:
        pytest.skip(str(error))


@pytest.mark.kafka
@pytest.mark.slow
@pytest.mark.minutes
@pytest.mark.timeout(900)
@pytest.mark.usefixtures("_java")
@pytest.mark.parametrize("plan", ROUNDS, ids=lambda plan: plan.master.split("[")[0])
def test_what_is_killed_is_gone_on_from(prokurist_own_kafka: RealKafka, plan: Round) -> None:
    """Driver, its source's process, executor or worker: each row is written once."""
    outcome = rounds.run(prokurist_own_kafka, [plan])
    assert not outcome.wrongs, outcome.summary()
    assert outcome.rows > 0
    assert set(outcome.struck) == {blow.role for blow in plan.blows}


@pytest.mark.kafka
@pytest.mark.slow
@pytest.mark.minutes
@pytest.mark.timeout(1800)
@pytest.mark.usefixtures("_java")
def test_rows_are_written_once_or_again_whatever_is_killed() -> None:
    """B756, B757: the driver between the two commits, a worker, a broker; by each delivery."""
    plans = list(islice(sink_rounds.drawn(1), 2))
    with RealKafka(sink_rounds.NODES, controls=True) as kafka:
        outcome = sink_rounds.run(kafka, plans)
    assert not outcome.wrongs, outcome.summary()
    assert outcome.rows > 0
    assert outcome.twice["exactly_once"] == 0


@pytest.mark.kafka
@pytest.mark.slow
@pytest.mark.minutes
@pytest.mark.timeout(900)
@pytest.mark.usefixtures("_java")
def test_a_hundred_batches_cost_what_the_first_ones_did(
    prokurist_own_kafka: RealKafka,
) -> None:
    """No new connection, no more files, threads or memory, and not a word on stderr.

    Neither of who reads nor of who writes, which are workers of their own.
    """
    outcome = steady.run(prokurist_own_kafka, 100, writes=True)
    assert not outcome.wrongs, outcome.summary()


def test_a_seed_replays_its_rounds() -> None:
    """The same seed, the same lives; every role is killed in each."""
    first = list(islice(drawn(1), 20))
    assert first == list(islice(drawn(1), 20))
    assert first != list(islice(drawn(2), 20))
    assert {each.begins for each in first} == {"earliest", "latest"}
    for each in first:
        assert sorted(blow.role for blow in each.blows) == sorted(VICTIMS[each.master])


RUNNER = "pyspark.sql.streaming.python_streaming_source_runner"
DAEMON = ["python3", "-m", "pyspark.daemon", "pyspark.worker"]


@pytest.mark.parametrize(
    ("line", "above", "role"),
    [
        (["java", "org.apache.spark.deploy.SparkSubmit", "pyspark-shell"], [], Role.DRIVER),
        (["java", "org.apache.spark.executor.CoarseGrainedExecutorBackend"], [], Role.EXECUTOR),
        (["python3", "-m", RUNNER], ["java"], Role.RUNNER),
        (["python3", "-m", PROGRAM, "{}"], ["python3"], Role.PROGRAM),
        (DAEMON, DAEMON, Role.WORKER),
        (DAEMON, ["java"], None),
        ([*DAEMON[:3], "pyspark.sql.worker.create_data_source"], DAEMON, None),
        ([], [], None),
    ],
)
def test_processes_are_known_by_their_command_lines(
    line: list[str], above: list[str], role: Role | None
) -> None:
    """As Spark starts them; those that only plan have no role."""
    assert role_of(line, above) == role


def whole() -> list[Row]:
    """What five records of each partition look like, from the second on."""
    return [(each, at, value_of(each, at)) for each in (0, 1) for at in range(1, 5)]


def lost(rows: list[Row]) -> None:
    """One is left out."""
    del rows[2]


def again(rows: list[Row]) -> None:
    """One comes twice."""
    rows.append(rows[2])


def beyond(rows: list[Row]) -> None:
    """One was not to be read."""
    rows.append((0, 0, value_of(0, 0)))


def strange(rows: list[Row]) -> None:
    """One has another's value."""
    rows[2] = (*rows[2][:2], value_of(1, 9))


@pytest.mark.parametrize("fault", [lost, again, beyond, strange])
def test_the_check_of_rows_can_fail(fault: Callable[[list[Row]], None]) -> None:
    """For each reason."""
    rows = whole()
    bounds = {0: 1, 1: 1}, {0: 5, 1: 5}
    assert not wrongs(iter(rows), *bounds)
    fault(rows)
    assert len(wrongs(iter(rows), *bounds)) == 1


def test_a_beginning_is_what_the_first_offsets_say(tmp_path: Path) -> None:
    """And nothing else: after any kill, they are the first that there were."""
    offsets = tmp_path / "offsets"
    assert begun(tmp_path, "t") is None
    offsets.mkdir()
    for end, start in (
        ('{"t": {"0": 9}}', None),
        ('{"t": {"0": 9}, "$init": {"t": {"0": 4}, "u": {"0": 1}}}', {0: 4}),
    ):
        (offsets / "0").write_text(f"v1\n{{}}\n{end}")
        (offsets / "1").write_text('v1\n{}\n{"t": {"0": 12}, "$init": {"t": {"0": 7}}}')
        assert begun(tmp_path, "t") == start


def life() -> steady.SteadyResult:
    """A long life as it should be."""
    held = {
        1: (Role.RUNNER, 10, 3, 50 << 20),
        2: (Role.WORKER, 12, 4, 60 << 20),
        3: (Role.PROGRAM, 9, 2, 70 << 20),
        4: (Role.DRIVER, 300, 80, 600 << 20),
    }
    return steady.SteadyResult(100, [Sample(batch, 5, held) for batch in range(0, 100, 5)])


def last(outcome: steady.SteadyResult, held: Held) -> None:
    """Have one process hold something else in the end."""
    sample = outcome.samples[-1]
    (pid,) = (each for each, its in sample.held.items() if its[0] is held[0])
    outcome.samples[-1] = replace(sample, held=sample.held | {pid: held})


def connects(outcome: steady.SteadyResult) -> None:
    """A connection for each batch."""
    outcome.samples[-1] = replace(outcome.samples[-1], connections=100)


def opens(outcome: steady.SteadyResult) -> None:
    """Files that are not closed."""
    last(outcome, (Role.WORKER, 40, 4, 60 << 20))


def starts(outcome: steady.SteadyResult) -> None:
    """A thread that is not ended."""
    last(outcome, (Role.RUNNER, 10, 4, 50 << 20))


def grows(outcome: steady.SteadyResult) -> None:
    """Memory that is not given back."""
    last(outcome, (Role.RUNNER, 10, 3, 80 << 20))


def swells(outcome: steady.SteadyResult) -> None:
    """The JVM, too, opens something for each batch."""
    last(outcome, (Role.DRIVER, 390, 80, 900 << 20))


def dies(outcome: steady.SteadyResult) -> None:
    """Another worker for each batch."""
    outcome.samples = [
        replace(
            each,
            held={
                99 + each.batch if its[0] is Role.WORKER else pid: its
                for pid, its in each.held.items()
            },
        )
        for each in outcome.samples
    ]


def speaks(outcome: steady.SteadyResult) -> None:
    """A warning."""
    outcome.said = ["WARNING: Using incubator modules: jdk.incubator.vector", "a warning"]


def early(outcome: steady.SteadyResult) -> None:
    """Its end was not checked."""
    outcome.samples = outcome.samples[:10]


FAULTS = [connects, opens, starts, grows, swells, dies, speaks, early]


@pytest.mark.parametrize("fault", FAULTS)
def test_the_check_of_a_long_life_can_fail(
    fault: Callable[[steady.SteadyResult], None],
) -> None:
    """For each reason."""
    outcome = life()
    outcome.judge()
    assert "nothing was wrong" in outcome.summary()
    outcome = life()
    fault(outcome)
    outcome.judge()
    assert len(outcome.wrongs) == 1
