"""Fetch sessions, transactions and followers, as the model's brokers have them."""

from datetime import timedelta
from typing import TYPE_CHECKING, Any

from prokurist.testing.cluster.batches import make_marker
from prokurist.types import Node, TopicPartition

if TYPE_CHECKING:
    from tests.unit.testing.cluster.conftest import Lab

ORDERS = TopicPartition("orders", 0)
NOW: dict[str, Any] = {"max_wait": timedelta(0), "min_bytes": 1}


def topics(offset: int, *partitions: int) -> list[dict[str, Any]]:
    """What is wanted of the topic."""
    rows = [
        {"partition": each, "fetch_offset": offset, "partition_max_bytes": 1 << 20}
        for each in partitions
    ]
    return [{"topic": "orders", "partitions": rows}]


def session(lab: "Lab", *partitions: int) -> int:
    """Begin a session; its id."""
    for each in partitions:
        lab.control.move_leader(TopicPartition("orders", each), 1)
    body = lab.ask("Fetch", 12, **NOW, session_epoch=0, topics=topics(0, *partitions))
    assert body.session_id > 0
    return int(body.session_id)


def told(lab: "Lab", number: int, epoch: int, **more: Any) -> list[tuple[int, int]]:
    """Ask in a session: the partitions in the answer, and how many bytes of records."""
    more = {"topics": [], **more}
    body = lab.ask("Fetch", 12, **NOW, session_id=number, session_epoch=epoch, **more)
    assert (body.error_code, body.session_id) == (0, number)
    return [
        (row.partition_index, len(row.records or b""))
        for topic in body.responses
        for row in topic.partitions
    ]


def test_a_session_answers_with_what_is_new(lab: "Lab") -> None:
    """A full fetch names everything; an incremental one only what changed."""
    number = session(lab, 0, 1)
    assert told(lab, number, 1) == []
    lab.control.append(ORDERS, b"x")
    [(partition, size)] = told(lab, number, 2)
    assert (partition, size > 0) == (0, True)
    assert told(lab, number, 3, topics=topics(1, 0)) == []
    assert told(lab, number, 4, topics=topics(0, 1)) == []


def test_what_is_forgotten_is_not_answered(lab: "Lab") -> None:
    """Nor is it waited for."""
    number = session(lab, 0, 1)
    lab.control.append(ORDERS, b"x")
    forgotten = [{"topic": "orders", "partitions": (0,)}]
    assert told(lab, number, 1, forgotten_topics_data=forgotten) == []


def test_an_invalid_session_is_refused(lab: "Lab") -> None:
    """Another id, another number, or topics named otherwise."""
    number = session(lab, 0)
    asked: dict[str, Any] = {**NOW, "topics": []}
    assert lab.ask("Fetch", 12, **asked, session_id=99, session_epoch=1).error_code == 70
    assert lab.ask("Fetch", 12, **asked, session_id=number, session_epoch=7).error_code == 71
    assert lab.ask("Fetch", 13, **asked, session_id=number, session_epoch=1).error_code == 106


def test_a_session_ends_when_it_is_said_so(lab: "Lab") -> None:
    """By the last number, by another full fetch, or with its broker."""
    number = session(lab, 0)
    lab.ask("Fetch", 12, **NOW, topics=[], session_id=number, session_epoch=-1)
    assert lab.control.fetch_sessions(1) == 0
    number = session(lab, 0)
    lab.ask("Fetch", 12, **NOW, topics=topics(0, 0), session_id=number, session_epoch=0)
    assert lab.control.fetch_sessions(1) == 1
    lab.control.kill(1)
    assert lab.control.fetch_sessions(1) == 0


def test_a_broker_without_room_keeps_none(lab: "Lab") -> None:
    """Its answers have no id."""
    lab.cluster.state.broker(1).fetch_sessions.slots = 0
    body = lab.ask("Fetch", 12, **NOW, topics=topics(0, 0), session_epoch=0)
    assert (body.session_id, body.error_code) == (0, 0)


def test_committed_records_end_where_a_transaction_is_open(lab: "Lab") -> None:
    """What was aborted is named; who reads uncommitted records gets everything."""
    lab.control.append(ORDERS, b"plain")
    lab.control.append(ORDERS, b"one", b"two", producer=9)
    ask: dict[str, Any] = {**NOW, "topics": topics(0, 0), "session_epoch": -1}

    def part(level: int) -> Any:
        return lab.ask("Fetch", 12, **ask, isolation_level=level).responses[0].partitions[0]

    [plain, open_] = lab.cluster.state.topics["orders"].partitions[0].log.batches
    assert (part(1).records, part(1).last_stable_offset) == (plain.data, 1)
    assert part(0).records == plain.data + open_.data
    lab.control.end_transaction(ORDERS, 9, committed=False)
    assert part(1).last_stable_offset == part(1).high_watermark == 4
    [aborted] = part(1).aborted_transactions
    assert (aborted.producer_id, aborted.first_offset) == (9, 1)
    assert make_marker(9, committed=True).is_control


