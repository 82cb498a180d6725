"""A record as users see it: one suite for both twins."""

import gc
import pickle
import sys
import tracemalloc
import weakref
from datetime import UTC, datetime

import pytest

import prokurist
from prokurist.records.implementation import CODEC, Codec
from prokurist.records.record import ConsumerRecord, told
from prokurist.records.run import RecordRun
from prokurist.types import TimestampType
from tests.unit.records.twins import decoded, native_twin, some_batch


@pytest.fixture
def run(codec: Codec) -> RecordRun:
    """A bit of everything."""
    columns = decoded(codec, some_batch(base_offset=5))
    return codec.RecordRun(columns, 0, len(columns))


def test_a_record_in_full(run: RecordRun) -> None:
    """Every attribute."""
    record = run[1]
    assert (record.topic, record.partition, record.offset) == ("t", 1, 6)
    assert record.timestamp == 1_700_000_000_005
    assert record.timestamp_type is TimestampType.CREATE_TIME
    assert record.datetime == datetime(2023, 11, 14, 22, 13, 20, 5000, tzinfo=UTC)
    assert record.key is None
    assert record.value == b"v" * 300
    assert record.headers == [("a", b"x"), ("a", None), ("ü", b"")]
    assert record.leader_epoch is None
    assert (record.serialized_key_size, record.serialized_value_size) == (-1, 300)
    assert (run[2].key, run[2].value, run[2].headers) == (b"", None, [])


def test_a_repr_of_one_line(run: RecordRun) -> None:
    """Which record it is and how it begins, however long it is."""
    assert repr(run[0]) == (
        "ConsumerRecord(t-1 @ 5, timestamp=1700000000000, key=b'one', value=b'1')"
    )
    assert repr(run[1]).endswith(f"value=b'{'v' * 40}'… (300 bytes), headers=3)")
    assert len(repr(run[1].with_values(None, ["x"] * 1000))) < 200
    assert repr(run) == "RecordRun(t-1, 4 records)"


@pytest.mark.parametrize(
    ("timestamp", "expected"),
    [(-1, None), (0, datetime(1970, 1, 1, tzinfo=UTC)), ((1 << 63) - 1, None)],
)
def test_a_time_that_no_datetime_can_hold(
    codec: Codec, timestamp: int, expected: datetime | None
) -> None:
    """None, and no error out of an attribute."""
    assert codec.ConsumerRecord("t", 0, 0, timestamp=timestamp).datetime == expected


def test_headers_that_are_no_text(codec: Codec) -> None:
    """Brokers do not check names; what is no UTF-8 is replaced, as in the Java client."""
    record = codec.ConsumerRecord("t", 0, 0, headers=[("abc", b"")])
    columns = codec.Columns(
        "t",
        0,
        None,
        TimestampType.CREATE_TIME,
        b"\x02\x04\xffb\x01",
        [(0, 0, 0, 0, 0, 0, 0, 5)],
    )
    assert codec.ConsumerRecord.of(columns, 0).headers == [("\ufffdb", None)]
    assert record.headers == [("abc", b"")]


def test_made_by_hand(codec: Codec) -> None:
    """For users' own tests."""
    record = codec.ConsumerRecord(
        "orders",
        3,
        7,
        b"k",
        b"v",
        timestamp=5,
        timestamp_type=TimestampType.LOG_APPEND_TIME,
        headers=[("a", b"1"), ("b", None)],
        leader_epoch=2,
    )
    assert told(record) == (
        *("orders", 3, 7, 5, TimestampType.LOG_APPEND_TIME, b"k", b"v"),
        *([("a", b"1"), ("b", None)], 2),
    )
    bare = codec.ConsumerRecord("orders", 3, 7)
    assert told(bare) == ("orders", 3, 7, -1, TimestampType.CREATE_TIME, None, None, [], None)


@pytest.mark.parametrize("name", ["key", "value"])
def test_what_is_no_bytes_names_the_way_out(codec: Codec, name: str) -> None:
    """A record is made of bytes; what a deserializer made has its own way in."""
    with pytest.raises(TypeError, match=rf"{name} is bytes or None, not 'x': with_values"):
        codec.ConsumerRecord("t", 0, 0, **{name: "x"})  # type: ignore[arg-type]


