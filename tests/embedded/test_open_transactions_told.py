"""`prokurist doctor`, `lag` and `consume` about transactions that are open, or hang."""

import time
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from prokurist import KafkaProducer
from prokurist.cli.entry import DONE
from prokurist.testing.broker import EmbeddedBroker
from tests.embedded.commands import Command, Ended, commit


@contextmanager
def open_since(kafka: EmbeddedBroker, seconds: float) -> Iterator[KafkaProducer]:
    """A producer with an open transaction, whose record is so many seconds old."""
    with KafkaProducer(
        bootstrap_servers=kafka.bootstrap, transactional_id="t", transaction_timeout_ms=900_000
    ) as producer:
        producer.init_transactions(10.0)
        producer.begin_transaction()
        stamp = round((time.time() - seconds) * 1000)
        producer.send("orders", b"v", partition=0, timestamp=stamp)
        producer.flush(10.0)
        yield producer


def transactions(done: Ended) -> dict[str, object]:
    """The step about transactions."""
    (step,) = (each for each in done.objects if each["step"] == "Transactions")
    return step


def test_the_doctor_names_an_open_transaction(at: Command, kafka: EmbeddedBroker) -> None:
    """B567: with its transactional id, its age by its coordinator, and when that aborts it."""
    with open_since(kafka, 3600.0) as producer:
        step = transactions(at("doctor", "-t", "orders", "-J"))
        assert step["verdict"] == "ok"  # Its coordinator knows when it began: just now.
        finding = str(step["finding"])
        assert "transactional.id=t, is open in orders-0 from offset " in finding
        assert "its coordinator has it as Ongoing, and transaction.timeout.ms=900000" in finding
        (known,) = kafka.transactions().values()
        assert finding.startswith(f"that of producer {known.producer_id} (epoch {known.epoch})")
        producer.abort_transaction(10.0)
    step = transactions(at("doctor", "-t", "orders", "-J"))
    assert (step["verdict"], step["finding"]) == ("ok", "none is open")


@pytest.mark.parametrize(("age", "verdict"), [(0.0, "ok"), (120.0, "warning")])
def test_a_transaction_that_no_coordinator_knows(
    at: Command, kafka: EmbeddedBroker, age: float, verdict: str
) -> None:
    """B568: it may be about to end."""
    with open_since(kafka, age):
        kafka.forget_transaction("t")
        step = transactions(at("doctor", "-t", "orders", "-J"))
    assert step["verdict"] == verdict
    assert "is open in orders-0" in str(step["finding"])
    assert "no coordinator tells of it" in str(step["finding"])
    assert "abort --topic" not in str(step["advice"])


def test_a_transaction_that_nobody_will_end(at: Command, kafka: EmbeddedBroker) -> None:
    """B568: it hangs, from fifteen minutes on, and the advice has the command that ends it."""
    with open_since(kafka, 3600.0):
        kafka.forget_transaction("t")
        step = transactions(at("doctor", "-t", "orders", "-J"))
    assert step["verdict"] == "warning"
    assert "hangs in orders-0" in str(step["finding"])
    assert "abort --topic orders --partition 0 --start-offset" in str(step["advice"])


def test_a_record_of_no_calendar(at: Command, kafka: EmbeddedBroker) -> None:
    """B689: a transaction whose record has an absurd timestamp is told of, without an age."""
    with open_since(kafka, -9e13):
        kafka.forget_transaction("t")
        step = transactions(at("doctor", "-t", "orders", "-J"))
    assert (step["verdict"], "is open in orders-0" in str(step["finding"])) == ("ok", True)


def test_not_every_coordinator_has_answered(at: Command, kafka: EmbeddedBroker) -> None:
    """B568: then no transaction is said to hang, however old, and the failure is told."""
    with open_since(kafka, 3600.0):
        kafka.forget_transaction("t")
        kafka.fail("ListTransactions", 14, times=None)
        step = transactions(at("doctor", "-t", "orders", "-J", "--timeout", 5))
    assert "hangs" not in str(step["finding"])
    assert "not told of: broker" in str(step["finding"])
    assert "abort --topic" not in str(step["advice"])


def test_brokers_that_cannot_tell(at: Command, kafka: EmbeddedBroker) -> None:
    """B567: the step is skipped; so it is where no topic can be seen."""
    kafka.withdraw("DescribeProducers")
    step = transactions(at("doctor", "-t", "orders", "-J"))
    assert (step["verdict"], step["finding"]) == (
        "skipped",
        "brokers before Kafka 3.0 do not tell of them",
    )
    assert transactions(at("doctor", "-t", "hidden", "-J"))["verdict"] == "skipped"


def test_a_topic_that_may_not_be_read(at: Command, kafka: EmbeddedBroker) -> None:
    """B567: its leaders tell of no producers, and the finding says why."""
    kafka.fail("DescribeProducers", 29, times=None)
    step = transactions(at("doctor", "-t", "orders", "-J"))
    assert step["finding"] == "none is open; not told of: orders: the right to read is missing"


def test_lag_tells_of_transactions_that_are_open_for_long(
    at: Command, kafka: EmbeddedBroker
) -> None:
    """B569: on standard error, where groups lag; the rows are what they are without."""
    commit(kafka, "billing", p0=1)
    with open_since(kafka, 120.0):
        done = at("lag", "-J")
        assert (done.code, done.err) == (DONE, "")  # Its coordinator knows that it is young.
        kafka.forget_transaction("t")
        done = at("lag", "-J")
        assert done.code == DONE
        assert [each["group"] for each in done.objects] == ["billing"]
        assert done.err.startswith(
            "readers of committed records wait for a transaction: that of"
        )
        assert "is open in orders-0 from offset" in done.err
        kafka.fail("DescribeProducers", 29, times=None)
        assert at("lag", "-J").err == ""


def test_consume_says_for_whom_it_waits(
    at: Command, kafka: EmbeddedBroker, monkeypatch: pytest.MonkeyPatch
) -> None:
    """B562: once it is known, after what it says of any empty poll."""
    monkeypatch.setattr("prokurist.cli.consume.TELLING", 0.5)
    committed_alone = ("-X", "isolation.level=read_committed")
    with open_since(kafka, 0.0):
        done = at("consume", "-t", "orders", *committed_alone, "--timeout", 5)
    first, second, _ = done.err.splitlines()
    assert first.startswith("waiting: transactions that are open hold back 1 offset")
    assert "that of producer" not in first
    assert "that of producer" in second
