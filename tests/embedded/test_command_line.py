"""The command line over real sockets: what it writes, when it ends, and how."""

import json
import re
import signal
import socket
from pathlib import Path

import pytest

from prokurist.cli.entry import DONE, FAILURE, USAGE
from prokurist.consumer.consumer import KafkaConsumer
from prokurist.testing.broker import EmbeddedBroker
from prokurist.types import TopicPartition
from tests.embedded.commands import (
    LATE,
    STARTING,
    TIMEOUT,
    Command,
    begun,
    commit,
    committed,
)

# --- topics, offsets, groups reset ------------------------------------------------------


def test_every_fault_of_a_configuration_is_a_line(at: Command) -> None:
    """B300: before any broker is asked."""
    done = at(
        "topics", "-X", "fetch.max.bytes=many", "-X", "colour=blue", "-X", "topic.blacklist=x"
    )
    assert (done.code, done.out) == (USAGE, b"")
    assert done.err.count("\n") == 3


def test_one_file_of_keys_is_for_all_commands(
    at: Command, kafka: EmbeddedBroker, tmp_path: Path
) -> None:
    """B690: keys of other clients are left out, and unknown ones refused, by each command."""
    commit(kafka, "billing", p0=1)
    keys = tmp_path / "keys"
    keys.write_text("acks=all\nfetch.max.bytes=99999\nclient.id=me\n", "utf-8")
    lines = tmp_path / "lines"
    lines.write_text("one\n", "utf-8")
    for words in (
        ("topics",),
        ("groups",),
        ("lag",),
        ("doctor", "-X", "group.protocol=classic"),
        ("consume", "-t", "orders", "-e"),
        ("produce", "-t", "orders", "-l", lines),
    ):
        assert at(*words, "-F", keys).code == DONE, words
    keys.write_text("acs=all\n", "utf-8")
    for name in ("topics", "groups"):
        done = at(name, "-F", keys)
        assert (done.code, "unknown key acs" in done.err) == (USAGE, True)
    assert at("consume", "-t", "orders", "-X", "acks=all").code == USAGE


def test_topics_lists_topics_and_partitions(at: Command) -> None:
    """As columns and as JSON."""
    assert at("topics").rows == [
        ["topic", "partitions", "replicas", "under-replicated", "without-leader"],
        ["empty", "1", "2", "0", "0"],
        ["orders", "2", "2", "0", "0"],
    ]
    first, second = at("topics", "-t", "orders", "-J").objects
    assert (first["topic"], first["partition"], first["end"]) == ("orders", 0, 3)
    assert sorted(str(second["replicas"])) == sorted("[1, 2]")


def test_offsets_shows_what_is_committed_and_the_lag(
    at: Command, kafka: EmbeddedBroker
) -> None:
    """Of all topics it has committed in, or of those named."""
    commit(kafka, "billing", p0=1)
    done = at("offsets", "-G", "billing")
    assert done.rows == [
        ["topic", "partition", "committed", "end", "lag", "metadata"],
        ["orders", "0", "1", "3", "2", "-"],
    ]
    assert done.err == "billing lags by 2 records in 1 partition\n"
    told = at("offsets", "-G", "billing", "-t", "orders", "-J").objects
    assert [each["lag"] for each in told] == [2, None]


def test_offsets_of_an_unknown_group_is_one_line(at: Command) -> None:
    """A name that was mistyped looks like a group that has committed nothing."""
    done = at("offsets", "-G", "biling")
    assert (done.code, done.out) == (FAILURE, b"")
    assert done.err == (
        "prokurist: the group 'biling' has committed nothing: is its name right?\n"
    )


def test_offsets_are_watched_until_the_brokers_are_silent(
    kafka: EmbeddedBroker,
) -> None:
    """Round after round; each has the whole `--timeout`."""
    commit(kafka, "billing", p0=1)
    rest = ("-b", kafka.bootstrap, "-G", "billing", "-J", "-w", "--every", 0.1, "--timeout", 5)
    with begun("offsets", *rest) as process:
        assert process.stdout is not None
        try:
            assert json.loads(process.stdout.readline())["lag"] == 2
            kafka.append(TopicPartition("orders", 0), b"f")
            while json.loads(process.stdout.readline())["lag"] != 3:
                pass
            kafka.freeze()
            _, err = process.communicate(timeout=STARTING)
        finally:
            process.kill()
    assert process.returncode == FAILURE
    assert b"`prokurist doctor` looks for the cause" in err.splitlines()[-1]


