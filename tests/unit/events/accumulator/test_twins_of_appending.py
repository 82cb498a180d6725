"""The path of a `send`, native and pure: the same bytes, the same events, the same errors."""

import time
from collections.abc import Iterator
from functools import partial
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from prokurist.errors import InvalidRecordException, RecordTooLargeException
from prokurist.events.accumulator.batch import Batch
from prokurist.events.accumulator.record_metadata import Outcome
from prokurist.events.clock import epoch_milliseconds
from prokurist.records.headers import BATCH_HEADER, TRANSACTIONAL, header_at
from prokurist.records.implementation import CODEC
from tests.unit.events.accumulator.twins_of_appending import TWINS, Path, native, outcome, state


class Fussy(int):
    """An int that is not one of Python's own."""


class Text(bytes):
    """Bytes that are not Python's own."""


CALLBACKS = (print, repr, None)
SOME_BYTES = st.one_of(
    st.none(),
    st.binary(max_size=80),
    st.binary(min_size=60, max_size=70).map(bytearray),
    st.binary(max_size=40).map(lambda data: memoryview(data)[1:]),
    st.binary(max_size=20).map(Text),
    st.integers(120, 900).map(lambda size: b"v" * size),
)
WRONG = st.sampled_from(["text", 7, 1.5, [b"x"], True])
HEADERS = st.one_of(
    st.none(),
    st.just({}),
    st.dictionaries(st.text(max_size=5), st.none() | st.binary(max_size=9), max_size=3),
    st.lists(st.tuples(st.text(max_size=5), st.none() | st.binary(max_size=9)), max_size=3),
    st.sampled_from([[("a", "b")], [("a",)], [(b"a", b"b")], 7, "ab", [("\ud800", b"")]]),
)
RECORDS = st.tuples(
    st.sampled_from(["t", "t", "t", "t", "unknown", ["unhashable"], 7]),
    SOME_BYTES | WRONG,
    SOME_BYTES | WRONG,
    HEADERS,
    st.none() | st.integers(-2, 4) | st.sampled_from([Fussy(1), True, 1 << 70, "1"]),
    st.none()
    | st.integers(0, 1 << 42)
    | st.sampled_from([-1, 0, (1 << 63) - 1, 1 << 63, 1 << 99, True, 1.0, Fussy(5), Fussy(-5)]),
    st.sampled_from(CALLBACKS),
)


@settings(max_examples=300, deadline=None)
@given(
    records=st.lists(RECORDS, max_size=40),
    ignore_keys=st.booleans(),
    partitions=st.integers(1, 4),
    batch_size=st.integers(61, 400),
)
def test_both_twins_send_alike(
    records: list[tuple[Any, ...]], *, ignore_keys: bool, partitions: int, batch_size: int
) -> None:
    """For any arguments of `send`: outcomes, choices, and each byte of each batch."""
    seen = []
    for twin in TWINS:
        path = Path(twin, partitions=partitions, batch_size=batch_size, ignore_keys=ignore_keys)
        outcomes = [path.send(*record) for record in records]
        seen.append((outcomes, list(path.state())))
    assert seen[0] == seen[1]


