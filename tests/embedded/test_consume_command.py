"""`prokurist consume` over real sockets: what it writes, when it ends, and how."""

import signal

import pytest

from prokurist.cli.entry import DONE, FAILURE, INTERRUPTED, TERMINATED, UNREAD
from prokurist.testing.broker import EmbeddedBroker
from prokurist.testing.cluster.batches import Record
from prokurist.types import TopicPartition
from tests.embedded.commands import (
    LATE,
    STARTING,
    Command,
    begun,
    commit,
    committed,
    states,
)

ENOUGH = 4.0
"""To read five records in any case, and then to wait for more until the time is over."""


def test_consume_writes_all_there_is_and_ends(at: Command) -> None:
    """`-e`: data on standard output, talk on standard error."""
    done = at("consume", "-t", "orders", "-e")
    assert (done.code, done.err) == (DONE, "5 records\n")
    assert sorted(done.out.split(b"\n")) == [b"", b"a", b"b", b"c", b"d", b"e"]
    assert at("consume", "-t", "orders", "-t", "empty", "-e", "-q").err == ""
    assert at("consume", "-t", "empty", "-e").out == b""


@pytest.mark.parametrize(
    ("where", "written"),
    [
        ("beginning", b"0a 1b 2c "),
        ("end", b""),
        ("1", b"1b 2c "),
        ("-1", b"2c "),
        ("-9", b"0a 1b 2c "),
        ("s@1700000060000", b"1b 2c "),
        ("s@2023-11-14T22:14:20", b"1b 2c "),
        ("s@2099-01-01", b""),
    ],
)
def test_consume_begins_where_it_is_told(at: Command, where: str, written: bytes) -> None:
    """`-o`, with kcat's forms."""
    done = at("consume", "-t", "orders", "-p", 0, "-o", where, "-e", "-f", "%o%s ")
    assert (done.code, done.out) == (DONE, written)


@pytest.mark.parametrize(
    ("where", "written"),
    [
        (["-o", "e@2023-11-14T22:15:20"], {b"0a", b"1b", b"0d", b"1e"}),
        (["-o", "s@1700000060000", "-o", "e@1700000120000"], {b"1b", b"1e"}),
        (["-o", "1", "-o", "e@2099-01-01"], {b"1b", b"2c", b"1e"}),
        (["-o", "-1h", "-e"], set()),
        (["-o", "stored", "-e", "-X", "group.id=billing"], {b"2c", b"0d", b"1e"}),
        (["-p", "0,1", "-p", "0", "-e", "--grep", "[be]"], {b"1b", b"1e"}),
        (["-e", "--key", "k2"], {b"2c"}),
        (["-e", "--key", "k1", "--grep", "b", "-c", "1"], {b"1b"}),
    ],
)
def test_consume_reads_what_it_is_asked_for(
    at: Command, kafka: EmbeddedBroker, where: list[object], written: set[bytes]
) -> None:
    """From a time to a time, where a group is, some partitions, what matches."""
    commit(kafka, "billing", p0=2)
    done = at("consume", "-t", "orders", *where, "-f", r"%o%s\n", "--timeout", STARTING)
    assert (done.code, set(done.out.split())) == (DONE, written)
    assert len(done.out.split()) == len(written)


def test_where_a_group_is_wants_a_group(at: Command) -> None:
    """Exit code 2, and the text names what is missing and how it is given."""
    done = at("consume", "-t", "orders", "-o", "stored", "-e", "--timeout", STARTING)
    assert done.code == 2
    assert "none is named: -X group.id=NAME" in done.err


def test_consume_writes_several_partitions_by_time(at: Command) -> None:
    """`--merge` all of them, `-n` the newest of the topic."""
    done = at("consume", "-t", "orders", "-e", "--merge", "-f", "%T,")
    times = [int(each) for each in done.out.split(b",") if each]
    assert (done.code, times) == (DONE, sorted(times))
    assert len(times) == 5
    done = at("consume", "-t", "orders", "-n", 3)
    assert (done.code, done.out.split()[-1]) == (DONE, b"c")
    assert set(done.out.split()) == {b"b", b"e", b"c"}
    assert at("consume", "-t", "orders", "-n", 1, "--key", "k0", "-p", 0).out == b"a\n"
    assert at("consume", "-t", "orders", "--merge", "-e", "-c", 1).out in {b"a\n", b"d\n"}


