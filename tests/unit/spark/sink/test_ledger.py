"""The ledger of exactly once: when a batch is written, passed over, or refused."""

from dataclasses import replace

import pytest

from prokurist.spark.errors import LedgerException
from prokurist.spark.sink.driver_commit import Batch, entry_after, named_in
from prokurist.spark.sink.options import ExactlyOnce
from prokurist.types import OffsetAndMetadata

ONCE = ExactlyOnce("billing", None, 1 << 20, "bills", continues=False, reader={})
LENIENT = replace(ONCE, continues=True)


def entry(offset: int, query: str = "q") -> OffsetAndMetadata:
    """The ledger's entry of a query."""
    return OffsetAndMetadata(offset, metadata=f'{{"query": "{query}"}}')


def test_batches_follow_each_other() -> None:
    """B756: the first finds no entry, each other one that of the batch before."""
    assert entry_after(None, Batch(0, "q"), ONCE) == entry(1)
    assert entry_after(entry(1), Batch(1, "q"), ONCE) == entry(2)


def test_a_batch_that_is_written_is_passed_over() -> None:
    """B756: whatever its rows are now."""
    assert entry_after(entry(8), Batch(7, "q"), ONCE) is None
    assert entry_after(entry(8), Batch(7, "q"), LENIENT) is None


@pytest.mark.parametrize("query", ["q", ""])
@pytest.mark.parametrize("written", [9, 20])
def test_a_checkpoint_that_is_an_older_copy_is_refused(written: int, query: str) -> None:
    """B763: its batches are planned anew, and passed over their rows would be lost."""
    with pytest.raises(LedgerException, match="repeats the last batch alone"):
        entry_after(entry(written), Batch(7, query), ONCE)
    assert entry_after(entry(written), Batch(7, query), LENIENT) == entry(8, query)


def test_a_missing_entry_is_refused() -> None:
    """B757: unless no batch was written before, or the user says so."""
    with pytest.raises(
        LedgerException, match=r"has no entry, and this is batch 7.*batch 6 was"
    ):
        entry_after(None, Batch(7, "q"), ONCE)
    assert entry_after(None, Batch(7, "q"), LENIENT) == entry(8)


@pytest.mark.parametrize("number", [0, 7])
def test_another_query_s_entry_is_refused(number: int) -> None:
    """B757: unless the user says so; then its number means nothing."""
    theirs = entry(30, "other")
    with pytest.raises(LedgerException, match="that of query other, up to batch 29"):
        entry_after(theirs, Batch(number, "q"), ONCE)
    assert entry_after(theirs, Batch(number, "q"), LENIENT) == entry(number + 1)


def test_a_query_that_is_not_known_goes_by_the_number() -> None:
    """B756: where Spark does not tell the query's id."""
    assert entry_after(entry(3), Batch(2, ""), ONCE) is None
    assert entry_after(entry(3), Batch(3, ""), ONCE) == OffsetAndMetadata(
        4, metadata='{"query": ""}'
    )


def test_a_run_is_known_by_its_name() -> None:
    """B758: the last one that was written is passed over, another one is not."""
    first = entry_after(None, Batch(None, "monday"), ONCE)
    assert first is not None
    assert named_in(first) == "monday"
    assert entry_after(first, Batch(None, "monday"), ONCE) is None
    second = entry_after(first, Batch(None, "tuesday"), ONCE)
    assert second is not None
    assert (second.offset, named_in(second)) == (2, "tuesday")


@pytest.mark.parametrize("metadata", ["", "{", "[]", "7", '{"x": 1}'])
def test_an_entry_of_something_else_names_nobody(metadata: str) -> None:
    """Another client has committed to the group: the number stands."""
    assert named_in(OffsetAndMetadata(3, metadata=metadata)) == ""
