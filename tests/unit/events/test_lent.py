"""The table of lent records: marks, losses, and what is told."""

import sys
import threading
from uuid import UUID

import pytest

from prokurist.errors import IllegalStateException
from prokurist.events.lent.batch import LentBatch, LossCause
from prokurist.events.lent.lent import Lent
from prokurist.types import Acknowledge, TopicPartition

A = TopicPartition("orders", 0)


def lent_of(*sizes: int) -> tuple[Lent, list[LentBatch]]:
    """A table with batches of these sizes, returned by polls."""
    lent = Lent(lambda: 0.0)
    batches: list[LentBatch] = []
    first = 0
    for size in sizes:
        batches.append(LentBatch(A, UUID(int=1), 1, first, bytearray(size), 1, 30.0, 30.0, {}))
        first += size
    lent.put(batches)
    for each in batches:
        lent.returned(each, range(each.first, each.last + 1))
    return lent, batches


def test_threads_mark_while_marks_are_taken() -> None:
    """B810: each of sixteen threads' marks is taken once."""
    lent, (batch,) = lent_of(4000)
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    try:

        def mark(start: int) -> None:
            for index in range(start, 4000, 16):
                lent.mark(batch, index, Acknowledge.ACCEPT)

        threads = [threading.Thread(target=mark, args=(nth,)) for nth in range(16)]
        for each in threads:
            each.start()
        taken: list[int] = []
        while any(each.is_alive() for each in threads) or lent.nodes():
            runs = lent.take(1)
            taken += [offset for run in runs for offset in run.offsets]
            lent.settle(runs, 60.0)
        for each in threads:
            each.join()
    finally:
        sys.setswitchinterval(before)
    assert sorted(taken) == list(range(4000))


def test_a_newer_delivery_replaces_an_older_one() -> None:
    """B805: the older copy is held no longer, and a decision on it is told."""
    lent, (old,) = lent_of(4)
    lent.mark(old, 1, Acknowledge.ACCEPT)
    new = LentBatch(A, UUID(int=1), 1, 1, bytearray(2), 2, 60.0, 30.0, {})
    assert lent.put([new]) == 2
    assert [lent.is_held(old, index) for index in range(4)] == [True, False, False, True]
    assert lent.is_held(new, 0)
    (report,) = lent.take_reports()
    assert report.refused[A][0] == (1,)
    assert lent.take(1) == []


def test_what_is_sent_is_decided() -> None:
    """A mark of a record that is on its way is refused, but for one that is renewed."""
    lent, (batch,) = lent_of(2)
    lent.mark(batch, 0, Acknowledge.ACCEPT)
    lent.mark(batch, 1, Acknowledge.RENEW)
    runs = lent.take(1)
    with pytest.raises(IllegalStateException, match="is being acknowledged"):
        lent.mark(batch, 0, Acknowledge.REJECT)
    lent.mark(batch, 1, Acknowledge.REJECT)
    lent.settle(runs, 60.0)
    assert lent.mark_of(batch, 1) is Acknowledge.REJECT
    assert batch.until(1) == 60.0


def test_a_decision_on_a_lost_record_is_told() -> None:
    """Also one that comes after the loss."""
    lent, (batch,) = lent_of(2)
    assert lent.lose(lambda _: True, LossCause.CONNECTION) == 2
    assert lent.take_reports() == []
    lent.mark(batch, 0, Acknowledge.ACCEPT)
    assert lent.accept_returned() is False
    told = [report.refused[A][0] for report in lent.take_reports()]
    assert told == [(0,), (1,)]
    assert lent.accept_returned() is False
    assert lent.take_reports() == []
