"""`prokurist config check`: a client's configuration, looked at without a broker."""

import io
import json
import sys
from pathlib import Path

import pytest

from prokurist.cli import entry

OF_JAVA = """\
# The billing service.
bootstrap.servers=kafka1:9093,\\
    kafka2:9093
group.id = billing
key.deserializer=org.apache.kafka.common.serialization.StringDeserializer
security.protocol=SASL_SSL
sasl.mechanism=PLAIN
sasl.jaas.config=org.apache.kafka.common.security.plain.PlainLoginModule required \\
    username="me" password="gruyère";
"""
OF_LIBRDKAFKA = {
    "metadata.broker.list": "kafka1:9092",
    "group.id": "billing",
    "queued.max.messages.kbytes": 16384,
    "socket.nagle.disable": True,
    "enable.gapless.guarantee": True,
    "sasl.pasword": "gruyère",
}


OF_A_PRODUCER = """\
bootstrap.servers=kafka1:9092
queue.buffering.max.ms=20
message.timeout.ms=60000
request.required.acks=-1
"""


@pytest.fixture
def keys(tmp_path: Path) -> Path:
    """Where a test writes its file."""
    return tmp_path / "client.properties"


def check(*arguments: object) -> int:
    """Run the command."""
    return entry.main(["config", "check", *map(str, arguments)])


def test_a_property_file_of_javas(keys: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """As it stands, continued lines and JAAS included; the password is not written."""
    keys.write_text(OF_JAVA, "utf-8")
    assert check(keys) == entry.DONE
    told = capsys.readouterr()
    assert told.err == "no fault found\n"
    assert [line.split()[1] for line in told.out.splitlines()[1:]] == ["supported"] * 6
    assert "gruyère" not in told.out


def test_faults_and_what_to_write_instead(
    keys: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A row for each key, and exit code 1."""
    keys.write_text(json.dumps(OF_LIBRDKAFKA), "utf-8")
    assert check(keys, "-J") == entry.FAILURE
    told = capsys.readouterr()
    assert told.err == "2 faults found\n"
    rows = {row["key"]: row for row in map(json.loads, told.out.splitlines())}
    assert {key: row["verdict"] for key, row in rows.items()} == {
        "metadata.broker.list": "translated",
        "group.id": "supported",
        "queued.max.messages.kbytes": "translated",
        "socket.nagle.disable": "without effect",
        "enable.gapless.guarantee": "faulty",
        "sasl.pasword": "faulty",
    }
    assert rows["queued.max.messages.kbytes"]["instead"] == "fetch.buffer.max.bytes=16777216"
    assert "did you mean sasl.password" in rows["sasl.pasword"]["why"]
    assert "gruyère" not in told.out


def test_a_translation_is_a_property_file(
    keys: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Which is without fault itself; what cannot be translated is told beside it."""
    keys.write_text(json.dumps(OF_LIBRDKAFKA), "utf-8")
    assert check(keys, "--translate", "-q") == entry.FAILURE
    told = capsys.readouterr()
    assert told.out == (
        "bootstrap.servers=kafka1:9092\ngroup.id=billing\nfetch.buffer.max.bytes=16777216\n"
    )
    assert [line.split(":")[1] for line in told.err.splitlines()] == [
        " enable.gapless.guarantee",
        " unknown key sasl.pasword; did you mean sasl.password or ssl.key.password?",
    ]
    keys.write_text(told.out, "utf-8")
    assert check(keys) == entry.DONE


def test_a_secret_is_not_translated(keys: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Its key is a comment, so that it is not forgotten; a backslash stays one."""
    keys.write_text(OF_JAVA + "client.id=a\\\\b\n", "utf-8")
    assert check(keys, "--translate") == entry.DONE
    told = capsys.readouterr().out
    assert "# sasl.jaas.config=***\n" in told
    assert "client.id=a\\\\b\n" in told
    assert "gruyère" not in told


def test_a_producers(keys: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """By its own keys; who leaves the option out is told of it, and else is not."""
    keys.write_text(OF_A_PRODUCER, "utf-8")
    assert check(keys, "--producer", "--translate") == entry.DONE
    told = capsys.readouterr()
    assert told.err == "no fault found\n"
    assert told.out == (
        "bootstrap.servers=kafka1:9092\nlinger.ms=20\ndelivery.timeout.ms=60000\nacks=-1\n"
    )
    assert check(keys) == entry.FAILURE
    assert capsys.readouterr().err == "3 faults found; is it a producer's? See --producer\n"
    keys.write_text("bootstrap.servers=kafka1:9092\ngroup.id=billing\n", "utf-8")
    assert check(keys, "--producer") == entry.FAILURE
    assert capsys.readouterr().err == "1 fault found\n"


def test_it_reads_standard_input(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """`-`, as usual."""
    monkeypatch.setattr(sys, "stdin", io.StringIO("group.id=billing\n"))
    assert check("-") == entry.FAILURE
    assert "bootstrap.servers must be given" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("hush", "line 1 is no key=value"),
        ('{"sasl.password": "hush"', "is no JSON: line 1"),
        (None, "No such file"),
    ],
)
def test_what_is_no_configuration_is_one_line(
    keys: Path, capsys: pytest.CaptureFixture[str], text: str | None, said: str
) -> None:
    """With exit code 2, and without what stands in it."""
    if text is not None:
        keys.write_text(text, "utf-8")
    assert check(keys) == entry.USAGE
    told = capsys.readouterr()
    assert (told.out, told.err.count("\n")) == ("", 1)
    assert said in told.err
    assert "hush" not in told.err


def test_all_faults_of_a_command_are_told(capsys: pytest.CaptureFixture[str]) -> None:
    """Each on a line of its own, for every command that takes keys."""
    line = "topics -b 127.0.0.1:9 -X fetch.max.bytes=many -X topic.blacklist=x -X colour=blue"
    assert entry.main(line.split()) == entry.USAGE
    told = capsys.readouterr().err.splitlines()
    assert [each.split(":")[0] for each in told] == ["prokurist"] * 3
