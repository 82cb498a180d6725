"""Commands that administer, over real sockets: items, confirmation, dry runs, secrets."""

import io
import sys
import threading
from pathlib import Path

import pytest

from prokurist.cli.entry import DONE, FAILURE, USAGE
from prokurist.testing.broker import EmbeddedBroker
from prokurist.testing.cluster.apis import ApiName
from prokurist.types import TopicPartition
from tests.embedded.commands import LATE, Command, commit, committed

CHANGING: tuple[ApiName, ...] = (
    "CreateTopics",
    "CreatePartitions",
    "DeleteTopics",
    "IncrementalAlterConfigs",
    "DeleteRecords",
    "ElectLeaders",
    "AlterPartitionReassignments",
    "DeleteGroups",
    "OffsetDelete",
    "LeaveGroup",
    "CreateAcls",
    "DeleteAcls",
    "AlterUserScramCredentials",
    "AlterClientQuotas",
)


class Typed(io.StringIO):
    """A terminal on which something is typed."""

    def isatty(self) -> bool:
        """It is one."""
        return True


class Silent(Typed):
    """A terminal on which nothing is typed until the test is over."""

    over = threading.Event()

    def readline(self, _size: int | None = -1) -> str:  # type: ignore[override]
        """Nothing."""
        self.over.wait(30)
        return ""


def results(done: object) -> dict[str, str]:
    """The result of each item, of columns."""
    lines = done.out.decode().splitlines()[1:]  # type: ignore[attr-defined]
    return dict(line.split(maxsplit=1) for line in lines)


def test_topics_are_changed_item_by_item(at: Command) -> None:
    """B675: each has its line, and one that fails makes the exit code 1."""
    done = at("topics", "create", "new", "orders", "-n", 2, "-c", "retention.ms=1000")
    assert done.code == FAILURE
    assert results(done) == {
        "new": "created, partitions 2, copies 2",
        "orders": "failed: Topic 'orders' already exists.",
    }
    [told] = at("topics", "create", "new", "-J").objects
    assert told == {
        "item": "new",
        "ok": False,
        "error": "TopicExistsException: Topic 'new' already exists.",
        "may_have_happened": False,
    }
    done = at("topics", "create", "new", "-n", 2, "--if-not-exists")
    assert (done.code, results(done)) == (DONE, {"new": "exists already"})
    done = at("topics", "create", "new", "-n", 3, "--if-not-exists")
    assert (done.code, "it exists with 2 partitions" in results(done)["new"]) == (FAILURE, True)
    assert results(at("topics", "alter", "new", "-n", 3)) == {"new": "given 3 partitions"}
    assert [row["partition"] for row in at("topics", "describe", "new", "-J").objects] == [
        0,
        1,
        2,
    ]
    done = at("topics", "delete", "--matching", "ne.*", "--yes")
    assert (done.code, results(done)) == (DONE, {"new": "deleted"})
    assert at("topics", "delete", "new", "--yes").code == FAILURE
    assert at("topics", "delete", "new", "--if-exists", "--yes").code == DONE
    assert at("topics", "delete", "--matching", "none", "--yes").code == FAILURE
    assert at("topics", "delete", "--matching", "(", "--yes").code == USAGE
    assert at("topics", "delete", "--yes").code == USAGE


def test_nothing_is_lost_without_a_confirmation(at: Command, kafka: EmbeddedBroker) -> None:
    """B676: without a terminal the exit code is 2, and no broker is asked to change a thing."""
    commit(kafka, "billing", p0=1)
    at("acls", "add", "--principal", "User:anna", "--operation", "read", "-t", "orders")
    kafka.forget_requests()
    for words in (
        ("topics", "delete", "orders"),
        ("records", "delete", "-t", "orders", "--before", "end"),
        ("elect", "-t", "orders", "--unclean"),
        ("reassign", "start", "orders:0=1"),
        ("groups", "delete", "billing"),
        ("groups", "delete-offsets", "billing", "-t", "orders"),
        ("groups", "remove-members", "billing", "--member", "one"),
        ("acls", "remove", "--principal", "User:anna"),
        ("configs", "set", "brokers", "log.retention.ms=1"),
        ("features", "set", "metadata.version=7", "--downgrade", "unsafe"),
    ):
        done = at(*words)
        assert (done.code, done.err.splitlines()[-1].endswith("--dry-run shows them")) == (
            USAGE,
            True,
        ), (words, done)
    for api in CHANGING:
        assert not kafka.requests(api), api


