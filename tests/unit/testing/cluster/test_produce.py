"""Produce, idempotent producers, and the APIs of administrators."""

import struct
from typing import TYPE_CHECKING, Any

import pytest

from prokurist.testing.cluster import End, Record
from prokurist.testing.cluster.batches import make_batch
from prokurist.types import TopicPartition
from tests.unit.testing.cluster.producing import batch, produce, producing

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.unit.testing.cluster.conftest import Lab

ORDERS = TopicPartition("orders", 0)


def test_batches_get_the_next_offsets_and_the_leaders_epoch(lab: "Lab") -> None:
    """And are kept as they came otherwise."""
    lab.control.set_epoch(ORDERS, 3)
    assert produce(lab, batch(2)) == (0, 0)
    assert produce(lab, batch(1)) == (0, 2)
    assert lab.control.offsets(ORDERS) == (0, 3)
    kept = lab.cluster.state.topics["orders"].partitions[0].log.batches
    assert [(each.base_offset, each.leader_epoch) for each in kept] == [(0, 3), (2, 3)]
    assert kept[0].data[17:] == batch(2)[17:]


@pytest.mark.parametrize(
    ("values", "code"),
    [
        ({"partition": 9}, 3),
        ({"topic": "missing"}, 3),
        ({"node": 2}, 6),
        ({"acks": 2}, 21),
        ({"records": batch(attributes=0x10)}, 53),
        ({"records": b""}, 87),
        ({"records": batch()[:-1] + b"x"}, 2),
        ({"records": batch() + batch()}, 87),
        ({"records": batch()[:16] + b"\1" + batch()[17:]}, 87),
        ({"records": make_batch([Record(b"x" * 1_100_000)]).data}, 10),
    ],
)
def test_what_is_refused_is_not_kept(lab: "Lab", values: dict[str, Any], code: int) -> None:
    """Elsewhere, unknown, corrupt, too large, or in a transaction."""
    assert produce(lab, **{"records": batch(), **values}) == (code, -1)
    assert lab.control.offsets(ORDERS) == (0, 0)


def test_a_denied_topic_and_a_bygone_id_are_refused(lab: "Lab") -> None:
    """By name from version 3, by id from version 13."""
    topic_id = lab.cluster.state.topics["orders"].id
    with lab.control.deny(topic="orders"):
        assert produce(lab, batch())[0] == 29
        assert produce(lab, batch(), 13, topic_id=topic_id)[0] == 29
    assert produce(lab, batch(), 13, topic_id=topic_id) == (0, 0)
    lab.control.recreate_topic("orders")
    assert produce(lab, batch(), 13, topic_id=topic_id)[0] == 100


def test_who_asks_elsewhere_is_told_the_leader(lab: "Lab") -> None:
    """With its address, from version 10 on."""
    body = lab.ask("Produce", 10, node=2, **producing(batch()))
    [part] = body.responses[0].partition_responses
    assert (part.error_code, part.current_leader.leader_id) == (6, 1)
    assert [each.node_id for each in body.node_endpoints] == [1]


def test_without_acknowledgement_there_is_no_answer(lab: "Lab") -> None:
    """The next answer is that of the next request; an error closes the connection."""
    session = lab.connect()
    lab.send(session, "Produce", 9, **producing(batch(), acks=0))
    asked = lab.send(session, "ApiVersions", 3)
    [(_, delivery)] = lab.pass_by(1)
    assert lab.read(delivery).correlation_id == asked
    assert lab.control.offsets(ORDERS) == (0, 1)
    lab.send(session, "Produce", 9, **producing(batch(), acks=0, topic="missing"))
    assert [each.end for _, each in lab.pass_by(1)] == [End.CLOSED]


def test_a_batch_that_comes_again_is_kept_once(lab: "Lab") -> None:
    """It is answered with the offset it got the first time."""
    first = batch(2, producer=(7, 0, 0))
    assert produce(lab, first) == (0, 0)
    assert produce(lab, batch(1, producer=(7, 0, 2))) == (0, 2)
    assert produce(lab, first) == (0, 0)
    assert lab.control.offsets(ORDERS) == (0, 3)


def test_gaps_and_bygone_epochs_are_refused(lab: "Lab") -> None:
    """A sequence goes on, or begins at 0 in a new epoch."""
    for sequence in range(7):
        assert produce(lab, batch(producer=(7, 1, sequence)))[0] == 0
    assert produce(lab, batch(producer=(7, 1, 8)))[0] == 45
    assert produce(lab, batch(producer=(7, 1, 0)))[0] == 45
    assert produce(lab, batch(producer=(7, 0, 7)))[0] == 47
    assert produce(lab, batch(producer=(7, 2, 7)))[0] == 45
    assert produce(lab, batch(producer=(7, 2, 0)))[0] == 0
    assert produce(lab, batch(producer=(8, 0, 99)))[0] == 0


def test_the_last_five_batches_are_known(lab: "Lab") -> None:
    """Of the present epoch, regardless of their sizes."""
    for sequence in range(0, 14, 2):
        produce(lab, batch(2, producer=(7, 0, sequence)))
    assert produce(lab, batch(2, producer=(7, 0, 4))) == (0, 4)
    assert produce(lab, batch(2, producer=(7, 0, 2)))[0] == 45
    assert produce(lab, batch(1, producer=(7, 0, 12)))[0] == 45
    assert produce(lab, batch(1, producer=(7, 1, 0))) == (0, 14)
    assert produce(lab, batch(2, producer=(7, 1, 1))) == (0, 15)
    assert produce(lab, batch(2, producer=(7, 0, 14)))[0] == 47
    assert produce(lab, batch(2, producer=(7, 0, 12)))[0] == 47


