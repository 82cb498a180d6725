"""Batches and logs: offsets, timestamps, epochs, and what is cut off."""

import struct
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from prokurist.testing.cluster.batches import (
    CorruptBatch,
    InvalidBatch,
    Record,
    make_batch,
    parse,
)
from prokurist.testing.cluster.log import Found, Log


def logged(*batches: list[int], epoch: int = 0) -> Log:
    """A log of batches, each given by its records' timestamps."""
    log = Log()
    for stamps in batches:
        log.append(make_batch([Record(b"v", timestamp=stamp) for stamp in stamps]), epoch)
    return log


def test_a_batch_is_what_kio_reads() -> None:
    """Our few lines of writer agree with another library's reader."""
    from kio.records.readers import read_batch

    headers = (("h", b"1"), ("n", None))
    batch = make_batch([Record(b"v", b"k", 5000, headers), Record(None, None, 7000)])
    read: Any
    read, _ = read_batch(batch.data, 0)
    first, second = read.records
    assert (first.key, first.value, second.key, second.value) == (b"k", b"v", None, None)
    assert [(each.key, each.value) for each in first.headers] == [(b"h", b"1"), (b"n", None)]


@given(st.lists(st.integers(0, 2**41), min_size=1, max_size=20))
def test_each_record_is_found_where_it_was_put(stamps: list[int]) -> None:
    """Offsets in order, timestamps as given."""
    log = logged([0], stamps)
    kept = log.batches[1]
    assert list(kept.records()) == list(enumerate(stamps, start=1))
    assert (kept.max_timestamp, kept.last_offset) == (max(stamps), len(stamps))


@pytest.mark.parametrize("position", [16, 20, 30, 60, 65])
def test_a_batch_that_was_changed_is_refused(position: int) -> None:
    """In its format, its checksum, its header or its records."""
    data = bytearray(make_batch([Record(b"value")]).data)
    data[position] ^= 0xFF
    with pytest.raises((CorruptBatch, InvalidBatch)):
        parse(bytes(data))


def test_a_batch_that_is_cut_off_or_old_is_refused() -> None:
    """It is not one batch in format 2, regardless of its checksum."""
    data = make_batch([Record(b"value")]).data
    for wrong in (b"", data[:-1], data + b"\0", data + data, data[:16] + b"\1" + data[17:]):
        with pytest.raises(InvalidBatch):
            parse(wrong)
    with pytest.raises(ValueError, match="at least one"):
        make_batch([])


def test_offset_and_epoch_of_a_batch_change_without_its_checksum() -> None:
    """As brokers rewrite it; nothing else does."""
    batch = make_batch([Record(b"value")])
    kept = batch.appended_at(41, 7)
    assert struct.unpack_from(">q", kept.data) == (41,)
    assert (kept.base_offset, kept.leader_epoch, kept.data[17:]) == (41, 7, batch.data[17:])


def test_a_compressed_batch_is_found_coarsely() -> None:
    """By its first and its latest timestamp: there is nothing else to read."""
    data = bytearray(make_batch([Record(b"v", timestamp=each) for each in (5, 9, 7)]).data)
    data[22] |= 1
    from crc32c import crc32c

    data[17:21] = crc32c(bytes(data[21:])).to_bytes(4)
    assert list(parse(bytes(data)).records()) == [(0, 5), (2, 9)]


def test_reading_gives_whole_batches_up_to_a_size() -> None:
    """From the one that holds the offset; one at least, if it is asked for so."""
    log = logged([1, 2], [3, 4], [5])
    sizes = [len(each.data) for each in log.batches]
    assert log.read(1, 10**6, at_least_one=False) == b"".join(e.data for e in log.batches)
    assert len(log.read(2, sizes[1], at_least_one=False)) == sizes[1]
    assert len(log.read(2, 1, at_least_one=True)) == sizes[1]
    assert log.read(2, 1, at_least_one=False) == b""
    assert log.read(5, 10**6, at_least_one=True) == b""