def test_consume_shows_what_is_not_there(at: Command, kafka: EmbeddedBroker) -> None:
    """`-Z`, and a value that is JSON with `--json-values`."""
    kafka.append(TopicPartition("empty", 0), Record(b'{"n": 1}', None))
    kafka.append(TopicPartition("empty", 0), Record(None, b"k"))
    assert at("consume", "-t", "empty", "-e", "-Z", "-K", ":").out == b'NULL:{"n": 1}\nk:NULL\n'
    objects = at("consume", "-t", "empty", "-e", "-J", "--json-values").objects
    assert [each["payload"] for each in objects] == [{"n": 1}, None]


@pytest.mark.parametrize(
    ("rest", "said"),
    [
        (
            ["-t", "empty", "-e"],
            "0 records: there are none between the beginning and the end\n",
        ),
        (["-t", "orders", "-e", "--grep", "z"], "0 records: none of 5 records is one that was"),
        (["-t", "empty", "--timeout", 2], "0 records: no records were added to empty-0"),
        (["-t", "empty", "-G", "g", "--timeout", 4], "0 records: "),
    ],
)
def test_consume_says_why_there_is_nothing(at: Command, rest: list[object], said: str) -> None:
    """Behind the number."""
    done = at("consume", *rest)
    assert (done.code, done.out) == (DONE, b"")
    assert said in done.err


