"""`prokurist produce` over real sockets: what arrives, what is told, and when it ends."""

import signal
import subprocess
import sys
from pathlib import Path

import pytest

from prokurist.cli.entry import DONE, FAILURE, INTERRUPTED, USAGE
from prokurist.testing.broker import EmbeddedBroker
from tests.embedded.commands import LATE, STARTING, Command

CODECS = ("none", "gzip", "snappy", "lz4", "zstd")

LINES = [b"first", b"", b"\xff\xfe no UTF-8", b"x" * 70_000, "fünf".encode(), b"key:value"]


@pytest.fixture
def lines(tmp_path: Path) -> Path:
    """A file of lines, an empty one among them."""
    path = tmp_path / "lines"
    path.write_bytes(b"".join(each + b"\n" for each in LINES))
    return path


def begun(*arguments: object) -> "subprocess.Popen[bytes]":
    """Start the command as a process of its own, with a pipe for its input."""
    return subprocess.Popen(
        [sys.executable, "-m", "prokurist", "produce", *map(str, arguments)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )


@pytest.mark.parametrize("codec", CODECS)
def test_consume_gives_the_lines_that_produce_was_given(
    at: Command, lines: Path, codec: str
) -> None:
    """P69: byte for byte, with all codecs."""
    done = at("produce", "-t", "empty", "-l", lines, "-z", codec)
    assert (done.code, done.out, done.err) == (DONE, b"", "6 records\n")
    assert at("consume", "-t", "empty", "-e", "-q").out == lines.read_bytes()


def test_standard_input_is_read_to_its_end(kafka: EmbeddedBroker, at: Command) -> None:
    """A last line without its end is a record, too."""
    with begun("-b", kafka.bootstrap, "-t", "empty") as process:
        out, err = process.communicate(b"a\nb\nc", timeout=STARTING)
    assert (process.returncode, out, err) == (DONE, b"", b"3 records\n")
    assert at("consume", "-t", "empty", "-e", "-q").out == b"a\nb\nc\n"


def test_keys_partition_headers_and_nulls(at: Command, tmp_path: Path) -> None:
    """`-K`, `-p`, `-H`, `-Z` and `-D`, with kcat's meanings."""
    path = tmp_path / "input"
    path.write_bytes(b"k1:v1;k2:;no key;:v4;")
    rest = ("-K", ":", "-D", ";", "-p", 1, "-H", "a=1", "-H", "null", "-Z")
    assert at("produce", "-t", "orders", "-l", path, *rest).code == DONE
    form = "%p %K %k %S %s %h|"
    done = at("consume", "-t", "orders", "-p", 1, "-o", 2, "-e", "-q", "-f", form)
    assert done.out == (
        b"1 2 k1 2 v1 a=1,null=|1 2 k2 -1  a=1,null=|1 -1  6 no key a=1,null=|"
        b"1 -1  2 v4 a=1,null=|"
    )


def test_one_key_for_all_records(at: Command, tmp_path: Path) -> None:
    """`-k`: all go to one partition."""
    path = tmp_path / "input"
    path.write_bytes(b"x\ny\n")
    assert at("produce", "-t", "orders", "-l", path, "-k", "mine").code == DONE
    done = at("consume", "-t", "orders", "-e", "-q", "-f", r"%k %s\n")
    assert [row for row in done.rows if row[0] == "mine"] == [["mine", "x"], ["mine", "y"]]


def test_json_goes_round(at: Command, tmp_path: Path) -> None:
    """What `consume -J` writes, `produce -J` sends: keys, headers, nulls, timestamps, bytes."""
    first = tmp_path / "input"
    first.write_bytes(b"k\xff=v\xfe;=;k=;")
    at("produce", "-t", "orders", "-p", 0, "-l", first, "-K", "=", "-D", ";", "-Z", "-H", "h=x")
    written = at("consume", "-t", "orders", "-p", 0, "-e", "-q", "-J")
    second = tmp_path / "json"
    second.write_bytes(written.out)
    assert at("produce", "-t", "empty", "-l", second, "-J").code == DONE
    again = at("consume", "-t", "empty", "-e", "-q", "-J")
    kept = ("ts", "headers", "key", "payload")
    assert len(written.objects) == 6
    assert [{name: each[name] for name in kept} for each in again.objects] == [
        {name: each[name] for name in kept} for each in written.objects
    ]


def test_what_is_no_json_is_one_line(at: Command, lines: Path) -> None:
    """With what was read; what stood before it is sent."""
    done = at("produce", "-t", "empty", "-l", lines, "-J")
    assert (done.code, done.err.count("\n")) == (FAILURE, 1)
    assert "-J: not what `consume -J` writes" in done.err
    assert done.err.endswith(": first\n")


def test_a_frozen_broker_is_told_by_the_time(
    at: Command, kafka: EmbeddedBroker, lines: Path
) -> None:
    """Exit code 1, and how many were not delivered, and why."""
    kafka.hold("Produce")
    done = at("produce", "-t", "empty", "-l", lines, "--timeout", 3)
    assert done.code == FAILURE
    assert done.err.startswith("prokurist: 6 of 6 records were not delivered; the first: ")
    assert done.err.count("\n") == 1
    assert done.seconds < 3 + LATE


def test_a_record_that_is_too_large_is_counted(at: Command, tmp_path: Path) -> None:
    """Those around it are delivered."""
    path = tmp_path / "input"
    path.write_bytes(b"small\n" + b"x" * 2_000_000 + b"\nsmall, too\n")
    done = at("produce", "-t", "empty", "-l", path)
    assert done.code == FAILURE
    assert "1 of 3 records was not delivered; the first: a record for" in done.err
    assert at("consume", "-t", "empty", "-e", "-q").out == b"small\nsmall, too\n"


def test_a_topic_that_is_not_there_ends_it_at_once(at: Command, lines: Path) -> None:
    """The first record's wait is the last: what follows would wait as long."""
    done = at("produce", "-t", "nowhere", "-l", lines, "--timeout", 2)
    assert done.code == FAILURE
    assert "1 of 1 record was not delivered" in done.err
    assert "nowhere does not exist" in done.err
    assert done.seconds < 2 + LATE


def test_an_input_that_does_not_end_is_left_by_the_time(kafka: EmbeddedBroker) -> None:
    """What was read is delivered, and the exit code is 1."""
    with begun("-b", kafka.bootstrap, "-t", "empty", "--timeout", 4) as process:
        assert process.stdin is not None
        assert process.stderr is not None
        try:
            process.stdin.write(b"a\nb\nunfinished")
            process.stdin.flush()
            assert process.wait(STARTING) == FAILURE
            err = process.stderr.read()
        finally:
            process.kill()
    assert err == b"prokurist: the time is over after 2 records: the input has not ended\n"


def test_ctrl_c_delivers_what_was_read(kafka: EmbeddedBroker, at: Command) -> None:
    """Within a second, and ends with 130."""
    with begun("-b", kafka.bootstrap, "-t", "empty", "-X", "linger.ms=500") as process:
        assert process.stdin is not None
        assert process.stderr is not None
        try:
            process.stdin.write(b"a\n")
            process.stdin.flush()
            while not at("consume", "-t", "empty", "-e", "-q").out:
                pass
            process.stdin.write(b"b\n")
            process.stdin.flush()
            process.send_signal(signal.SIGINT)
            assert process.wait(STARTING) == INTERRUPTED
            err = process.stderr.read()
        finally:
            process.kill()
    out = at("consume", "-t", "empty", "-e", "-q").out
    # The interrupt may come before the second line was read.
    assert (out, err) in (
        (b"a\nb\n", b"2 records\nprokurist: interrupted\n"),
        (b"a\n", b"1 record\nprokurist: interrupted\n"),
    )


def test_what_waits_longer_is_the_commands_own_option(at: Command, lines: Path) -> None:
    """`--timeout` bounds max.block.ms, so the advice names that one."""
    done = at("produce", "-t", "empty", "-l", lines, "-p", 99, "--timeout", 1)
    assert done.code == FAILURE
    assert "give a longer --timeout" in done.err
    assert "max.block.ms" not in done.err


def test_ctrl_c_of_a_frozen_broker_ends_with_counts(kafka: EmbeddedBroker) -> None:
    """After a second, with exit code 1."""
    kafka.hold("Produce")
    with begun("-b", kafka.bootstrap, "-t", "empty") as process:
        assert process.stdin is not None
        assert process.stderr is not None
        try:
            process.stdin.write(b"a\n")
            process.stdin.flush()
            while not kafka.requests("Produce"):
                pass
            process.send_signal(signal.SIGINT)
            assert process.wait(STARTING) == FAILURE
            err = process.stderr.read()
        finally:
            process.kill()
    assert err.startswith(b"prokurist: 1 of 1 record was not delivered; the first: ")


@pytest.mark.parametrize(
    ("rest", "said"),
    [
        ((), "'-t'"),
        (("-t", "a", "-D", ""), "-D: records have to end somewhere"),
        (("-t", "a", "-k", "x", "-K", ":"), "give one of them"),
        (("-t", "a", "-J", "-k", "x"), "-J with -k or -K"),
        (("-t", "a", "-H", "=x"), "-H takes NAME=VALUE"),
        (("-t", "a", "-z", "brotli"), "compression.type"),
        (("-t", "a", "-p", -1), "'-p'"),
        (("-t", "a", "-X", "fetch.max.bytes=3"), "fetch.max.bytes"),
        (("-t", "a", "-X", "ssl.key.password=x"), "use -F FILE"),
        (("-t", "a", "-l", "/nowhere/file"), "No such file"),
    ],
)
def test_wrong_calls_are_one_line(at: Command, rest: tuple[object, ...], said: str) -> None:
    """Exit code 2, and 1 for a file that is not there."""
    done = at("produce", *rest, "--timeout", 5)
    assert done.code == (FAILURE if "-l" in rest else USAGE)
    assert said in done.err
    assert done.err.count("\n") == 1