@pytest.mark.parametrize(
    ("target", "wanted"),
    [
        (["--to-earliest"], {0: 0, 1: 0}),
        (["--to-latest"], {0: 3, 1: 2}),
        (["--to-offset", 2], {0: 2, 1: 2}),
        (["--to-offset", 99], {0: 3, 1: 2}),
        (["--shift-by", -1], {0: 1, 1: 0}),
        (["--shift-by", 1], {0: 3, 1: 2}),
        (["--to-datetime", "2023-11-14T22:14:20"], {0: 1, 1: 1}),
        (["--by-duration", "1d"], {0: 3, 1: 2}),
        (["--to-earliest", "-p", 1], {0: 2, 1: 0}),
    ],
)
def test_offsets_are_reset_when_that_is_meant(
    at: Command, kafka: EmbeddedBroker, target: list[object], wanted: dict[int, int]
) -> None:
    """B683: a dry run shows the plan and changes nothing; each partition has its line."""
    commit(kafka, "billing", p0=2, p1=1)
    words = ("groups", "reset", "billing", "-t", "orders", *target)
    dry = at(*words, "--dry-run", "-J")
    assert (dry.code, committed(kafka, "billing")) == (DONE, {0: 2, 1: 1})
    assert "a dry run, nothing was changed" in dry.err
    assert {row["partition"]: row["new"] for row in dry.objects}.items() <= wanted.items(), (
        dry.objects
    )
    done = at(*words, "--yes")
    assert done.code == DONE
    assert {line[0] for line in done.rows[1:]} == {
        f"orders-{row['partition']}" for row in dry.objects
    }
    assert all(line[1:3] == ["reset", "from"] for line in done.rows[1:])
    assert committed(kafka, "billing") == wanted


def test_offsets_of_all_topics_are_reset(at: Command, kafka: EmbeddedBroker) -> None:
    """B683: without a topic all that is committed; a group without commits is one line."""
    commit(kafka, "billing", p0=2, p1=1)
    assert at("groups", "reset", "billing", "--to-latest", "--yes").code == DONE
    assert committed(kafka, "billing") == {0: 3, 1: 2}
    done = at("groups", "reset", "biling", "--to-latest", "--yes")
    assert (done.code, "has committed nothing: name topics" in done.err) == (FAILURE, True)
    done = at("groups", "reset", "billing", "-t", "order", "--to-latest", "--yes")
    assert (done.code, done.out, done.err.count("\n")) == (FAILURE, b"", 1)
    assert at("groups", "reset", "billing", "-p", 0, "--to-latest", "--yes").code == USAGE
    assert at("groups", "reset", "billing", "--to-offset", 1, "--yes").code == USAGE


@pytest.mark.parametrize("protocol", ["classic", "consumer"])
def test_a_group_with_live_members_is_not_reset(
    at: Command, kafka: EmbeddedBroker, protocol: str
) -> None:
    """B683: each partition says so, and nothing is changed."""
    with KafkaConsumer(
        bootstrap_servers=kafka.bootstrap, group_id="live", group_protocol=protocol
    ) as member:
        if protocol == "consumer":
            kafka.finalize("group.version", 1)
        member.subscribe(["orders"])
        while not member.assignment():
            member.poll(0.1)
        done = at("groups", "reset", "live", "-t", "orders", "--to-offset", 1, "--yes", "-J")
    assert (done.code, len(done.objects)) == (FAILURE, 2)
    for row in done.objects:
        assert "GroupNotEmptyException" in str(row["error"])
        assert row["may_have_happened"] is False
    assert 1 not in committed(kafka, "live").values()


# --- brokers, groups, lag ---------------------------------------------------------------


