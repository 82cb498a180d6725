"""What a commit leaves beside its offsets, and which commits are refused for it."""

import pytest

from prokurist.spark.commit_metadata import is_later, note_of, refuse_backwards
from prokurist.spark.errors import CommitBackwardsException
from prokurist.types import OffsetAndMetadata, TopicPartition

QUERY = "2319eb01-fe57-49f6-88f0-3cc1584874fa"
A, B = TopicPartition("t", 0), TopicPartition("t", 1)


def test_a_note_is_short() -> None:
    """Enough of the id to tell queries apart, and the batch."""
    assert note_of(QUERY, 12) == '{"q":"2319eb01","b":12}'
    with pytest.raises(ValueError, match="batch is not negative"):
        note_of(QUERY, -1)


@pytest.mark.parametrize(
    ("note", "query", "batch", "later"),
    [
        (note_of(QUERY, 7), QUERY, 6, True),
        (note_of(QUERY, 7), QUERY, 7, False),
        (note_of(QUERY, 7), QUERY, 8, False),
        (note_of(QUERY, 7), "another-query", 6, False),
        (note_of(QUERY, 7), None, None, False),
        ("", QUERY, 6, False),
        ("done by nine", QUERY, 6, False),
        ("7", QUERY, 6, False),
        ('{"q":"2319eb01","b":"7"}', QUERY, 6, False),
        ('{"q":"2319eb01"}', QUERY, 6, False),
    ],
)
def test_only_a_later_batch_of_the_same_query_counts(
    note: str, query: str | None, batch: int | None, *, later: bool
) -> None:
    """What others wrote there says nothing."""
    assert is_later(OffsetAndMetadata(5, note), query, batch) is later


def test_where_nothing_is_committed_nothing_is_later() -> None:
    """A first commit is never refused."""
    assert not is_later(None, QUERY, 0)
    refuse_backwards("g", {A: None}, {A: OffsetAndMetadata(0)})


def test_a_step_back_is_refused_with_all_that_would_go_back() -> None:
    """The same offset again is none: it is what a repeated job commits."""
    before = {A: OffsetAndMetadata(9), B: OffsetAndMetadata(9)}
    refuse_backwards("g", before, {A: OffsetAndMetadata(9), B: OffsetAndMetadata(10)})
    with pytest.raises(CommitBackwardsException) as caught:
        refuse_backwards("g", before, {A: OffsetAndMetadata(8), B: OffsetAndMetadata(10)})
    assert (caught.value.committed, caught.value.wanted) == ({A: 9}, {A: 8})
    assert str(caught.value) == (
        "the group 'g' would go back for t-0 (t-0 from 9 to 8), and read again what is done; "
        "nothing was committed. If that is meant, pass force=True"
    )
