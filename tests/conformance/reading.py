"""Scenarios of ListOffsets, OffsetForLeaderEpoch and Fetch without a session."""

from datetime import timedelta
from typing import Any, Final

from tests.conformance.normalising import BEGAN
from tests.conformance.sides import Topic
from tests.conformance.stage import AT_ONCE, Stage

ROOM: Final = 1 << 20


def wanted(topic: Topic, *rows: tuple[int, int], **more: Any) -> list[dict[str, Any]]:
    """A topic of a fetch request: partitions and offsets."""
    partitions = [
        {
            "partition": partition,
            "fetch_offset": offset,
            "partition_max_bytes": ROOM,
            "current_leader_epoch": -1,
            "last_fetched_epoch": -1,
            "log_start_offset": -1,
            **more,
        }
        for partition, offset in rows
    ]
    return [{"topic": topic.name, "topic_id": topic.id, "partitions": partitions}]


def fetch(stage: Stage, topics: list[dict[str, Any]], who: str = "a", **more: Any) -> Any:
    """Fetch at once, without a session."""
    values: dict[str, Any] = {
        "replica_id": -1,
        "max_wait": AT_ONCE,
        "min_bytes": 1,
        "max_bytes": ROOM,
        "session_epoch": -1,
        "forgotten_topics_data": [],
        **more,
    }
    return stage.ask(who, "Fetch", topics=topics, **values)


def list_offsets(
    stage: Stage, topic: Topic, *stamps: int, partition: int = 0, who: str = "a", **more: Any
) -> None:
    """Look up each timestamp of a partition, with a request for each."""
    for stamp in stamps:
        row = {"partition_index": partition, "timestamp": stamp, "current_leader_epoch": -1}
        topics = [{"name": topic.name, "partitions": [{**row, **more}]}]
        stage.ask(who, "ListOffsets", replica_id=-1, topics=topics, isolation_level=0)


def epochs(
    stage: Stage, topic: Topic, *asked: int, current: int = -1, who: str = "a", at: int = 0
) -> None:
    """Ask where epochs end."""
    for epoch in asked:
        row = {"partition": at, "current_leader_epoch": current, "leader_epoch": epoch}
        topics = [{"topic": topic.name, "partitions": [row]}]
        stage.ask(who, "OffsetForLeaderEpoch", replica_id=-1, topics=topics)


def offsets_by_timestamp(stage: Stage) -> None:
    """Special timestamps and ordinary ones, in a log with ties and disorder."""
    topic = stage.topic()
    stages = (-1, -2, -3, -4, -5, -7, BEGAN)
    list_offsets(stage, topic, *stages)
    stage.produce(topic, b"a", b"b", stamp=BEGAN)
    stage.produce(topic, b"c", stamp=BEGAN + 50)
    stage.produce(topic, b"d", b"e", stamp=BEGAN + 20)
    stage.produce(topic, b"f", stamp=BEGAN + 50)
    list_offsets(stage, topic, *stages, 0, BEGAN + 1, BEGAN + 2, BEGAN + 21, BEGAN + 51)
    stage.side.delete_records(topic.name, 0, 3)
    list_offsets(stage, topic, -1, -2, -3, 0, BEGAN + 1, BEGAN + 30, BEGAN + 51)


def offsets_refused(stage: Stage) -> None:
    """Partitions that are not there, epochs that are not the leader's, a partition twice."""
    topic = stage.topic(2)
    list_offsets(stage, topic, -1, -2, partition=7)
    list_offsets(stage, Topic("no-such-topic", topic.id), -1)
    list_offsets(stage, topic, -1, BEGAN, current_leader_epoch=0)
    list_offsets(stage, topic, -1, BEGAN, current_leader_epoch=3)
    row = {"partition_index": 0, "timestamp": -1, "current_leader_epoch": -1}
    for rows in ([row, row], [row, {**row, "timestamp": -2}, {**row, "partition_index": 1}]):
        topics = [{"name": topic.name, "partitions": rows}]
        stage.ask("a", "ListOffsets", replica_id=-1, topics=topics, isolation_level=0)


def epochs_of_one_leader(stage: Stage) -> None:
    """The current epoch, later ones, none, and partitions that are not there."""
    topic = stage.topic()
    epochs(stage, topic, 0, 1, -1, -2)
    stage.produce(topic, b"a", b"b")
    epochs(stage, topic, 0, 1, 5, -1, -2)
    epochs(stage, topic, 0, current=0)
    epochs(stage, topic, 0, current=1)
    epochs(stage, topic, 0, at=4)
    epochs(stage, Topic("no-such-topic", topic.id), 0)
    stage.side.delete_records(topic.name, 0, 1)
    epochs(stage, topic, 0, 1)
    stage.side.delete_records(topic.name, 0, 2)
    epochs(stage, topic, 0, 1)