def test_the_follower_in_the_rack_is_named_and_serves(lab: "Lab") -> None:
    """Only where the cluster lets followers serve."""
    broker = lab.cluster.state.broker(2)
    broker.node = Node(2, broker.node.host, broker.node.port, "east")
    lab.control.append(ORDERS, b"x")
    ask: dict[str, Any] = {
        **NOW,
        "topics": topics(0, 0),
        "session_epoch": -1,
        "rack_id": "east",
    }

    def part(node: int) -> Any:
        return lab.ask("Fetch", 12, node=node, **ask).responses[0].partitions[0]

    assert (part(1).preferred_read_replica, part(2).error_code) == (-1, 6)
    lab.control.let_followers_serve()
    assert (part(1).preferred_read_replica, part(1).records) == (2, b"")
    assert (part(2).error_code, len(part(2).records) > 0) == (0, True)


def row_of(lab: "Lab", number: int, epoch: int, **more: Any) -> Any:
    """Ask in a session by ids; the one row of the answer."""
    more = {"topics": [], **more}
    body = lab.ask("Fetch", 13, **NOW, session_id=number, session_epoch=epoch, **more)
    [topic] = body.responses
    [row] = topic.partitions
    return row


def begun_by_id(lab: "Lab") -> int:
    """A session on partition 0, by the topic's id."""
    row = {"partition": 0, "fetch_offset": 0, "partition_max_bytes": 1 << 20}
    asked = [{"topic_id": lab.cluster.state.topics["orders"].id, "partitions": [row]}]
    return int(lab.ask("Fetch", 13, **NOW, session_epoch=0, topics=asked).session_id)


def test_a_session_keeps_the_name_of_a_topic_that_is_deleted(lab: "Lab") -> None:
    """The topic is unknown by its name, not by its id."""
    number = begun_by_id(lab)
    lab.control.delete_topic("orders")
    assert [row_of(lab, number, epoch).error_code for epoch in (1, 2)] == [3, 3]


def test_a_session_notices_that_a_topic_was_made_again(lab: "Lab") -> None:
    """The old id is inconsistent with the name, until the new one is named."""
    number = begun_by_id(lab)
    lab.control.recreate_topic("orders")
    row = row_of(lab, number, 1)
    assert (row.error_code, row.aborted_transactions) == (103, None)
    assert row_of(lab, number, 2).error_code == 103


def test_a_session_without_partitions_ends(lab: "Lab") -> None:
    """The answer says so, and what follows is asked in no session."""
    number = session(lab, 0)
    forgotten = [{"topic": "orders", "partitions": (0,)}]
    asked: dict[str, Any] = {**NOW, "topics": [], "session_id": number}
    body = lab.ask("Fetch", 12, **asked, session_epoch=1, forgotten_topics_data=forgotten)
    assert (body.error_code, body.session_id) == (0, 0)
    assert lab.ask("Fetch", 12, **asked, session_epoch=2).error_code == 70


def test_a_topic_deleted_while_a_fetch_is_parked(lab: "Lab") -> None:
    """The fetch is answered at once, with the name unknown, though it named an id."""
    connection = lab.connect()
    row = {"partition": 0, "fetch_offset": 0, "partition_max_bytes": 1 << 20}
    asked = [{"topic_id": lab.cluster.state.topics["orders"].id, "partitions": [row]}]
    wait: dict[str, Any] = {
        "max_wait": timedelta(seconds=9),
        "min_bytes": 1,
        "session_epoch": -1,
    }
    lab.send(connection, "Fetch", 13, **wait, topics=asked)
    assert not lab.pass_by(1)
    lab.control.delete_topic("orders")
    [(moment, delivery)] = lab.pass_by(1)
    assert moment == 101.0
    assert lab.read(delivery).body.responses[0].partitions[0].error_code == 3


def test_what_is_missing_does_not_end_the_waiting_for_the_rest(lab: "Lab") -> None:
    """It is answered last, when the time is over; alone it is answered at once."""
    connection = lab.connect()
    missing = [{"topic": "none", "partitions": topics(0, 0)[0]["partitions"]}]
    wait: dict[str, Any] = {
        "max_wait": timedelta(seconds=2),
        "min_bytes": 1,
        "session_epoch": -1,
    }
    lab.send(connection, "Fetch", 12, **wait, topics=[*missing, *topics(0, 0)])
    [(moment, delivery)] = lab.pass_by(5)
    assert moment == 102.0
    body = lab.read(delivery).body
    assert [each.topic for each in body.responses] == ["orders", "none"]
    [later] = lab.ask("Fetch", 12, **wait, topics=missing).responses
    assert later.partitions[0].error_code == 3


def test_the_last_word_counts_for_a_partition_named_twice(lab: "Lab") -> None:
    """It is answered once."""
    lab.control.append(ORDERS, b"x")
    asked = [*topics(0, 0), *topics(1, 0)]
    [topic] = lab.ask("Fetch", 12, **NOW, session_epoch=-1, topics=asked).responses
    [row] = topic.partitions
    assert not row.records