def test_records_are_found_by_time() -> None:
    """The first at or after it, in the order of offsets, not of timestamps."""
    log = logged([10, 30], [20, 40])
    assert log.at_time(0) == Found(0, 10, 0)
    assert log.at_time(15) == Found(1, 30, 0)
    assert log.at_time(40) == Found(3, 40, 0)
    assert log.at_time(41) is None
    assert log.latest_stamped() == Found(3, 40, 0)
    log.delete_before(1)
    assert log.at_time(0) == Found(1, 30, 0)


def test_epochs_end_where_the_next_one_begins() -> None:
    """As brokers answer it, unknown and bygone epochs included."""
    log = logged([1, 2, 3])
    log.append(make_batch([Record(b"v")]), 2)
    known = log.epochs
    known.assign(3, 4)
    known.assign(5, 4)
    ends = {epoch: tuple(known.end_of(epoch, log.end)) for epoch in range(-1, 7)}
    assert ends == {
        -1: (-1, -1),
        0: (0, 3),
        1: (0, 3),
        2: (2, 4),
        3: (2, 4),  # nothing was written in it, and no trace is left
        4: (2, 4),
        5: (5, 4),
        6: (-1, -1),
    }


def test_an_older_epoch_overrules_newer_ones() -> None:
    """Epochs stay in order, so that an end can be found at all."""
    log = logged([1])
    log.append(make_batch([Record(b"v")]), 4)
    log.append(make_batch([Record(b"v")]), 2)
    assert log.epochs.entries == [(0, 0), (2, 2)]
    assert tuple(log.epochs.end_of(0, log.end)) == (0, 2)


def test_a_log_is_cut_back_with_its_epochs() -> None:
    """What is written afterwards takes the offsets that were given out before."""
    log = logged([1, 2, 3])
    log.append(make_batch([Record(b"v")]), 1)
    log.truncate(3)
    log.epochs.assign(2, 3)
    assert (log.end, len(log.batches)) == (3, 1)
    assert tuple(log.epochs.end_of(1, log.end)) == (0, 3)
    assert log.append(make_batch([Record(b"v")]), 2).base_offset == 3


def test_deleting_moves_the_beginning_only() -> None:
    """A batch that is still needed in part stays whole."""
    log = logged([1, 2, 3], [4])
    log.delete_before(2)
    assert (log.start, log.end, len(log.batches)) == (2, 4, 2)
    log.delete_before(99)
    assert (log.start, log.end, len(log.batches)) == (4, 4, 0)


def test_a_limit_cuts_the_last_batch_and_never_the_first() -> None:
    """What does not fit wholly comes in part; the first batch wholly or not at all."""
    log = logged([1], [2], [3])
    size = len(log.batches[0].data)
    data = b"".join(each.data for each in log.batches)
    for more in (0, 1, size - 1, size):
        assert log.read(0, size + more, at_least_one=False) == data[: size + more]
    assert log.read(0, size - 1, at_least_one=False) == b""
    assert log.read(0, size - 1, at_least_one=True) == data[:size]
    assert log.read(0, 3 * size, at_least_one=True, upto=2) == data[: 2 * size]


def test_deleting_cuts_the_epochs_from_the_start() -> None:
    """The first epoch kept begins at the start; older ones are told to end there."""
    log = logged([1, 2])
    log.append(make_batch([Record(b"v")] * 2), 3)
    log.append(make_batch([Record(b"v")] * 2), 5)
    log.delete_before(3)
    assert log.epochs.entries == [(3, 3), (5, 4)]
    assert tuple(log.epochs.end_of(0, log.end)) == (0, 3)
    log.delete_before(6)
    assert log.epochs.entries == [(5, 6)]


def test_a_deleted_record_keeps_the_latest_timestamp() -> None:
    """As long as its segment is kept, which is always, here."""
    log = logged([70, 30], [40])
    log.delete_before(3)
    assert log.latest_stamped() == Found(0, 70, 0)
    assert log.at_time(0) is None