def test_consume_says_what_it_waits_for(
    kafka: EmbeddedBroker, at: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Once for each trouble, where nothing bounds the wait."""
    monkeypatch.setattr("prokurist.cli.consume.TELLING", 0.5)
    kafka.hold("Fetch")
    kafka.hold("JoinGroup")
    done = at("consume", "-t", "orders", "-G", "g", "--timeout", ENOUGH)
    assert done.code == DONE
    assert [line.split(":")[0] for line in done.err.splitlines()] == ["waiting", "0 records"]


def test_consume_stops_at_the_count(at: Command) -> None:
    """`-c`, also in the middle of what has come."""
    done = at("consume", "-t", "orders", "-p", 0, "-c", 2, "-K", ":", "-D", ";")
    assert (done.code, done.out) == (DONE, b"k0:a;k1:b;")


def test_consume_in_a_group_commits_what_it_has_written_and_no_more(
    at: Command, kafka: EmbeddedBroker
) -> None:
    """The rest comes the next time, although it had been fetched together with it."""
    seen = []
    for count, total in ((1, 1), (2, 3), (2, 5)):
        done = at("consume", "-t", "orders", "-G", "billing", "-o", "beginning", "-c", count)
        assert done.code == DONE
        seen += done.out.split()
        assert sum(committed(kafka, "billing").values()) == total
    assert sorted(seen) == [b"a", b"b", b"c", b"d", b"e"]
    assert at("consume", "-t", "orders", "-G", "billing", "-e").out == b""


def test_consume_says_when_the_time_is_over_too_soon(at: Command) -> None:
    """Exit code 1, and what there is has been written."""
    done = at("consume", "-t", "orders", "-c", 99, "--timeout", ENOUGH)
    assert (done.code, done.err) == (
        FAILURE,
        "prokurist: the time is over after 5 of 99 records\n",
    )
    assert done.out.count(b"\n") == 5
    assert ENOUGH <= done.seconds < ENOUGH + LATE


def test_the_way_to_the_end_is_not_waited_for_without_end(
    at: Command, kafka: EmbeddedBroker, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By `--timeout`, and without one after a while in which nothing comes."""
    kafka.hold("Fetch")
    done = at("consume", "-t", "orders", "-p", 0, "-e", "--timeout", ENOUGH)
    assert (done.code, done.err) == (
        FAILURE,
        "prokurist: the time is over after 0 records: not at the end of orders-0\n",
    )
    monkeypatch.setattr("prokurist.cli.consume.PATIENCE", 0.5)
    done = at("consume", "-t", "orders", "-p", 0, "-e")
    assert (done.code, done.err) == (
        FAILURE,
        "prokurist: nothing came for 0.5 s, after 0 records: not at the end of orders-0\n",
    )


def test_what_keeps_the_end_away_is_said(at: Command, kafka: EmbeddedBroker) -> None:
    """As a quota does, which lets one batch pass here."""
    kafka.throttle("Fetch", 30.0)
    done = at("consume", "-t", "orders", "-e", "-X", "fetch.max.bytes=1", "--timeout", ENOUGH)
    assert done.code == FAILURE
    assert "not at the end of orders-" in done.err
    assert "this client is over a quota, and throttled by broker" in done.err


def test_consume_for_a_while_is_no_failure(at: Command) -> None:
    """A time alone is all that was asked for."""
    done = at("consume", "-t", "orders", "--timeout", ENOUGH)
    assert (done.code, done.err) == (DONE, "5 records\n")


@pytest.mark.parametrize(
    ("rest", "said"),
    [
        (["-t", "ordres"], "there is no topic 'ordres'"),
        (["-t", "ordres", "-G", "g"], "there is no topic 'ordres'"),
        (["-t", "orders", "-p", 7], "orders has no partition 7: they go from 0 to 1"),
        (["-t", "orders", "-o", 700], "offset 700 of orders-0 is not there"),
        (
            ["-t", "orders", "-o", 3],
            "offset 3 of orders-1 is not there: its log goes from 0 to 2",
        ),
        (["-t", "what?"], "what?"),
    ],
)
def test_consume_of_what_is_not_there_is_one_line(
    at: Command, rest: list[object], said: str
) -> None:
    """With the way out, where there is one."""
    done = at("consume", *rest, "-c", 1)
    assert (done.code, done.out) == (FAILURE, b"")
    assert said in done.err
    assert done.err.count("\n") == 1


def test_a_mistyped_topic_is_not_made(run: Command) -> None:
    """Also where brokers create each topic that they are asked for."""
    with EmbeddedBroker(1, {"orders": 1}, auto_create=True) as making:
        at = ("-b", making.bootstrap)
        assert run("consume", *at, "-t", "ordres", "-e").code == FAILURE
        assert run("consume", *at, "-t", "ordres", "-e", "-G", "g").code == FAILURE
        assert run("topics", *at, "-t", "ordres").code == FAILURE
        assert [row[0] for row in run("topics", *at).rows] == ["topic", "orders"]


def test_ctrl_c_ends_it_with_130_and_keeps_what_was_written(kafka: EmbeddedBroker) -> None:
    """In a group what has been written out is committed, but perhaps for the last of it."""
    where = ("-b", kafka.bootstrap, "-t", "orders", "-G", "billing", "-o", "beginning")
    with begun("consume", *where) as process:
        assert process.stdout is not None
        try:
            assert len([process.stdout.readline() for _ in range(5)]) == 5
            kafka.append(TopicPartition("orders", 0), b"f")
            assert process.stdout.readline() == b"f\n"
            process.send_signal(signal.SIGINT)
            _, err = process.communicate(timeout=STARTING)
        finally:
            process.kill()
    assert (process.returncode, err) == (INTERRUPTED, b"prokurist: interrupted\n")
    # The interrupt may come before the sixth counts as written: then it comes again.
    assert committed(kafka, "billing") in ({0: 4, 1: 2}, {0: 3, 1: 2})


def test_sigterm_ends_it_with_143_and_the_member_leaves(
    at: Command, kafka: EmbeddedBroker
) -> None:
    """As Ctrl-C does: the next member need not wait for the end of a session."""
    where = ("-b", kafka.bootstrap, "-t", "orders", "-G", "billing", "-o", "beginning")
    with begun("consume", *where) as process:
        assert process.stdout is not None
        try:
            assert len([process.stdout.readline() for _ in range(5)]) == 5
            assert states(at)["billing"] == "Stable"
            process.send_signal(signal.SIGTERM)
            _, err = process.communicate(timeout=STARTING)
        finally:
            process.kill()
    assert (process.returncode, err) == (TERMINATED, b"prokurist: terminated\n")
    assert states(at)["billing"] == "Empty"
    assert sum(committed(kafka, "billing").values()) >= 4


def test_a_broken_pipe_is_quiet_and_its_records_come_again(kafka: EmbeddedBroker) -> None:
    """As before `| head`: exit code 141, and nothing of the lost ones is committed."""
    where = ("-b", kafka.bootstrap, "-t", "orders", "-G", "billing", "-o", "beginning")
    with begun("consume", *where) as process:
        assert process.stdout is not None
        try:
            process.stdout.close()
            assert process.wait(STARTING) == UNREAD
            assert process.stderr is not None
            err = process.stderr.read()
        finally:
            process.kill()
    assert err == b""
    assert not any(committed(kafka, "billing").values())