@settings(max_examples=200, deadline=None)
@given(
    st.lists(
        st.tuples(
            st.integers(0, (1 << 63) - 1) | st.integers(1_700_000_000_000, 1_700_000_001_000),
            st.none() | st.binary(max_size=200),
            st.none() | st.binary(max_size=200),
            st.sampled_from([b"\0", b"\2\2a\2b"]),
            st.booleans(),
        ),
        max_size=60,
    ),
    st.integers(0, 4000),
)
def test_both_twins_write_alike(records: list[tuple[Any, ...]], room: int) -> None:
    """Each record's index, or that it has no room; and what another decoder reads."""
    seen = []
    for twin in TWINS:
        batch = twin.BatchBuffer(room)
        indices = []
        for timestamp, key, value, headers, calls in records:
            index = batch.append(timestamp, key, value, headers)
            if index >= 0 and calls:
                batch.call_back_for(CALLBACKS[index // 3 % 2], index)
            indices.append(index)
        batch.close()
        closed = batch.append(0, None, None, b"\0")
        seen.append((indices, closed, state(batch)))
    assert seen[0] == seen[1]


def test_sealed_batches_are_read_again() -> None:
    """The records of a batch, decoded by the consumer's codec."""
    for twin in TWINS:
        batch = twin.BatchBuffer(1 << 20)
        values = [b"%d" % each * (each % 50) for each in range(3000)]
        for at, value in enumerate(values):
            assert batch.append(1000 + at * 3, b"k", value, b"\0") == at
        data = batch.seal(5, 6, 7, TRANSACTIONAL)
        header = header_at(data, 0)
        assert header is not None
        assert header.transactional
        columns = CODEC.decode_batch("t", 0, header, data, BATCH_HEADER, len(data))
        run = CODEC.RecordRun(columns, 0, len(values))
        assert [each.value for each in run] == values
        assert batch.timestamps() == [1000 + at * 3 for at in range(3000)]


def test_timestamps_too_far_apart_are_refused_alike() -> None:
    """A difference of more than 63 bits; nothing has changed then."""
    seen = []
    for twin in TWINS:
        batch = twin.BatchBuffer(500)
        batch.append((1 << 63) - 1, None, b"x", b"\0")
        error = outcome(partial(batch.append, -2, None, b"y", b"\0"))
        seen.append((error, state(batch)))
    assert seen[0] == seen[1]
    assert seen[0][0] == (
        OverflowError,
        f"a varint holds 64 bits: {-2 - (1 << 63) + 1} needs more",
    )


def test_the_wall_clock_is_read_natively() -> None:
    """The same milliseconds as by the clock's own function."""
    for twin in TWINS:
        appender = twin.Appender(100, epoch_milliseconds, ignore_keys=False)
        taken: list[Any] = []
        appender.slow = lambda *record, to=taken: to.append(record)
        before = time.time_ns() // 1_000_000
        appender.send("t", b"x")
        assert before <= taken[0][5] <= time.time_ns() // 1_000_000


def test_a_refusal_comes_before_everything() -> None:
    """A closed producer: no clock is read, no argument looked at, nothing appended."""
    for twin in TWINS:
        path = Path(twin)
        path.send("t", b"x")

        def refuse() -> None:
            raise RuntimeError("closed")

        path.appender.refusal = refuse
        now = path.now
        assert path.send(["no topic"], 7) == (RuntimeError, "closed")
        again = partial(path.appender.append, "t", b"", None, b"\0", 0, 0, None)
        assert outcome(again) == (RuntimeError, "closed")
        assert path.now == now
        assert [batch.count for _, batch in path.batches] == [1]


# --- what is native alone ---------------------------------------------------------------


def filled(count: int = 100) -> Any:
    """A closed native batch."""
    batch = native.BatchBuffer(1 << 20)
    for at in range(count):
        batch.append(at, None, b"v" * 100, b"\0")
    batch.close()
    return batch


def test_a_batch_is_sealed_where_it_is() -> None:
    """The same numbers: the same memory; nothing is copied."""
    batch = filled()
    first, again = batch.seal(1, 2, 3), batch.seal(1, 2, 3)
    assert isinstance(first, memoryview)
    assert first.readonly
    assert first.obj is again.obj


def test_what_was_sealed_stays_as_it_is() -> None:
    """Other numbers, a release, and another batch in the memory: a frame keeps its bytes."""
    batch = filled()
    frame = batch.seal(1, 2, 3)
    kept = bytes(frame)
    other = batch.seal(1, 3, 0)
    assert bytes(other) != kept
    assert frame == kept
    del other
    batch.release()
    for _ in range(200):
        filled(110)
    assert frame == kept


def test_memory_is_used_again() -> None:
    """A released batch's page is the next one's, which shows behind the new records."""
    batch = filled()
    end = len(batch.seal(1, 2, 3))
    batch.release()
    frame = filled(1).seal(1, 2, 3)
    assert memoryview(frame.obj)[end - 50 : end - 1] == b"v" * 49


def test_growth_leaves_views_alone() -> None:
    """A view of an open batch shows what there was, also when that outgrows its page."""
    batch = native.BatchBuffer(1 << 20)
    batch.append(1, None, b"first", b"\0")
    view = batch.seal(-1, -1, -1)
    kept = bytes(view)
    for _ in range(3000):
        batch.append(1, None, b"v" * 100, b"\0")
    assert view == kept
    assert batch.count == 3001


def test_wrong_types_are_refused() -> None:
    """Nothing but bytes is written."""
    batch = native.BatchBuffer(1000)
    for wrong in (("k", None, b""), (None, bytearray(), b""), (None, None, None)):
        with pytest.raises(TypeError):
            batch.append(0, *wrong)
    assert batch.count == 0


@pytest.mark.parametrize("twin", TWINS)
def test_callbacks_are_called_in_order(twin: Any) -> None:
    """In runs, with gaps; one that raises is reported and the next one called."""
    batch = twin.BatchBuffer(10_000)
    called: list[object] = []

    def one(metadata: object, error: object) -> None:
        called.append((metadata, error))

    def two(metadata: Any, error: object) -> None:
        called.append(("two", metadata.offset, metadata.timestamp, error))
        raise ValueError(metadata.offset)

    for index, callback in enumerate((one, one, None, two, one, None, two, two)):
        assert batch.append(1000 + index, None, b"", b"\0") == index
        if callback is not None:
            batch.call_back_for(callback, index)
    assert batch.callbacks == [(one, 0, 1), (two, 3, 3), (one, 4, 4), (two, 6, 7)]
    reported: list[str] = []
    wrong = KeyError("third")
    result = Outcome(70, -1, record_errors={3: wrong})  # type: ignore[dict-item]
    assert batch.call_back("t", 4, result, lambda error: reported.append(str(error)))
    assert called == [
        (("t", 4, 70, 1000), None),
        (("t", 4, 71, 1001), None),
        ("two", 73, 1003, wrong),
        (("t", 4, 74, 1004), None),
        ("two", 76, 1006, None),
        ("two", 77, 1007, None),
    ]
    assert reported == ["73", "76", "77"]
    assert batch.callbacks == []
    assert not batch.call_back("t", 4, result, reported.append)


@pytest.mark.parametrize("twin", TWINS)
def test_metadata_has_its_own_type(twin: Any) -> None:
    """What a callback gets is a RecordMetadata, with the broker's time where that is told."""
    batch = twin.BatchBuffer(10_000)
    batch.append(1, None, b"", b"\0")
    seen: list[Any] = []
    batch.call_back_for(lambda metadata, error: seen.append((metadata, error)), 0)
    failure = RuntimeError("x")
    batch.call_back("t", 2, Outcome(-1, 99, failure), print)  # type: ignore[arg-type]
    ((metadata, error),) = seen
    assert type(metadata).__name__ == "RecordMetadata"
    assert metadata._asdict() == {"topic": "t", "partition": 2, "offset": -1, "timestamp": 99}
    assert error is failure


@pytest.mark.parametrize("twin", TWINS)
def test_a_callback_that_would_end_its_thread_does_not(twin: Any) -> None:
    """That thread is the producer's own: `sys.exit` there would end no program, but sending."""
    batch = twin.BatchBuffer(10_000)
    raised: list[BaseException] = [SystemExit(3), KeyboardInterrupt()]
    told: list[BaseException] = []
    left = list(raised)

    def leave(_metadata: object, _error: object) -> None:
        raise left.pop(0)

    for index in range(2):
        batch.append(1, None, b"", b"\0")
        batch.call_back_for(leave, index)
    assert batch.call_back("t", 2, Outcome(), told.append)
    assert told == raised


def test_the_chosen_batch_is_a_batch() -> None:
    """The shared class stands on the twin that was chosen."""
    assert any(issubclass(Batch, twin.BatchBuffer) for twin in TWINS)


# --- the hash of keys -------------------------------------------------------------------


@pytest.mark.parametrize(
    ("key", "expected"),
    [
        (b"21", -973932308),
        (b"foobar", -790332482),
        (b"a-little-bit-long-string", -985981536),
        (b"a-little-bit-longer-string", -1486304829),
        (b"lkjh234lh9fiuh90y23oiuhsafujhadof229phr9h19h89h8", -58897971),
        (b"abc", 479470107),
    ],
)
@pytest.mark.parametrize("twin", TWINS)
def test_keys_are_hashed_as_java_does(twin: Any, key: bytes, expected: int) -> None:
    """P28: the vectors of Kafka's own tests."""
    assert twin.murmur2(key) == expected & 0xFFFFFFFF


@settings(max_examples=500, deadline=None)
@given(st.binary(max_size=70), st.integers(1, 1 << 31))
def test_both_twins_hash_alike(key: bytes, count: int) -> None:
    """Keys of every length, and their partitions."""
    pure, other = TWINS
    assert pure.murmur2(key) == other.murmur2(key)
    assert pure.partition_of_key(key, count) == other.partition_of_key(key, count)


def test_a_topic_without_partitions_takes_no_keys() -> None:
    """The same error from both."""
    pure, other = (Path(twin, partitions=0).send("t", b"", b"key") for twin in TWINS)
    assert pure == other
    assert isinstance(pure, tuple)
    assert pure[0] is ZeroDivisionError


@pytest.mark.skipif(
    native.BatchBuffer not in Batch.__mro__, reason="a native handle wants a native batch"
)
@pytest.mark.parametrize("index", [0, 2])
@pytest.mark.parametrize(
    "ended",
    [
        None,
        Outcome(70, -1),
        Outcome(70, 1234),
        Outcome(-1, -1),
        Outcome(error=RecordTooLargeException("too large")),
        Outcome(70, -1, record_errors={2: InvalidRecordException("the third")}),
    ],
)
def test_handles_answer_alike(ended: Outcome | None, index: int) -> None:
    """Whatever their batch has ended with, if it has."""
    batch = Batch(None, "t", 4, 0.0, 0.0, 10_000)
    for each in range(3):
        batch.append(1000 + each, None, b"", b"\0")
    assert ended is None or batch.end(ended)
    one, other = (
        list(answers(twin.Delivery(batch, index, 1000 + index), ended=ended is not None))
        for twin in TWINS
    )
    assert one == other


def answers(handle: Any, *, ended: bool) -> Iterator[object]:
    """All that a handle can be asked without a wait."""
    yield handle.done()
    yield handle.topic, handle.partition, handle.offset, handle.timestamp
    yield repr(handle)
    if ended:
        found = outcome(handle.result)
        yield type(found), found
        yield repr(handle.exception())