def test_a_confirmation_is_the_number(at: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    """B676: typed on a terminal; something else changes nothing."""
    monkeypatch.setattr(sys, "stdin", Typed("yes\n"))
    done = at("topics", "delete", "empty")
    assert (done.code, "something else was typed" in done.err) == (FAILURE, True)
    assert "type 1 to delete 1 topic: " in done.err
    monkeypatch.setattr(sys, "stdin", Typed("1\n"))
    done = at("topics", "delete", "empty")
    assert (done.code, results(done)) == (DONE, {"empty": "deleted"})


def test_a_question_ends_by_the_timeout(
    at: Command, kafka: EmbeddedBroker, monkeypatch: pytest.MonkeyPatch
) -> None:
    """B676: nobody answers, nothing is changed, and the command ends."""
    monkeypatch.setattr(sys, "stdin", Silent())
    try:
        done = at("topics", "delete", "orders", "--timeout", 1)
        assert (done.code, "nothing was changed" in done.err) == (FAILURE, True)
        assert done.seconds < 1 + LATE
        assert not kafka.requests("DeleteTopics")
    finally:
        Silent.over.set()


def test_a_dry_run_changes_nothing(at: Command, kafka: EmbeddedBroker) -> None:
    """B677: of every command; what brokers can check they do."""
    commit(kafka, "billing", p0=1)
    at("acls", "add", "--principal", "User:anna", "--operation", "read", "-t", "orders")
    kafka.forget_requests()
    checks: tuple[ApiName, ...] = (
        "CreateTopics",
        "CreatePartitions",
        "IncrementalAlterConfigs",
        "AlterClientQuotas",
    )
    for words in (
        ("topics", "create", "new"),
        ("topics", "alter", "orders", "-n", 9),
        ("topics", "delete", "orders"),
        ("configs", "set", "topic:orders", "retention.ms=1"),
        ("configs", "unset", "topic:orders", "retention.ms"),
        ("records", "delete", "-t", "orders", "--before", "end"),
        ("elect", "-t", "orders"),
        ("reassign", "start", "orders:0=1"),
        ("reassign", "cancel", "orders:0"),
        ("groups", "delete", "billing"),
        ("groups", "delete-offsets", "billing", "-t", "orders"),
        ("acls", "add", "--principal", "User:b", "--operation", "read", "-t", "orders"),
        ("acls", "remove", "--principal", "User:anna"),
        ("users", "set", "anna"),
        ("quotas", "set", "producer_byte_rate=1", "--user", "anna"),
        ("quotas", "unset", "producer_byte_rate", "--user", "anna"),
    ):
        done = at(*words, "--dry-run")
        assert (done.code, "dry run" in done.err) == (DONE, True), (words, done)
    assert [row["topic"] for row in at("topics", "-J").objects] == ["empty", "orders"]
    assert at("topics", "-t", "orders", "-J").objects[0]["end"] == 3
    assert committed(kafka, "billing") == {0: 1}
    assert len(at("acls", "-J").objects) == 1
    assert at("quotas", "-J").objects == []
    for api in set(CHANGING) - set(checks):
        assert not kafka.requests(api), api


def test_options_before_the_second_word_are_refused(
    run: Command, kafka: EmbeddedBroker, monkeypatch: pytest.MonkeyPatch
) -> None:
    """B676: they would name a cluster in vain, and the variable another one."""
    monkeypatch.setenv("PROKURIST_BOOTSTRAP", kafka.bootstrap)
    done = run("topics", "-b", "elsewhere:9092", "delete", "orders", "--yes")
    assert (done.code, "options come after 'delete'" in done.err) == (USAGE, True)
    assert not kafka.requests("DeleteTopics")
    assert run("topics", "delete", "empty", "--yes").code == DONE


def test_a_lost_answer_is_told(at: Command, kafka: EmbeddedBroker) -> None:
    """B678: the line of an item says that it may have happened."""
    kafka.drop("CreateTopics", applied=True)
    done = at("topics", "create", "new", "--timeout", 1.5)
    assert done.code == FAILURE
    assert results(done)["new"].endswith("; it may have happened")


def test_configurations_are_altered(at: Command, tmp_path: Path) -> None:
    """B679: single keys; a secret from a file is in no output."""
    at("configs", "set", "topic:orders", "retention.ms=1000", "cleanup.policy+=compact")
    rows = at("configs", "show", "topic:orders", "-J").objects
    found = {row["key"]: row["value"] for row in rows if row["source"] == "topic"}
    assert found == {"retention.ms": "1000", "cleanup.policy": "delete,compact"}
    at("configs", "unset", "topic:orders", "retention.ms")
    at("configs", "set", "topic:orders", "cleanup.policy-=compact")
    rows = at("configs", "show", "topic:orders", "-k", "cleanup.policy", "-J").objects
    assert [row["value"] for row in rows] == ["delete"]
    assert at("configs", "set", "orders", "a=b").code == USAGE
    assert at("configs", "set", "topic:orders", "retention.ms").code == USAGE
    assert at("configs", "set", "topic:orders").code == USAGE
    assert at("configs", "show", "topic:none").code == FAILURE
    secrets = tmp_path / "secrets"
    secrets.write_text("retention.ms=hush\n", "utf-8")
    done = at("configs", "set", "topic:orders", "--from-file", secrets)
    assert done.code == FAILURE


def test_records_leaders_and_replicas(at: Command, kafka: EmbeddedBroker) -> None:
    """B680: deleted, elected, moved."""
    done = at("records", "delete", "-t", "orders", "-p", 0, "--before", 2, "--yes")
    assert results(done) == {"orders-0": "deleted, begins at 2"}
    assert kafka.offsets(TopicPartition("orders", 0)) == (2, 3)
    assert at("records", "delete", "-t", "orders", "--before", "soon").code == USAGE
    assert results(at("elect", "-t", "orders")) == {
        "orders-0": "done, no election is needed",
        "orders-1": "done, no election is needed",
    }
    assert at("elect", "--unclean").code == USAGE
    assert at("reassign", "start", "orders:0=2", "--yes").code == FAILURE
    done = at("reassign", "start", "orders:0=2,1", "--yes")
    assert results(done) == {"orders-0": "begun"}
    assert at("reassign", "start", "orders", "--yes").code == USAGE
    assert {row["broker"] for row in at("log-dirs", "-J").objects} == {1, 2}
    assert at("features").code == DONE


def test_groups_are_administered(at: Command, kafka: EmbeddedBroker) -> None:
    """B681: described, their offsets deleted, and they themselves."""
    commit(kafka, "billing", p0=1, p1=2)
    assert "billing: classic, Empty, 0 members" in at("groups", "describe", "billing").err
    assert at("groups", "describe", "none").code == FAILURE
    done = at("groups", "delete-offsets", "billing", "-t", "orders", "-p", 0, "--yes")
    assert results(done) == {"orders-0": "deleted"}
    assert committed(kafka, "billing") == {1: 2}
    done = at("groups", "delete", "--matching", "bill.*", "--yes")
    assert (done.code, results(done)) == (DONE, {"billing": "deleted"})
    assert at("groups", "-J").objects == []


def test_access_is_administered(at: Command, tmp_path: Path) -> None:
    """B682: ACLs, users and quotas; a password is in no output."""
    done = at(
        *("acls", "add", "--principal", "User:anna", "--operation", "read"),
        *("--operation", "describe", "-t", "orders", "-G", "billing"),
    )
    assert (done.code, len(results(done))) == (DONE, 1)
    rows = at("acls", "-J").objects
    assert {(row["operation"], row["resource"], row["name"]) for row in rows} == {
        ("read", "topic", "orders"),
        ("describe", "topic", "orders"),
        ("read", "group", "billing"),
        ("describe", "group", "billing"),
    }
    done = at("acls", "remove", "--principal", "User:anna", "-t", "orders", "--yes")
    assert done.code == DONE
    assert {row["name"] for row in at("acls", "-J").objects} == {"billing"}
    assert at("acls", "remove", "--principal", "User:nobody", "--yes").code == FAILURE
    assert at("acls", "add", "--principal", "anna", "--operation", "read").code == USAGE

    password = tmp_path / "password"
    password.write_text("hush-hush\n", "utf-8")
    done = at(
        "users", "set", "anna", "--password-file", password, "--mechanism", "SCRAM-SHA-256"
    )
    assert results(done) == {"anna": "given a password"}
    assert b"hush" not in done.out + done.err.encode()
    assert at("users", "-J").objects == [
        {"user": "anna", "mechanism": "SCRAM-SHA-256", "iterations": 8192}
    ]
    assert at("users", "set", "anna", "--password-file", tmp_path / "none").code == USAGE
    assert at("users", "delete", "anna", "--yes").code == DONE
    assert at("users", "-J").objects == []

    at("quotas", "set", "producer_byte_rate=1e6", "--user", "", "--client-id", "app")
    assert at("quotas", "-J").objects == [
        {
            "entity": "user (default), client-id app",
            "key": "producer_byte_rate",
            "value": "1000000",
        }
    ]
    at("quotas", "unset", "producer_byte_rate", "--user", "", "--client-id", "app")
    assert at("quotas", "-J").objects == []
    assert at("quotas", "set", "producer_byte_rate=much", "--user", "anna").code == USAGE
    assert at("quotas", "set", "producer_byte_rate=1").code == USAGE
