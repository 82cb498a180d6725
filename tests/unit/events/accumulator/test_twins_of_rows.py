"""Many records at a time, native and pure: the same batches, events and places."""

from array import array
from functools import partial
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from prokurist.events.accumulator.rows import NO_HEADERS, Rows
from prokurist.records.columns import Spans
from tests.unit.events.accumulator.twins_of_appending import TWINS, Path, outcome

SIZES = st.integers(0, 150)


@st.composite
def columns(draw: st.DrawFn, count: int) -> Any:
    """A column of some form: none, a list, or spans with 32 or 64 bits."""
    form = draw(st.sampled_from(["none", "list", "i", "q"]))
    if form == "none":
        return None
    sizes = draw(st.lists(st.none() | SIZES, min_size=count, max_size=count))
    values = [None if size is None else bytes([65 + size % 26]) * size for size in sizes]
    if form == "list":
        return values
    data = b"".join(value or b"" for value in values)
    starts, lengths, at = array(form), array("i"), 0
    for value in values:
        starts.append(at)
        lengths.append(-1 if value is None else len(value))
        at += len(value or b"")
    return Spans(memoryview(data), memoryview(starts), memoryview(lengths))


@st.composite
def some_rows(draw: st.DrawFn) -> Rows:
    """Rows of any form."""
    count = draw(st.integers(0, 60))
    keys, values = draw(columns(count)), draw(columns(count))
    timestamps = draw(
        st.none()
        | st.integers(0, 1 << 40)
        | st.lists(st.integers(-1, 1 << 40), min_size=count, max_size=count).map(
            partial(array, "q")
        )
    )
    headers: Any = draw(st.sampled_from([NO_HEADERS, b"\x02\x02a\x02b", [None] * count]))
    return Rows(count, keys, values, headers, timestamps)


def sent(path: Path, rows: Rows, partition: int | None, callback: Any, behind: int) -> object:
    """Send rows as `send_many` does; where they have come to."""
    places = path.twin.Places(behind + rows.count)
    first = path.twin.BatchBuffer(0)
    for index in range(behind):
        places.add(first, index)
    end = behind + rows.count
    while places.count < end:
        before = places.count
        path.appender.append_rows("t", rows, partition, callback, places, behind, end)
        if places.count == before:
            key, value, headers, timestamp = rows.row(
                before - behind, path.appender.time_of_day()
            )
            record = "t", value, key, headers, partition, timestamp, callback
            delivery = path.slow(*record)
            if isinstance(delivery, str):
                return delivery, places.count
            places.add(delivery._batch, delivery._index)
    batches = {id(batch): number for number, (_, batch) in enumerate(path.batches)}
    numbered = [(batches.get(id(run.batch)), run.first, run.records) for run in places.runs()]
    each = [(batches.get(id(batch)), index) for batch, index in places.each()]
    assert len(each) == places.count == end
    return numbered, each, repr(places)


@settings(max_examples=150, deadline=None)
@given(
    rows=st.lists(some_rows(), min_size=1, max_size=3),
    partition=st.none() | st.integers(0, 4),
    callback=st.sampled_from([None, print]),
    behind=st.integers(0, 3),
    ignore_keys=st.booleans(),
)
def test_rows_go_the_same_way(
    rows: list[Rows], partition: int | None, callback: Any, behind: int, *, ignore_keys: bool
) -> None:
    """All that can be seen of batches, events and places is equal."""
    seen = []
    for twin in TWINS:
        path = Path(twin, ignore_keys=ignore_keys)
        found = [sent(path, each, partition, callback, behind) for each in rows]
        seen.append((found, list(path.state())))
    assert seen[0] == seen[1]


def test_spans_that_lie_are_refused_alike() -> None:
    """Outside of their data, or of too many rows: nothing is appended of such a row."""
    data = memoryview(b"abc")
    for start, length in ((1, 3), (-1, 1), (4, 0), (0, 1 << 30)):
        seen = []
        for twin in TWINS:
            path = Path(twin)
            path.send("t", b"x", None, None, 0)
            starts, lengths = memoryview(array("q", [start])), memoryview(array("i", [length]))
            rows = Rows(1, None, Spans(data, starts, lengths))
            places = twin.Places(1)
            call = partial(path.appender.append_rows, "t", rows, 0, None, places, 0, 1)
            seen.append((outcome(call), places.count, list(path.state())))
        assert seen[0] == seen[1]
        assert seen[0][0] == (ValueError, "row 0 ends outside of its column's data")


def test_more_places_than_were_told_are_refused() -> None:
    """By the native twin, which has memory for so many."""
    native = TWINS[1]
    places = native.Places(1)
    batch = native.BatchBuffer(10)
    places.add(batch, 0)
    assert outcome(lambda: places.add(batch, 1)) == (
        IndexError,
        "there are more records than were told",
    )
    assert places.count == 1