def fetch_positions(stage: Stage) -> None:
    """Offsets inside, at the end, below, above and below nothing, epochs right and wrong."""
    topic = stage.topic(2)
    fetch(stage, wanted(topic, (0, 0), (1, 0)))
    stage.produce(topic, b"a", b"b")
    stage.produce(topic, b"c")
    for offset in (0, 1, 2, 3, 4, -1, -2):
        fetch(stage, wanted(topic, (0, offset)))
    fetch(stage, wanted(topic, (0, 0), (1, 0), (5, 0)))
    fetch(stage, wanted(topic, (0, 0), current_leader_epoch=0))
    fetch(stage, wanted(topic, (0, 0), current_leader_epoch=2))
    fetch(stage, wanted(topic, (0, 3), last_fetched_epoch=0))
    fetch(stage, wanted(topic, (0, 3), last_fetched_epoch=2))
    fetch(stage, wanted(topic, (0, 4), last_fetched_epoch=0))
    fetch(stage, wanted(topic, (0, 0)), isolation_level=1)
    fetch(stage, [])
    stage.side.delete_records(topic.name, 0, 1)
    for offset in (0, 1, 2):
        fetch(stage, wanted(topic, (0, offset)))
        fetch(stage, wanted(topic, (0, offset), last_fetched_epoch=0))


def fetch_of_what_is_not_there(stage: Stage) -> None:
    """A topic that never was, one that was deleted, and one that was made again."""
    topic = stage.topic()
    never = Topic("no-such-topic", topic.id)
    if stage.version("Fetch") < 13:
        fetch(stage, wanted(never, (0, 0)))
    stage.produce(topic, b"a")
    fetch(stage, wanted(topic, (0, 0)))
    stage.side.delete_topic(topic.name)
    fetch(stage, wanted(topic, (0, 0)))


def fetch_within_limits(stage: Stage) -> None:
    """Limits that end inside batches, of one partition and of the whole answer."""
    topic = stage.topic(3)
    for partition in range(3):
        stage.produce(topic, b"x" * 100, partition=partition)
        stage.produce(topic, b"y" * 200, partition=partition)
    rows = [(partition, 0) for partition in range(3)]
    for limit in (ROOM, 1, 60, 167, 168, 169, 300, 500, 700, 0):
        fetch(stage, wanted(topic, *rows), max_bytes=limit)
        fetch(stage, wanted(topic, *rows, partition_max_bytes=limit))
    fetch(
        stage,
        wanted(topic, *rows),
        max_bytes=10,
        min_bytes=1000,
        max_wait=timedelta(milliseconds=50),
    )


def fetch_twice(stage: Stage) -> None:
    """A partition that a request names twice."""
    topic = stage.topic()
    stage.produce(topic, b"a")
    stage.produce(topic, b"b")
    fetch(stage, [*wanted(topic, (0, 0), (0, 1))])
    fetch(stage, [*wanted(topic, (0, 0)), *wanted(topic, (0, 1))])


def fetch_while_parked(stage: Stage) -> None:
    """What ends the waiting of a fetch: records, the deletion of the topic, time."""
    topic = stage.topic()
    values: dict[str, Any] = {
        "replica_id": -1,
        "min_bytes": 1,
        "max_bytes": ROOM,
        "session_epoch": -1,
    }
    wait: dict[str, Any] = {
        **values,
        "max_wait": timedelta(seconds=20),
        "forgotten_topics_data": [],
    }
    stage.send("a", "Fetch", topics=wanted(topic, (0, 0)), **wait)
    stage.parked("a")
    stage.produce(topic, b"a")
    stage.read("a")
    stage.send("a", "Fetch", topics=wanted(topic, (0, 1)), **wait)
    stage.parked("a")
    stage.side.delete_topic(topic.name)
    stage.read("a")
    other = stage.topic()
    fetch(stage, wanted(other, (0, 0)), max_wait=timedelta(milliseconds=20))


def open_and_aborted_transactions(stage: Stage) -> None:
    """Two transactions that overlap, as both kinds of reader see them."""
    topic = stage.topic()
    stage.produce(topic, b"before")
    stage.side.begin_transaction(topic.name, 0, "p", b"p1", b"p2")
    stage.side.begin_transaction(topic.name, 0, "q", b"q1")

    def look() -> None:
        for offset in range(4):
            for level in (0, 1):
                fetch(stage, wanted(topic, (0, offset)), isolation_level=level)
        for stamp in (-1, -3, BEGAN + 1):
            for level in (0, 1):
                row = {"partition_index": 0, "timestamp": stamp, "current_leader_epoch": -1}
                topics = [{"name": topic.name, "partitions": [row]}]
                stage.ask(
                    "a", "ListOffsets", replica_id=-1, topics=topics, isolation_level=level
                )

    look()
    stage.side.end_transaction(topic.name, 0, "p", commit=False)
    look()
    stage.side.end_transaction(topic.name, 0, "q", commit=True)
    look()


def fetch_beside_what_is_not_there(stage: Stage) -> None:
    """A partition that is missing does not end the waiting for another."""
    topic, gone = stage.topic(), stage.topic()
    stage.side.delete_topic(gone.name)
    values: dict[str, Any] = {
        "replica_id": -1,
        "min_bytes": 1,
        "max_bytes": ROOM,
        "session_epoch": -1,
    }
    wait: dict[str, Any] = {
        **values,
        # A busy machine looks late whether it waits: a record ends it, and not the time.
        "max_wait": timedelta(seconds=20),
        "forgotten_topics_data": [],
    }
    for end, missing in enumerate((wanted(gone, (0, 0)), wanted(topic, (7, 0)))):
        stage.send("a", "Fetch", topics=[*missing, *wanted(topic, (0, end))], **wait)
        stage.parked("a")
        stage.produce(topic, b"a")
        stage.read("a")
    stage.send("a", "Fetch", topics=wanted(gone, (0, 0)), **wait)
    stage.parked("a", within=10.0)
    stage.read("a")
