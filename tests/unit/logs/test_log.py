"""What is told, as lines of logging or events of structlog."""

import json
import logging
from collections.abc import Iterator

import pytest
import structlog
from structlog.testing import capture_logs

from prokurist.config import Secret
from prokurist.errors import KafkaException
from prokurist.events import group_log_events, log_events
from prokurist.events.call_log_events import KINDS, LOOP_WOKE
from prokurist.events.producer_log_events import RECORDS_GIVEN_UP
from prokurist.events.trace import EventKind, Level
from prokurist.logs.log import ROOT, sentence
from prokurist.types import Node, TopicPartition
from tests.recorded_events import logged

NODE = Node(1, "10.0.0.1", 9092)
RESERVED = {*vars(logging.makeLogRecord({})), "message", "asctime"} | {"event", "exc_info"}


@pytest.fixture
def with_structlog() -> Iterator[None]:
    """An application that uses structlog."""
    structlog.configure(cache_logger_on_first_use=False)
    yield
    structlog.reset_defaults()


def test_a_line_says_whose_it_is_and_what(caplog: pytest.LogCaptureFixture) -> None:
    """A sentence for people; the keys as attributes, for formatters."""
    error = KafkaException("the network is down")
    logged().emit(log_events.AUTO_COMMIT_FAILED, error=error, next="the next one replaces it")
    (record,) = caplog.records
    assert record.name == "prokurist.commit"
    assert record.levelno == logging.WARNING
    assert record.getMessage() == (
        "[client_id=test group=g] automatic commit failed, the next one replaces it: the "
        "network is down"
    )
    assert vars(record)["event"] == "auto_commit_failed"
    assert vars(record)["error"] == "the network is down"
    assert vars(record)["error_type"] == "KafkaException"
    assert record.exc_info is None


def test_a_bug_comes_with_its_traceback(caplog: pytest.LogCaptureFixture) -> None:
    """Where an operator has to mend something."""
    logged().emit(log_events.THREAD_DIED, error=ZeroDivisionError("by zero"))
    (record,) = caplog.records
    assert record.exc_info is not None
    assert "ZeroDivisionError" in caplog.text


def test_lines_below_the_level_are_not_formatted(caplog: pytest.LogCaptureFixture) -> None:
    """Below the level, values are not even looked at."""

    class Untouchable:
        def __str__(self) -> str:
            raise AssertionError

    caplog.set_level(logging.WARNING, "prokurist")
    logged().emit(group_log_events.COORDINATOR_FOUND, node=Untouchable())
    assert not caplog.records


def test_a_partition_is_one_item_and_many_are_cut() -> None:
    """A partition is a tuple too; of a thousand, ten are shown."""
    one = TopicPartition("orders", 0)
    thousand = frozenset(TopicPartition("orders", n) for n in range(1000))
    assert sentence(log_events.LAG_UNKNOWN, {"partition": one, "error": "e"}).startswith(
        "the end offset of orders-0,"
    )
    told = {"partitions": thousand, "count": 1000}
    shown = sentence(group_log_events.PARTITIONS_ASSIGNED, told)
    assert shown.endswith("orders-9 and 990 more")


def test_a_line_is_no_longer_than_a_screen() -> None:
    """B397: whatever a broker calls its partitions and says of them."""
    line = sentence(log_events.LAG_UNKNOWN, {"partition": "t-0", "error": "E" * 100_000})
    assert len(line) == 4001
    assert line.endswith("E…")


@pytest.mark.parametrize(
    ("records", "text"), [(1, "closed with 1 record "), (2, "closed with 2 records ")]
)
def test_one_is_in_the_singular(records: int, text: str) -> None:
    """A noun behind its number; what programs get is the number."""
    assert sentence(RECORDS_GIVEN_UP, {"records": records}).startswith(text)


def test_a_brokers_message_stays_on_its_line(caplog: pytest.LogCaptureFixture) -> None:
    """No answer of a broker can write lines or colours into our log."""
    evil = KafkaException("no\n2026 CRITICAL all is lost \x1b[31m %s {error}")
    logged().emit(log_events.AUTO_COMMIT_FAILED, error=evil, next="and so on")
    message = caplog.records[0].getMessage()
    assert message.isprintable()
    assert "all is lost" in message


