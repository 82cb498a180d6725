"""The order of rows of a reset, and a check of lags that has nothing to compare."""

from prokurist.cli.entry import DONE, FAILURE
from prokurist.testing.broker import EmbeddedBroker
from tests.embedded.commands import Command, commit


def test_rows_of_a_reset_are_sorted(at: Command, kafka: EmbeddedBroker) -> None:
    """B926: by topic and partition, in a dry run and after it."""
    commit(kafka, "billing", p1=1)
    words = ("groups", "reset", "billing", "--to-latest", "-t", "orders", "-t", "empty")
    wanted = [("empty", 0), ("orders", 0), ("orders", 1)]
    dry = at(*words, "--dry-run", "-J")
    assert [(row["topic"], row["partition"]) for row in dry.objects] == wanted
    done = at(*words, "--yes")
    assert [line[0] for line in done.rows[1:]] == [f"{topic}-{n}" for topic, n in wanted]


def test_a_check_of_no_groups_fails(at: Command) -> None:
    """B927: brokers show a user without rights no group; the check may not pass for that."""
    done = at("lag", "--fail-above", 5)
    assert done.code == FAILURE
    assert "nothing was compared" in done.err
    assert at("lag").code == DONE
