"""Fetch: what its versions can carry, and records that stay where they lie."""

import pytest

from prokurist.network_thread.wire.codec import decode, encode
from prokurist.network_thread.wire.failures import MalformedAnswer
from prokurist.network_thread.wire.fetch import LAST_EPOCH, Fetch, FetchQuestion
from prokurist.network_thread.wire.versions import Range, Versions, negotiate
from prokurist.types import TopicPartition
from tests.unit.network_thread.wire.conftest import Case
from tests.unit.network_thread.wire.exchange import ID
from tests.unit.network_thread.wire.fetch_exchanges import EXCHANGES, RECORDS

TP = TopicPartition("orders", 3)
NEWEST = Versions({1: Range(4, 18)})


@pytest.mark.parametrize("version", [4, 11, 12, 18])
def test_records_are_not_copied(version: int) -> None:
    """They are a view of the frame, and show what becomes of its bytes."""
    case = Case(EXCHANGES[0], version)
    frame = bytearray(case.frame())
    answer = decode(EXCHANGES[0].request(version), version, memoryview(frame).toreadonly())
    [row] = answer.partitions  # type: ignore[attr-defined]  # it is a FetchAnswer
    at = frame.index(RECORDS)
    frame[at] = 99
    assert row.records[0] == 99
    assert row.records.readonly


def test_a_topic_without_an_id_goes_by_its_name() -> None:
    """Version 12 is the last with names."""
    question = FetchQuestion(TP, 0, 100)
    assert negotiate(Fetch((question,)), NEWEST) == 12
    assert negotiate(Fetch((question,), topic_ids={"orders": ID}), NEWEST) == 18
    assert negotiate(Fetch((), session_id=7, session_epoch=LAST_EPOCH), NEWEST) == 12


def test_a_topic_id_that_was_not_requested_is_malformed() -> None:
    """No other topic's records pass for ours."""
    case = Case(EXCHANGES[0], 18)
    with pytest.raises(MalformedAnswer, match="was not asked for"):
        decode(Fetch(()), 18, case.frame())


def test_no_records_are_an_empty_view() -> None:
    """Null stands for none."""
    case = Case(EXCHANGES[0], 12)
    whole = case.frame()
    at = whole.index(RECORDS)
    frame = whole[: at - 2] + b"\0" + whole[at + len(RECORDS) :]
    answer = decode(EXCHANGES[0].request(12), 12, frame)
    assert len(answer.partitions[0].records) == 0  # type: ignore[attr-defined]


def test_the_end_of_a_session_names_nothing_else() -> None:
    """It can be written in every version that has sessions."""
    end = Fetch((), session_id=7, session_epoch=LAST_EPOCH)
    for version in (7, 12):
        assert encode(end, version, 1, "c")
