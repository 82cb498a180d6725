"""Checkpoints: the last batch that is done, and never one that was only planned."""

from pathlib import Path

import pytest

from prokurist.spark.checkpoint import Checkpoint, read_checkpoint
from prokurist.spark.errors import CheckpointException
from prokurist.types import TopicPartition

QUERY = "2319eb01-fe57-49f6-88f0-3cc1584874fa"
BATCH = '{"batchWatermarkMs":0,"batchTimestampMs":1795333337141,"conf":{"a:b":"{}"}}'
T0, T1 = TopicPartition("t", 0), TopicPartition("t", 1)
U0 = TopicPartition("u", 0)


def made(folder: Path, batches: dict[int, list[str]], done: int, version: str = "v1") -> Path:
    """A checkpoint as Spark 4.2 writes it.

    Args:
        folder: Where.
        batches: For each batch what its sources said.
        done: How many of them have ended.
        version: The first line of a file of offsets.
    """
    (folder / "offsets").mkdir(parents=True)
    (folder / "metadata").write_text(f'{{"id":"{QUERY}"}}')
    for number, lines in batches.items():
        (folder / "offsets" / str(number)).write_text("\n".join([version, BATCH, *lines]))
        (folder / "offsets" / f".{number}.crc").write_bytes(b"crc\0")
    if done:
        (folder / "commits").mkdir()
    for number in sorted(batches)[:done]:
        (folder / "commits" / str(number)).write_text('v1\n{"nextBatchWatermarkMs":0}')
    return folder


def test_the_last_batch_that_is_done_counts(tmp_path: Path) -> None:
    """By number, not by name: batch 10 comes after batch 9; 11 is only planned."""
    batches = {number: [f'{{"t":{{"0":{number}}}}}'] for number in range(8, 12)}
    folder = made(tmp_path, batches, done=3)
    (folder / "commits" / "12.tmp").touch()
    assert read_checkpoint(folder) == Checkpoint(str(folder), QUERY, 10, {T0: 10})
    assert read_checkpoint(f"file:{folder}").batch == 10
    assert read_checkpoint(f"file://{folder}").batch == 10


def test_a_planned_batch_is_found_by_its_number(tmp_path: Path) -> None:
    """Who has written its results knows that it is done before Spark does."""
    folder = made(tmp_path, {0: ['{"t":{"0":5}}'], 1: ['{"t":{"0":9}}']}, done=1)
    assert read_checkpoint(folder).ends == {T0: 5}
    assert read_checkpoint(folder, batch=1) == Checkpoint(str(folder), QUERY, 1, {T0: 9})


def test_our_own_first_offset_is_read_without_its_start(tmp_path: Path) -> None:
    """`$init` is where the stream began, and no topic."""
    line = '{"t": {"0": 1029, "1": 1029}, "$init": {"t": {"0": 999, "1": 999}}}'
    assert read_checkpoint(made(tmp_path, {0: [line]}, done=1)).ends == {T0: 1029, T1: 1029}


@pytest.mark.parametrize(
    ("version", "lines"),
    [
        ("v1", ["4", '{"t":{"0":5}}', "-", '{"logOffset":3}', '{"u":{"0":6}}']),
        ("v2", ["0:4", 'a:{"t":{"0":5}}', "2:-", '3:{"logOffset":3}', '1:{"u":{"0":6}}']),
    ],
)
def test_only_the_sources_that_are_kafka_s_count(
    tmp_path: Path, version: str, lines: list[str]
) -> None:
    """Beside other sources of the query; one of them can be chosen, by its place or name."""
    folder = made(tmp_path, {0: lines}, done=1, version=version)
    assert read_checkpoint(folder).ends == {T0: 5, U0: 6}
    first: int | str = "a" if version == "v2" else 1
    assert read_checkpoint(folder, source=first).ends == {T0: 5}
    with pytest.raises(CheckpointException, match="source 0 is not Kafka's"):
        read_checkpoint(folder, source=0)
    with pytest.raises(CheckpointException, match="has no source 9: there are 0, "):
        read_checkpoint(folder, source=9)


def test_a_partition_that_two_sources_read_has_no_one_place(tmp_path: Path) -> None:
    """A join of a topic with itself: the commit says which."""
    folder = made(tmp_path, {0: ['{"t":{"0":5}}', '{"t":{"0":7}}']}, done=1)
    with pytest.raises(CheckpointException, match=r"several sources \(0, 1\) read t-0: pass"):
        read_checkpoint(folder)
    assert read_checkpoint(folder, source=1).ends == {T0: 7}


def test_no_batch_is_done_yet(tmp_path: Path) -> None:
    """Neither what was planned nor nothing is taken for it."""
    folder = made(tmp_path / "a", {0: ['{"t":{"0":5}}']}, done=0)
    with pytest.raises(CheckpointException, match="no batch is done; 0 is only planned"):
        read_checkpoint(folder)
    with pytest.raises(CheckpointException, match=r"nothing: no batch is done: is this the f"):
        read_checkpoint(tmp_path / "nothing")


@pytest.mark.parametrize(
    ("file", "text", "why"),
    [
        ("offsets/0", "v3\n{}\n{}", "begins with 'v3', and only v1 and v2 are known"),
        ("offsets/0", "v1\n{}\n4", "none of the sources is Kafka's"),
        ("offsets/0", "v1\n{}\n-", "none of the sources is Kafka's"),
        ("offsets/0", 'v1\n{}\n{"t":{"0":-1}}', r'offsets/0, source 0, at "t"."0": the offset'),
        ("offsets/0", 'v1\n{}\n{"t":{"x":1}}', "a partition is a number"),
        ("metadata", "{}", "metadata has no query's id: '{}'"),
        ("metadata", "", "metadata has no query's id"),
    ],
)
def test_what_is_no_checkpoint_is_refused(
    tmp_path: Path, file: str, text: str, why: str
) -> None:
    """It names the file and what is wrong in it."""
    folder = made(tmp_path, {0: ['{"t":{"0":5}}']}, done=1)
    (folder / file).write_text(text)
    with pytest.raises(CheckpointException, match=why):
        read_checkpoint(folder)


def test_a_file_that_is_gone_is_named(tmp_path: Path) -> None:
    """Spark purges old batches; commits without offsets are no checkpoint of its own."""
    folder = made(tmp_path, {0: ['{"t":{"0":5}}']}, done=1)
    with pytest.raises(CheckpointException, match="offsets/7 cannot be read"):
        read_checkpoint(folder, batch=7)


@pytest.mark.parametrize("path", ["s3a://bucket/cp", "hdfs:/cp", "dbfs:/cp"])
def test_a_folder_elsewhere_wants_a_session(path: str) -> None:
    """What only Spark can read is not looked for on this machine."""
    with pytest.raises(CheckpointException, match="not on this machine: pass spark="):
        read_checkpoint(path)
