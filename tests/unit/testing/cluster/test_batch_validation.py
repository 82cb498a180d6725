"""What a broker checks of a batch, with the codes that Kafka 3.9.2 and 4.3.1 answer."""

import struct
from typing import TYPE_CHECKING, Any

import pytest
from crc32c import crc32c

from prokurist.records.compression import Compression, compress
from prokurist.testing.cluster.batches import HEADER, Record, make_batch
from prokurist.testing.cluster.topic_config import TopicConfig
from prokurist.types import TopicPartition
from tests.unit.testing.cluster.producing import batch, produce, producing

if TYPE_CHECKING:
    from tests.unit.testing.cluster.conftest import Lab

GOOD = batch()
ORDERS = TopicPartition("orders", 0)


def put(data: bytes, at: int, form: str, *values: int) -> bytes:
    """A batch with other numbers at a place, its checksum right again."""
    made = bytearray(data)
    struct.pack_into(form, made, at, *values)
    struct.pack_into(">I", made, 17, crc32c(bytes(made[21:])))
    return bytes(made)


def squeezed(codec: int, body: bytes) -> bytes:
    """A batch of one record whose body is said to be compressed."""
    data = put(GOOD[: HEADER.size] + body, 8, ">i", HEADER.size + len(body) - 12)
    return put(data, 21, ">h", codec)


@pytest.mark.parametrize(
    ("data", "code"),
    [
        (GOOD[:16], 87),
        (GOOD[:-1], 87),
        (GOOD + GOOD, 87),
        (GOOD + GOOD[:-1], 0),
        (GOOD + bytes(11), 0),
        (GOOD + bytes(12), 2),
        (GOOD[:16] + b"\0" + GOOD[17:], 87),
        (GOOD[:16] + b"\3" + GOOD[17:], 2),
        (GOOD[:16] + b"\xff" + GOOD[17:], 2),
        (GOOD[:8] + struct.pack(">i", 13) + GOOD[12:], 2),
        (GOOD[:8] + struct.pack(">i", -1) + GOOD[12:], 2),
        (GOOD[:8] + struct.pack(">i", 20) + GOOD[12:32], -1),
    ],
)
def test_the_bytes_are_one_batch(lab: "Lab", data: bytes, code: int) -> None:
    """A part of another one behind it is ignored."""
    assert produce(lab, data)[0] == code
    assert lab.control.offsets(ORDERS) == (0, int(code == 0))


@pytest.mark.parametrize("data", [GOOD[:16] + b"\3" + GOOD[17:], batch(attributes=0x10)])
def test_some_batches_refuse_the_whole_request(lab: "Lab", data: bytes) -> None:
    """Those without a format, and those of transactions."""
    asked = producing(GOOD)
    parts = [{"index": 0, "records": GOOD}, {"index": 1, "records": data}]
    asked["topic_data"][0]["partition_data"] = parts
    rows = lab.ask("Produce", 9, **asked).responses[0].partition_responses
    codes = {each.error_code for each in rows}
    assert len(rows) == 2
    assert codes in ({2}, {53})
    assert lab.control.offsets(ORDERS) == (0, 0)


@pytest.mark.parametrize(
    ("data", "code", "told"),
    [
        (put(GOOD, 0, ">q", 5), 87, 0),
        (put(GOOD, 57, ">i", 2), 87, 0),
        (put(GOOD, 57, ">i", 0), 87, 0),
        (put(GOOD, 23, ">i", 3), 87, 0),
        (put(GOOD, 23, ">i", -1), 87, 0),
        (put(put(GOOD, 23, ">i", 1), 57, ">i", 2), 87, 0),
        (put(put(batch(2), 23, ">i", 0), 57, ">i", 1), 87, 0),
        (batch(attributes=0x20), 87, 0),
        (batch(producer=(7, 0, -1)), 87, 0),
        (batch(producer=(-2, 0, 0)), 0, 0),
        (GOOD[:-1] + b"x", 2, -1),
        (put(GOOD, HEADER.size, ">b", 126), 87, 0),
        (squeezed(1, b"not gzip"), -1, 0),
        (squeezed(5, b"no codec"), -1, 0),
        (squeezed(1, compress(Compression.GZIP, GOOD[HEADER.size :])), 0, 0),
        (squeezed(1, compress(Compression.GZIP, GOOD[HEADER.size :] * 2)), 87, 0),
    ],
)
def test_the_batch_is_what_it_says(lab: "Lab", data: bytes, code: int, told: int) -> None:
    """And the answer tells where the log begins, if the log was asked."""
    [row] = lab.ask("Produce", 9, **producing(data)).responses[0].partition_responses
    assert (row.error_code, row.log_start_offset) == (code, told)


