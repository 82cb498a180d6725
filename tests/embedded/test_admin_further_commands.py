"""Further commands that administer, over real sockets: rights, tokens, plans, share groups."""

import stat
from pathlib import Path

import pytest

from prokurist.cli.entry import DONE, FAILURE, USAGE
from prokurist.testing.broker import EmbeddedBroker
from tests.embedded.commands import Command, commit


def test_rights_that_a_client_needs(at: Command) -> None:
    """B685: each with its state; the commands told for missing ones create them."""
    needs = ("-t", "orders", "--transactional-id", "shop", "-G", "billing")
    words = ("acls", "for", "producer", "--principal", "User:anna", *needs)
    done = at(*words, "-J")
    assert (done.code, {row["state"] for row in done.objects}) == (FAILURE, {"missing"})
    assert [(row["operation"], row["name"]) for row in done.objects] == [
        ("write", "orders"),
        ("write", "shop"),
        ("read", "billing"),
    ]
    for line in done.err.splitlines():
        missing, _, command = line.partition(": prokurist ")
        assert (missing, at(*command.split()).code) == ("missing", DONE)
    done = at(*words, "-J")
    assert (done.code, {row["state"] for row in done.objects}) == (DONE, {"allowed"})

    consumer = ("acls", "for", "consumer", "--principal", "User:ben", "-t", "ord", "-q")
    assert at(*consumer, "--transactional-id", "shop").code == USAGE
    at("acls", "add", "--principal", "User:*", "--operation", "all", "-t", "o", "--prefixed")
    assert at(*consumer).code == DONE
    assert at(*consumer, "--prefixed").code == DONE
    at("acls", "add", "--principal", "User:ben", "--operation", "read", "-t", "ord", "--deny")
    done = at(*consumer, "-J")
    assert (done.code, done.objects[0]["state"]) == (FAILURE, "denied")
    assert at(*consumer[:3], "--principal", "ben", "-t", "ord").code == USAGE


def test_an_acl_of_one_name_does_not_allow_a_prefix(at: Command) -> None:
    """B685: nor does one of a single host allow all of them."""
    at("acls", "add", "--principal", "User:anna", "--operation", "read", "-t", "orders")
    words = ("acls", "for", "consumer", "--principal", "User:anna", "-t", "orders", "-q", "-J")
    assert at(*words).code == DONE
    assert at(*words, "--prefixed").objects[0]["state"] == "missing"
    ben = [each.replace("anna", "ben") for each in words]
    at(
        *[
            "acls",
            "add",
            "--principal",
            "User:ben",
            "--operation",
            "read",
            "-t",
            "orders",
            "--host",
            "10.0.0.1",
        ]
    )
    assert at(*ben).objects[0]["state"] == "missing"


def test_tokens_and_their_files(at: Command, kafka: EmbeddedBroker, tmp_path: Path) -> None:
    """B686: the secret is in a file that its owner alone can read, and in no output."""
    kafka.accept_tokens("User:anna")
    file = tmp_path / "token"
    words = ("tokens", "create", "--to", file, "--renewer", "User:ops", "--lifetime", "1d")
    assert (at(*words, "--dry-run").code, file.exists()) == (DONE, False)
    done = at(*words)
    assert done.code == DONE, done.err
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    keys = dict(line.split("=", 1) for line in file.read_text("utf-8").splitlines())
    assert keys["sasl.delegation.token"] == "true"
    secret = keys["sasl.password"]
    again = at(*words)
    assert (again.code, "exists" in again.err, len(at("tokens", "-J").objects)) == (
        USAGE,
        True,
        1,
    )
    shown = [done, at("tokens", "-J"), at("tokens", "renew", file, "--period", "2h")]
    [row] = at("tokens", "describe", str(shown[1].objects[0]["owner"]), "-J").objects
    assert row["token"] == keys["sasl.username"]
    assert "renewed, expires" in shown[2].out.decode()
    assert at("tokens", "expire", file).code == USAGE
    assert len(at("tokens", "-J").objects) == 1
    shown.append(at("tokens", "expire", file, "--yes"))
    assert at("tokens", "-J").objects == []
    shown.append(at("tokens", "renew", file))
    assert (shown[-1].code, "failed: " in shown[-1].out.decode()) == (FAILURE, True)
    for each in shown:
        assert secret not in each.out.decode() + each.err
    assert at("tokens", "expire", tmp_path / "none", "--yes").code == USAGE
    (tmp_path / "empty").write_text("a=b\n", "utf-8")
    assert "has no sasl.password" in at("tokens", "renew", tmp_path / "empty").err


