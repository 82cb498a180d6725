"""A transaction that is open for long: its warnings, the health, and what is counted."""

import logging

import pytest

from tests.simulation.test_producer_metrics import of
from tests.simulation.transacting import VERSIONS, transactional, world_of, write

versions = pytest.mark.parametrize("version", VERSIONS)


def warned(caplog: pytest.LogCaptureFixture) -> list[str]:
    """The lines about open transactions."""
    return [each.getMessage() for each in caplog.records if "is open for" in each.getMessage()]


@versions
def test_an_open_transaction_is_told_of_before_its_timeout(
    version: int, caplog: pytest.LogCaptureFixture
) -> None:
    """B561: at four fifths of `transaction.timeout.ms`, once, by the log and by the health."""
    caplog.set_level(logging.WARNING)
    world = world_of(version)
    with transactional(world, transaction_timeout_ms=10_000) as producer:
        producer.begin_transaction()
        world.clock.sleep(30.0)
        assert producer.health().transaction_age is None  # Nothing was written yet.
        for _ in range(2):
            write(producer, b"v")
            producer.flush(5.0)
            world.clock.sleep(7.0)
            assert not producer.health().is_transaction_late
            assert of(producer, "producer_transaction_age_seconds") == pytest.approx(7, abs=0.1)
            assert not warned(caplog)
            world.clock.sleep(2.0)
            assert producer.health().is_transaction_late
            assert producer.health().transaction_age == pytest.approx(9.0, abs=0.1)
            (line,) = warned(caplog)
            assert "a transaction of t is open for 8 s" in line
            assert "transaction.timeout.ms=10000" in line
            producer.commit_transaction(5.0)
            assert producer.health().transaction_age is None
            caplog.clear()
            world.clock.sleep(60.0)  # Lines of one kind come once a minute.
            producer.begin_transaction()
        world.clock.sleep(30.0)
        assert not warned(caplog)


def test_a_transaction_that_is_open_for_minutes(caplog: pytest.LogCaptureFixture) -> None:
    """B561: with a long timeout there is a line after two minutes, and one near the end."""
    caplog.set_level(logging.WARNING)
    world = world_of(2)
    with transactional(world, transaction_timeout_ms=600_000) as producer:
        producer.begin_transaction()
        write(producer, b"v")
        producer.flush(5.0)
        for seconds, lines in ((119.0, 0), (2.0, 1), (358.0, 1), (2.0, 2), (60.0, 2)):
            world.clock.sleep(seconds)
            assert len(warned(caplog)) == lines
        producer.commit_transaction(5.0)


@versions
def test_transactions_are_counted_by_their_outcome(version: int) -> None:
    """B561: how many were committed and aborted, and how long they took."""
    world = world_of(version)
    with transactional(world) as producer:
        for end in (producer.commit_transaction, producer.abort_transaction):
            for _ in range(2):
                producer.begin_transaction()
                write(producer, b"v")
                producer.flush(5.0)
                world.clock.sleep(1.0)
                end(5.0)
        assert of(producer, "producer_transactions_total", outcome="committed") == 2
        assert of(producer, "producer_transactions_total", outcome="aborted") == 2
        assert of(producer, "producer_transaction_seconds_count") == 4
        assert of(producer, "producer_transaction_seconds_sum") == pytest.approx(4, abs=0.5)
        assert of(producer, "producer_transaction_limit_seconds") == 60.0