def test_what_was_cut_off_is_no_repetition(lab: "Lab") -> None:
    """The producer may send it again, and it is kept again."""
    for sequence in range(3):
        assert produce(lab, batch(producer=(7, 0, sequence))) == (0, sequence)
    lab.control.truncate(ORDERS, 1)
    assert produce(lab, batch(producer=(7, 0, 2)))[0] == 45
    assert produce(lab, batch(producer=(7, 0, 1))) == (0, 1)
    assert lab.control.offsets(ORDERS) == (0, 2)


def test_sequences_go_round(lab: "Lab") -> None:
    """After the largest comes 0."""
    assert produce(lab, batch(2, producer=(7, 0, 0x7FFFFFFE)))[0] == 0
    assert produce(lab, batch(producer=(7, 0, 0)))[0] == 0
    assert produce(lab, batch(3, producer=(8, 0, 0x7FFFFFFE)))[0] == 0
    assert produce(lab, batch(producer=(8, 0, 1)))[0] == 0


def test_producer_ids_are_given_out_once(lab: "Lab") -> None:
    """An idempotent producer gets another one each time."""
    ids = [lab.ask("InitProducerId", 4, transactional_id=None).producer_id for _ in range(3)]
    assert len(set(ids)) == 3
    for known in ((5, 3), (5, 32_767), (-2, -2)):
        values = dict(zip(("producer_id", "producer_epoch"), known, strict=True))
        told = lab.ask("InitProducerId", 4, transactional_id=None, **values)
        assert (told.error_code, told.producer_epoch) == (0, 0)
        assert told.producer_id not in {*ids, 5}
    for alone in ({"producer_id": 5}, {"producer_epoch": 3}):
        values = {"producer_id": -1, "producer_epoch": -1, **alone}
        assert lab.ask("InitProducerId", 4, transactional_id=None, **values).error_code == 42
    assert lab.ask("InitProducerId", 4, transactional_id="").error_code == 42
    lab.control.fail("InitProducerId", 15)
    assert lab.ask("InitProducerId", 4, transactional_id=None).error_code == 15


@pytest.mark.parametrize(
    ("values", "code"),
    [
        ({"name": "made"}, 0),
        ({"name": "orders"}, 36),
        ({"name": "a/b"}, 17),
        ({"name": "made", "num_partitions": 0}, 37),
        ({"name": "made", "replication_factor": 4}, 38),
    ],
)
def test_topics_are_made_on_request(lab: "Lab", values: dict[str, Any], code: int) -> None:
    """Or it says why not."""
    asked = {"num_partitions": 2, "replication_factor": 1, **values}
    [topic] = lab.ask("CreateTopics", 7, topics=[asked]).topics
    assert topic.error_code == code
    if code == 0:
        [made] = lab.ask("Metadata", 12, topics=[{"name": "made"}]).topics
        assert (made.topic_id, len(made.partitions)) == (topic.topic_id, 2)


def test_a_topic_named_twice_is_made_not_at_all(lab: "Lab") -> None:
    """And answered once."""
    asked = {"name": "made", "num_partitions": 1, "replication_factor": 1}
    body = lab.ask("CreateTopics", 7, topics=[asked, asked])
    assert [(each.name, each.error_code) for each in body.topics] == [("made", 42)]


def test_what_is_not_said_of_a_new_topic_is_as_usual(lab: "Lab") -> None:
    """And a rehearsal makes nothing."""
    asked = [
        {
            "name": "made",
            "num_partitions": -1,
            "replication_factor": -1,
            "configs": [{"name": "max.message.bytes", "value": "100"}],
        }
    ]
    lab.ask("CreateTopics", 5, topics=asked, validate_only=True)
    assert "made" not in lab.cluster.state.topics
    [topic] = lab.ask("CreateTopics", 5, topics=asked).topics
    assert (topic.num_partitions, topic.replication_factor) == (1, 3)
    leader, _ = lab.control.leader(TopicPartition("made", 0))
    assert produce(lab, batch(20), node=leader, topic="made")[0] == 10


def test_versions_are_what_the_cluster_offers(make_lab: "Callable[..., Lab]") -> None:
    """An older broker offers fewer, and refuses the others by closing."""
    lab = make_lab(1, {}, versions={"Metadata": (0, 8)})
    lab.control.withdraw("DescribeCluster")
    offered = {each.api_key: each for each in lab.ask("ApiVersions", 2).api_keys}
    assert (offered[3].min_version, offered[3].max_version) == (0, 8)
    assert 60 not in offered
    for api, version in (("Metadata", 9), ("DescribeCluster", 0)):
        lab.send(lab.connect(), api, version)  # type: ignore[arg-type]
        assert [each.end for _, each in lab.pass_by(0)] == [End.CLOSED]
    with pytest.raises(ValueError, match="not within"):
        lab.control.offer("Metadata", 0, 99)


@pytest.mark.parametrize("version", [4, 5, 99])
def test_a_too_new_api_versions_is_answered_in_the_first_form(
    make_lab: "Callable[..., Lab]", version: int
) -> None:
    """Error 35, and the range of ApiVersions itself."""
    lab = make_lab(1, {}, versions={"ApiVersions": (0, 3)})
    session = lab.connect()
    body = b"\0\1a\0\2a\2b\0" if version == 4 else b"any other bytes!"
    session.receive(struct.pack(">hhi", 18, version, 9) + body, lab.time.at)
    [(_, delivery)] = lab.pass_by(0)
    assert struct.unpack(">ihihhh", delivery.frame) == (9, 35, 1, 18, 0, 3)


def test_brokers_are_described_to_administrators(lab: "Lab") -> None:
    """As metadata describes them."""
    body = lab.ask("DescribeCluster", 0)
    assert [each.broker_id for each in body.brokers] == [1, 2, 3]
    assert body.controller_id == 1