def test_a_refused_token_leaves_no_file(at: Command, tmp_path: Path) -> None:
    """B686: a broker that gives no tokens says so in one line."""
    file = tmp_path / "token"
    done = at("tokens", "create", "--to", file)
    assert (done.code, done.out, done.err.count("\n")) == (FAILURE, b"", 1)
    assert not file.exists()


def test_a_plan_is_started_and_verified(at: Command, tmp_path: Path) -> None:
    """B687: from a file; the way back is the same file."""
    at("topics", "create", "moved", "-n", 4, "-r", 1)
    plan = tmp_path / "plan"
    done = at("reassign", "plan", "-t", "moved", "--broker", "1,2", "-J")
    plan.write_bytes(done.out)
    assert "would be copied" in done.err
    if not done.objects:
        plan.write_text(
            '{"topic": "moved", "partition": 0, "before": [1], "after": [2]}\n', "utf-8"
        )
    assert at("reassign", "verify", plan, "-q").code == FAILURE
    assert at("reassign", "start", "--plan", plan, "--dry-run").code == DONE
    assert at("reassign", "start", "--plan", plan).code == USAGE
    done = at("reassign", "start", "--plan", plan, "--throttle", 1000, "--yes")
    assert (done.code, b"begun" in done.out) == (DONE, True)
    done = at("reassign", "verify", plan, "-J")
    assert (done.code, {row["state"] for row in done.objects}) == (DONE, {"done"})
    assert "the throttle is removed" in done.err
    rows = at("configs", "show", "topic:moved", "-J").objects
    assert not [row for row in rows if "throttled" in str(row["key"])]
    assert at("reassign", "start", "--plan", plan, "--undo", "--yes").code == DONE
    assert at("reassign", "verify", plan, "--undo").code == DONE


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("reassign start", "name moves"),
        ("reassign start moved:0=1 --undo", "are for a plan"),
        ("reassign start --plan nowhere --yes", "nowhere"),
        ("reassign start --plan odd --yes", "is no plan"),
        ("reassign start --plan empty --yes", "without a move"),
        ("reassign verify odd", "is no plan"),
        ("reassign plan -t orders --broker x", "write brokers as"),
        ("reassign plan -t orders --broker 9", "is not live"),
        ("quorum add 4 nothing CONTROLLER=a:1", "is no directory's id"),
        ("quorum add 4 AAAAAAAAAAAAAAAAAAAAAA CONTROLLER=a", "write HOST:PORT"),
    ],
)
def test_what_is_no_plan_is_one_line(
    at: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, words: str, said: str
) -> None:
    """B687, B688: nothing is changed."""
    monkeypatch.chdir(tmp_path)
    Path("odd").write_text('{"topic": 1}\n', "utf-8")
    Path("empty").touch()
    done = at(*words.split())
    assert done.code in (USAGE, FAILURE)
    assert (done.out, said in done.err, done.err.count("\n")) == (b"", True, 1), done.err


def test_share_groups_are_a_kind(at: Command, kafka: EmbeddedBroker) -> None:
    """B684: a group of another kind is not listed, and not deleted."""
    commit(kafka, "billing", p0=1)
    assert at("share-groups", "-J").objects == []
    done = at("share-groups", "delete", "billing", "--yes")
    assert (done.code, done.err) == (FAILURE, "prokurist: there is no share group billing\n")
    assert at("share-groups", "delete", "--matching", ".*", "--yes").code == FAILURE
    assert [row["group"] for row in at("groups", "-J").objects] == ["billing"]
    done = at("share-groups", "offsets", "billing")
    assert (done.code, "newer broker" in done.err) == (FAILURE, True)