def test_brokers_are_listed_with_what_they_hold(at: Command, kafka: EmbeddedBroker) -> None:
    """Leaders, replicas, and those that are behind; one that is down is left out."""
    rows = at("brokers", "-J").objects
    assert [row["broker"] for row in rows] == [1, 2]
    assert [row["address"] for row in rows] == [f"127.0.0.1:{port}" for port in kafka.ports]
    assert sum(row["leads"] for row in rows) == 3  # type: ignore[misc]  # they are numbers
    assert [row["replicas"] for row in rows] == [3, 3]
    kafka.kill(2)
    done = at("brokers")
    assert (done.code, [line[0] for line in done.rows]) == (DONE, ["broker", "1"])


def test_groups_are_listed_from_every_broker(at: Command, kafka: EmbeddedBroker) -> None:
    """With their coordinators; without members they are empty."""
    for group in ("billing", "shipping", "audit"):
        commit(kafka, group, p0=1)
    done = at("groups")
    assert (done.code, done.err) == (DONE, "3 groups\n")
    assert [line[:2] for line in done.rows[1:]] == [
        ["audit", "Empty"],
        ["billing", "Empty"],
        ["shipping", "Empty"],
    ]
    assert {line[-1] for line in done.rows[1:]} <= {"1", "2"}


def test_groups_of_a_silent_broker_are_missing_and_it_is_said(
    at: Command, kafka: EmbeddedBroker
) -> None:
    """What the others tell is shown; the exit code is 1."""
    for number, group in enumerate(("audit", "billing", "shipping")):
        kafka.move_coordinator(group, 1 + number % 2)
        commit(kafka, group, p0=1)
    kafka.hold("ListGroups", node=2)
    done = at("groups", "--timeout", 3)
    assert done.code == FAILURE
    assert done.err.startswith("prokurist: the list is not complete: ")
    assert done.err.count("\n") == 1
    told = [(line[0], line[-1]) for line in done.rows[1:]]
    assert told == [("audit", "1"), ("shipping", "1")]


def test_lag_is_shown_by_topic_and_its_exit_code_is_for_cron(
    at: Command, kafka: EmbeddedBroker
) -> None:
    """`--fail-above`; of the groups named, or of all."""
    commit(kafka, "billing", p0=1, p1=2)
    commit(kafka, "shipping", p0=3)
    done = at("lag", "-J")
    assert done.code == DONE
    assert [(each["group"], each["topic"], each["lag"]) for each in done.objects] == [
        ("billing", "orders", 2),
        ("shipping", "orders", 0),
    ]
    assert at("lag", "--fail-above", 2).code == DONE
    done = at("lag", "-G", "billing", "-G", "shipping", "--fail-above", 1)
    assert (done.code, done.err) == (FAILURE, "billing lags by more than 1 in orders\n")
    assert at("lag", "-G", "shipping", "--fail-above", 1).code == DONE
    done = at("lag", "-G", "biling", "--fail-above", 1)
    assert (done.code, done.out) == (FAILURE, b"")
    assert "is its name right?" in done.err


def test_lag_is_shown_while_a_transaction_commits_offsets(
    at: Command, kafka: EmbeddedBroker
) -> None:
    """B425: by what was committed before; of its group, and of others."""
    commit(kafka, "billing", p0=1)
    commit(kafka, "shipping", p0=3)
    with kafka.unstable_offsets("billing", TopicPartition("orders", 0)):
        done = at("lag", "-J")
        assert done.code == DONE
        assert [(each["group"], each["lag"]) for each in done.objects] == [
            ("billing", 2),
            ("shipping", 0),
        ]
        assert at("offsets", "-G", "billing", "-J").objects[0]["committed"] == 1


def test_a_group_that_has_committed_nothing_is_not_left_out_silently(
    at: Command, kafka: EmbeddedBroker
) -> None:
    """Of all groups it is named on standard error; one asked for hides no other."""
    commit(kafka, "billing", p0=1)
    with KafkaConsumer(
        bootstrap_servers=kafka.bootstrap, group_id="stuck", enable_auto_commit=False
    ) as consumer:
        consumer.subscribe("orders")
        consumer.wait_until_ready(10.0)
        done = at("lag", "-J", "--fail-above", 5)
        assert [each["group"] for each in done.objects] == ["billing"]
        said = "without a lag, as nothing is committed: stuck\n"
        assert (done.code, done.err) == (DONE, said)
        done = at("lag", "-J", "-G", "stuck", "-G", "billing", "--fail-above", 1)
        assert [each["group"] for each in done.objects] == ["billing"]
        assert done.code == FAILURE
        above, nothing = done.err.splitlines()
        assert above == "billing lags by more than 1 in orders"
        assert nothing.startswith("prokurist: the group 'stuck' has committed nothing")