@pytest.mark.parametrize(("version", "code"), [(6, 76), (7, 0)])
def test_zstandard_came_with_version_7(lab: "Lab", version: int, code: int) -> None:
    """An older request may not have it, and does not know where the log begins."""
    data = squeezed(4, compress(Compression.ZSTD, GOOD[HEADER.size :]))
    assert produce(lab, data, version)[0] == code


@pytest.mark.parametrize(
    ("values", "codes"),
    [
        ({"acks": 3}, [21, 3, 87]),
        ({"node": 2}, [6, 3, 87]),
    ],
)
def test_bytes_are_looked_at_before_the_leader(
    lab: "Lab", values: dict[str, Any], codes: list[int]
) -> None:
    """And before the number of acknowledgements; what is not there comes first of all."""
    node = values.pop("node", 1)
    asked = producing(GOOD, **values)
    parts = [(0, GOOD), (9, GOOD), (1, b"") if node == 1 else (2, b"")]
    asked["topic_data"][0]["partition_data"] = [
        {"index": index, "records": data} for index, data in parts
    ]
    rows = lab.ask("Produce", 9, node=node, **asked).responses[0].partition_responses
    assert [each.error_code for each in rows] == codes


def test_a_partition_that_is_named_twice_is_answered_once(lab: "Lab") -> None:
    """The last one counts."""
    asked = producing(GOOD)
    parts = [{"index": 0, "records": data} for data in (GOOD, batch(3))]
    asked["topic_data"][0]["partition_data"] = parts
    [row] = lab.ask("Produce", 9, **asked).responses[0].partition_responses
    assert row.base_offset == 0
    assert lab.control.offsets(ORDERS) == (0, 3)


def test_a_topic_is_configured_when_it_is_made(lab: "Lab") -> None:
    """By Kafka's names, of which the model ignores those that it does not heed."""
    configs = [
        {"name": "cleanup.policy", "value": "compact,delete"},
        {"name": "retention.ms", "value": "1"},
        {"name": "min.insync.replicas", "value": "2"},
    ]
    asked = {"name": "made", "num_partitions": 1, "replication_factor": 3, "configs": configs}
    assert lab.ask("CreateTopics", 7, topics=[asked]).topics[0].error_code == 0
    made = lab.cluster.state.topics["made"]
    assert made.config == TopicConfig(cleanup_policy="compact,delete", min_insync_replicas=2)
    assert made.partitions[0].min_isr == 2
    leader, _ = lab.control.leader(TopicPartition("made", 0))
    assert produce(lab, GOOD, topic="made", node=leader)[0] == 87
    keyed = make_batch([Record(b"v", b"k")]).data
    assert produce(lab, keyed, topic="made", node=leader)[0] == 0


def test_a_property_that_is_no_number_makes_no_topic(lab: "Lab") -> None:
    """INVALID_CONFIG."""
    configs = [{"name": "max.message.bytes", "value": "many"}]
    asked = {"name": "made", "num_partitions": 1, "replication_factor": 1, "configs": configs}
    assert lab.ask("CreateTopics", 7, topics=[asked]).topics[0].error_code == 40
    assert "made" not in lab.cluster.state.topics