def test_a_secret_is_masked(caplog: pytest.LogCaptureFixture) -> None:
    """Should one ever come to be told: in the sentence and in the keys."""
    logged().emit(log_events.FINAL_COMMIT_FAILED, outcome=Secret("hunter2"), error="e")
    assert "hunter2" not in caplog.text
    assert "hunter2" not in str(vars(caplog.records[0]))


@pytest.mark.usefixtures("with_structlog")
def test_structlog_gets_events_and_keys(caplog: pytest.LogCaptureFixture) -> None:
    """By their name, with values that JSON can write; logging gets none."""
    with capture_logs() as events:
        logged().emit(group_log_events.COORDINATOR_FOUND, node=NODE)
        begins = {TopicPartition("o", 0): 5}
        logged().emit(log_events.POSITIONS_RESET, policy="latest", offsets=begins, count=1)
    assert json.loads(json.dumps(events)) == [
        {
            "event": "coordinator_found",
            "log_level": "info",
            "client_id": "test",
            "group": "g",
            "node": str(NODE),
        },
        {
            "event": "positions_reset",
            "log_level": "info",
            "client_id": "test",
            "group": "g",
            "policy": "latest",
            "offsets": {"o-0": 5},
            "count": 1,
        },
    ]
    assert not caplog.records


@pytest.mark.usefixtures("with_structlog")
def test_structlogs_threshold_is_info_or_what_logging_says(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """Quiet by default, for its own default lets everything through."""
    with capture_logs() as events:
        logged().emit(log_events.CONNECTION_OPENING, node=NODE, lane="fetch")
        assert not events
        caplog.set_level(logging.DEBUG, "prokurist")
        logged().emit(log_events.CONNECTION_OPENING, node=NODE, lane="fetch")
        caplog.set_level(logging.WARNING, "prokurist")
        logged().emit(group_log_events.COORDINATOR_FOUND, node=NODE)
    assert [each["event"] for each in events] == ["connection_opening"]


@pytest.mark.usefixtures("with_structlog")
def test_a_processor_that_raises_does_no_harm(caplog: pytest.LogCaptureFixture) -> None:
    """The network thread must not die of an application's log; the line is not lost."""

    def broken(*_: object) -> dict[str, object]:
        raise ZeroDivisionError

    structlog.configure(processors=[broken])
    logged().emit(group_log_events.COORDINATOR_FOUND, node=NODE)
    assert "structlog raised ZeroDivisionError()" in caplog.text
    assert "coordinator" in caplog.text


def test_without_configuration_structlog_is_not_used(caplog: pytest.LogCaptureFixture) -> None:
    """It is imported here, and that alone says nothing: it would write DEBUG to stdout."""
    with caplog.at_level(logging.INFO, "prokurist"):
        logged().emit(group_log_events.COORDINATOR_FOUND, node=NODE)
    assert len(caplog.records) == 1


def test_no_handler_is_added() -> None:
    """Without configuration warnings go to stderr: that is Python's own rule."""
    logged().emit(group_log_events.COORDINATOR_FOUND, node=NODE)
    assert not ROOT.handlers


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name)
def test_every_row_can_be_told(kind: EventKind, caplog: pytest.LogCaptureFixture) -> None:
    """Its keys are free for use, its sentence can be made, and its texts are there."""
    assert not RESERVED & set(kind.keys)
    assert kind.learns[-1] in ".:"
    numbers = {"seconds": 1.0, "pause": 1.0, "slept": 1.0, "timeout": 1.0}
    numbers |= {"limit": 1.0, "patience": 1.0, "took": 1.0}
    values = {key: numbers.get(key, "x") for key in kind.keys}
    assert "{" not in sentence(kind, values)
    caplog.set_level(logging.DEBUG, "prokurist")
    if kind.story is None and kind.level is not Level.RECORDED:
        logged().emit(kind, **values)
        assert len(caplog.records) == 1


def test_what_is_for_time_lines_is_never_logged(caplog: pytest.LogCaptureFixture) -> None:
    """Each turn of the loop would be a line."""
    caplog.set_level(1, "prokurist")
    logged().emit(LOOP_WOKE, slept=0.1, reason="r")
    assert not caplog.records


def test_names_are_unique() -> None:
    """A name says what happened, and one thing only."""
    assert len({kind.name for kind in KINDS}) == len(KINDS) > 50