# --- a deadline for each ----------------------------------------------------------------


@pytest.mark.parametrize(
    "line",
    [
        "consume -t orders",
        "consume -t orders -c 1 -G billing",
        "consume -t orders -e -o -1",
        "topics",
        "topics -t orders",
        "brokers",
        "groups",
        "lag",
        "lag -G billing",
        "offsets -G billing",
        "offsets -G billing -w",
        "groups reset billing -t orders --to-latest --yes",
        "doctor -G billing",
    ],
)
@pytest.mark.parametrize("ill", ["frozen", "gone"])
def test_each_command_ends_by_its_timeout(
    at: Command, kafka: EmbeddedBroker, line: str, ill: str
) -> None:
    """Against brokers that accept and are silent, and against closed ports: exit code 1."""
    if ill == "frozen":
        kafka.freeze()
    else:
        kafka.kill(1)
        kafka.kill(2)
    name, *rest = line.split()
    done = at(name, *rest, "--timeout", TIMEOUT)
    assert done.code == FAILURE
    assert done.seconds < TIMEOUT + LATE
    if name != "doctor":
        assert (done.out, done.err.count("\n")) == (b"", 1)


def test_a_command_ends_in_time_as_a_process_too(kafka: EmbeddedBroker) -> None:
    """No thread keeps the interpreter, while the coordinator does not answer."""
    where = ("-b", kafka.bootstrap, "-t", "orders", "-G", "billing", "-o", "beginning")
    with begun("consume", *where, "-c", 99, "--timeout", 6) as process:
        assert process.stdout is not None
        try:
            process.stdout.readline()
            kafka.freeze()
            _, err = process.communicate(timeout=STARTING)
        finally:
            process.kill()
    assert process.returncode == FAILURE
    # How many have come depends on who is quicker, the reader or the frost.
    assert re.fullmatch(rb"prokurist: the time is over after [1-5] of 99 records\n", err)


# --- broker -----------------------------------------------------------------------------


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM], ids=["ctrl-c", "term"])
def test_the_embedded_broker_is_served_and_ends_as_it_is_told(
    run: Command, number: signal.Signals
) -> None:
    """With topics and records in it; Ctrl-C and SIGTERM are a good end, as its time is."""
    with begun("broker", "--port", 0, "-t", "orders:2", "--records", 3) as process:
        assert process.stdout is not None
        try:
            where = process.stdout.readline().decode().strip().partition("=")[2]
            done = run("consume", "-b", where, "-t", "orders", "-e", "-f", r"%k=%s\n")
            process.send_signal(number)
            assert process.wait(STARTING) == DONE
        finally:
            process.kill()
    assert min(done.out.splitlines()) == b"key-0=record 0 of orders"
    assert done.err == "3 records\n"
    done = run("broker", "--port", 0, "--timeout", 0.2)
    assert (done.code, done.out.count(b"\n")) == (DONE, 1)


def test_a_taken_port_is_one_line(run: Command) -> None:
    """Not a traceback."""
    with socket.create_server(("127.0.0.1", 0)) as holder:
        port = holder.getsockname()[1]
        done = run("broker", "--port", port)
    assert (done.code, done.out) == (FAILURE, b"")
    assert f"port {port} is taken: --port 0 takes a free one" in done.err
    assert done.err.count("\n") == 1


def test_records_keep_coming_to_the_embedded_broker(run: Command) -> None:
    """`--every`: something to see for a reader who came first, in a topic of its own."""
    with begun("broker", "--port", 0, "--every", 0.2, "--records", 2, "-q") as process:
        assert process.stdout is not None
        try:
            where = process.stdout.readline().decode().strip().partition("=")[2]
            done = run("consume", "-b", where, "-t", "orders", "-c", 4, "--timeout", STARTING)
        finally:
            process.terminate()
            assert process.wait(STARTING) == DONE
    assert done.code == DONE
    assert done.out.splitlines() == [b"record %d of orders" % number for number in range(4)]