def test_values_of_the_users_own(run: RecordRun) -> None:
    """The same record with another key and value; sizes and bytes are those of the wire."""
    record = run[0].with_values({"a": 1}, None)
    assert (record.key, record.value) == ({"a": 1}, None)
    assert (record.serialized_key_size, record.serialized_value_size) == (3, 1)
    assert record.raw() == (b"one", b"1")
    assert record.deserialized() == ({"a": 1}, None)
    assert run[0].deserialized() is None
    assert record.offset == run[0].offset
    assert record != run[0]
    assert isinstance(record, type(run[0]))


def test_equal_in_all_it_says(codec: Codec, run: RecordRun) -> None:
    """And hashed accordingly."""
    again = decoded(codec, some_batch(base_offset=5))
    assert list(run) == list(codec.RecordRun(again, 0, len(again)))
    assert len({*run, *codec.RecordRun(again, 0, len(again))}) == 4
    other = decoded(codec, some_batch(base_offset=6))
    assert run[1] != codec.RecordRun(other, 0, 1)[0]
    assert run[0] != "a record"


def test_detached_it_says_the_same(run: RecordRun) -> None:
    """B115: key, value, headers and all else; deserialized ones too."""
    for record in run:
        assert told(record.detach()) == told(record)
        assert record.detach().detach() == record
    given = run[0].with_values([1], {2}).detach()
    assert (given.key, given.value, given.raw()) == ([1], {2}, (b"one", b"1"))


def test_a_view_keeps_its_bytes_alive_and_a_copy_does_not(codec: Codec) -> None:
    """A record of a hundred bytes may hold a frame of a megabyte; detached, it does not."""

    class Frame(bytearray):
        pass

    frame = Frame(some_batch())
    watched = weakref.ref(frame)
    columns = decoded(codec, memoryview(frame).toreadonly())  # type: ignore[arg-type]
    record = codec.RecordRun(columns, 0, 4)[1]
    del frame, columns
    gc.collect()
    assert watched() is not None
    copy = record.detach()
    del record
    gc.collect()
    assert watched() is None
    assert copy.value == b"v" * 300


def test_a_detached_record_is_small() -> None:
    """At most 150 bytes beside those of key, value and headers."""
    native = native_twin()
    columns = decoded(native, some_batch())
    (record,) = native.RecordRun(columns, 1, 2)
    record.detach()
    tracemalloc.start()
    try:
        kept = [record.detach() for _ in range(1000)]
        size, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert (size - sys.getsizeof(kept)) / 1000 <= 150 + 300 + record_headers()


def record_headers() -> int:
    """How many bytes the headers of the second record take."""
    return 1 + (2 + 2) + (2 + 1) + (3 + 1)


@pytest.mark.parametrize("protocol", range(2, pickle.HIGHEST_PROTOCOL + 1))
def test_pickled(run: RecordRun, protocol: int) -> None:
    """It comes back detached, made by the twin that runs there."""
    for record in (*run, run[0].with_values({"a": [1]}, 5)):
        back = pickle.loads(pickle.dumps(record, protocol))
        assert isinstance(back, CODEC.ConsumerRecord)
        assert told(back) == told(record)
        assert back.raw() == record.raw()


def test_the_collector_sees_only_what_can_refer_back(codec: Codec) -> None:
    """A value that refers to its own record is collected with it."""

    class Value:
        record: ConsumerRecord

    value = Value()
    value.record = codec.ConsumerRecord("t", 0, 0).with_values(None, value)
    watched = weakref.ref(value)
    del value
    gc.collect()
    assert watched() is None


def test_native_views_cost_the_collector_nothing() -> None:
    """It does not know them."""
    native = native_twin()
    assert not gc.is_tracked(native.ConsumerRecord("t", 0, 0))


def test_the_public_name_is_the_twin_that_runs() -> None:
    """What `isinstance` asks for is what `poll` returns."""
    assert prokurist.ConsumerRecord is CODEC.ConsumerRecord


def test_a_record_cannot_be_changed(run: RecordRun) -> None:
    """Its attributes are read."""
    for name in ("offset", "topic", "value", "anything"):
        with pytest.raises(AttributeError):
            setattr(run[0], name, 1)
