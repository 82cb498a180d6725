"""Scenarios of incremental fetch sessions (KIP-227)."""

from typing import Any

from tests.conformance.reading import fetch, wanted
from tests.conformance.sides import Topic
from tests.conformance.stage import AT_ONCE, Stage


class Session:
    """One fetch session of one client.

    Args:
        stage: Where it is asked for.
        who: The connection.

    Attributes:
        id: What the broker called it last; 0 for none.
        epoch: The number of its next request.
    """

    def __init__(self, stage: Stage, who: str = "a") -> None:
        self._stage = stage
        self._who = who
        self.id: int = 0
        self.epoch: int = 0

    def fetch(
        self,
        *topics: list[dict[str, Any]],
        forgotten: tuple[tuple[Topic, int], ...] = (),
        epoch: int | None = None,
        **more: Any,
    ) -> None:
        """Fetch in the session: a full fetch first, then incremental ones."""
        rows = [
            {"topic": topic.name, "topic_id": topic.id, "partitions": (partition,)}
            for topic, partition in forgotten
        ]
        body = fetch(
            self._stage,
            [row for each in topics for row in each],
            self._who,
            session_id=self.id,
            session_epoch=self.epoch if epoch is None else epoch,
            forgotten_topics_data=rows,
            **more,
        )
        if body is not None and not getattr(body, "error_code", 0):
            self.id = getattr(body, "session_id", 0)
            self.epoch = self.epoch + 1 if self.id else 0


def what_is_new(stage: Stage) -> None:
    """An incremental answer has what changed: records, ends, starts; and nothing else."""
    topic = stage.topic(3)
    session = Session(stage)
    session.fetch(wanted(topic, (0, 0), (1, 0), (2, 0)))
    session.fetch()
    stage.produce(topic, b"a", partition=1)
    session.fetch()
    session.fetch()
    session.fetch(wanted(topic, (1, 1)))
    session.fetch()
    stage.produce(topic, b"b", b"c", partition=1)
    stage.produce(topic, b"d", partition=2)
    session.fetch()
    session.fetch(wanted(topic, (1, 3), (2, 1)))
    stage.side.delete_records(topic.name, 1, 2)
    session.fetch()
    session.fetch(wanted(topic, (0, 7)))
    session.fetch()
    session.fetch(wanted(topic, (0, 0)), forgotten=((topic, 1),))
    stage.produce(topic, b"e", partition=1)
    session.fetch()
    session.fetch(wanted(topic, (1, 0)))
    session.fetch(wanted(topic, (1, 4), (9, 0)))
    session.fetch()


def session_epochs(stage: Stage) -> None:
    """Numbers that are repeated, skipped, final or of no session."""
    topic = stage.topic()
    session = Session(stage)
    session.fetch(wanted(topic, (0, 0)))
    session.fetch(epoch=3)
    session.fetch(epoch=0)
    session.fetch(wanted(topic, (0, 0)), epoch=0)
    session.epoch = 1
    session.fetch(epoch=1)
    session.fetch(epoch=1)
    session.fetch(epoch=2)
    session.fetch(epoch=-1)
    session.fetch(epoch=1)
    other = Session(stage)
    other.id, other.epoch = 12345, 4
    other.fetch()
    other.fetch(wanted(topic, (0, 0)), epoch=-1)
    other.fetch(wanted(topic, (0, 0)), epoch=0)
    other.fetch(epoch=-2)


def emptied_session(stage: Stage) -> None:
    """A session ends when its last partition is forgotten, and when it begins with none."""
    topic = stage.topic(2)
    session = Session(stage)
    session.fetch(wanted(topic, (0, 0), (1, 0)))
    session.fetch(forgotten=((topic, 0),))
    number = session.id
    session.fetch(forgotten=((topic, 1),))
    session.id, session.epoch = number, 3
    session.fetch()
    session.id, session.epoch = 0, 0
    session.fetch()
    session.id, session.epoch = 0, 0
    session.fetch(wanted(topic, (0, 0)))
    session.fetch(wanted(topic, (1, 0)), forgotten=((topic, 0),))
    session.fetch(wanted(topic, (1, 0)), forgotten=((topic, 1),))
    session.fetch()


def deleted_in_a_session(stage: Stage) -> None:
    """A topic that goes, and one of its name that comes; the session kept the name."""
    topic, other = stage.topic(), stage.topic()
    session = Session(stage)
    stage.produce(topic, b"a")
    session.fetch(wanted(topic, (0, 0)), wanted(other, (0, 0)))
    session.fetch(wanted(topic, (0, 1)))
    stage.side.delete_topic(topic.name)
    session.fetch()
    session.fetch()
    session.fetch(wanted(topic, (0, 0)))
    session.fetch(forgotten=((topic, 0),))
    session.fetch()


def made_again_in_a_session(stage: Stage) -> None:
    """A topic that is deleted and made again between two requests of a session."""
    topic = stage.topic()
    session = Session(stage)
    stage.produce(topic, b"a")
    session.fetch(wanted(topic, (0, 0)))
    session.fetch(wanted(topic, (0, 1)))
    again = stage.recreate(topic)
    session.fetch()
    session.fetch()
    session.fetch(wanted(topic, (0, 0)))
    session.fetch(wanted(again, (0, 0)))
    stage.produce(again, b"b")
    session.fetch()
    session.fetch(forgotten=((topic, 0),))
    session.fetch()


def unknown_in_a_session(stage: Stage) -> None:
    """Names and ids of nothing, which a session keeps asking about."""
    topic, gone = stage.topic(), stage.topic()
    stage.side.delete_topic(gone.name)
    session = Session(stage)
    session.fetch(wanted(gone, (0, 0)), wanted(topic, (0, 0), (5, 0)))
    session.fetch()
    again = stage.made(gone.name)
    session.fetch()
    session.fetch(wanted(again, (0, 0)))
    session.fetch(forgotten=((gone, 0),))
    session.fetch()


def turns_in_a_session(stage: Stage) -> None:
    """Partitions with records take turns when there is not room for all."""
    topic = stage.topic(4)
    for partition in range(4):
        stage.produce(topic, b"x" * 300, partition=partition)
        stage.produce(topic, b"y" * 300, partition=partition)
    session = Session(stage)
    session.fetch(wanted(topic, *((each, 0) for each in range(4))), max_bytes=370)
    for _ in range(6):
        session.fetch(max_bytes=370)
    session.fetch(wanted(topic, (1, 2)), max_bytes=370)
    for _ in range(4):
        session.fetch(max_bytes=370)


def names_then_ids(stage: Stage) -> None:
    """A session that was begun by name goes on by id, and the other way round."""
    topic = stage.topic()
    values: dict[str, Any] = {"max_wait": AT_ONCE, "min_bytes": 1, "max_bytes": 1 << 20}
    for first, second in ((12, 13), (13, 12)):
        begun = stage.ask("a", "Fetch", first, **values, topics=wanted(topic, (0, 0)))
        asked = {"session_id": begun.session_id, "session_epoch": 1}
        stage.ask("a", "Fetch", second, **values, **asked, topics=[])
        stage.ask("a", "Fetch", second, **values, **asked, topics=wanted(topic, (0, 0)))
        asked["session_epoch"] = 2
        stage.ask("a", "Fetch", first, **values, **asked, topics=[])
