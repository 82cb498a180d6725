"""`prokurist produce < file`, and `consume` by a real Kafka: the same lines again."""

import json
import subprocess
import sys
from typing import Final

import pytest

from prokurist import KafkaProducer
from prokurist.testing.kafka import RealKafka

pytestmark = pytest.mark.kafka

CODECS: Final = ("none", "gzip", "snappy", "lz4", "zstd")
BYTES: Final = bytes(range(256)).replace(b"\n", b"")
LINES: Final = [
    b"",
    b"first",
    b"",
    b"",
    b" spaces \t\r",
    b"\r",
    b"\x00",
    BYTES,
    b"\xff\xfe\xc3",
    b"\xef\xbb\xbfwith a mark",
    b"\xed\xb2\x80\xed\xa0\xbd",
    "fünf 𝄞 \u2028 \u2029 \x85".encode(),
    b"NULL",
    b"null",
    b"key:value:more",
    b":",
    b"::",
    b"%s%k\\n\\x00",
    b'{"payload": null}',
    b"x" * 1_000_000,
    b"y" * 65_536,
    b"z" * 65_535,
    b"",
    b"last",
]
"""What a program that reads lines as text, or as a format, or in pieces, gets wrong."""


def command(kafka: RealKafka, given: bytes, *arguments: str) -> bytes:
    """What a command writes to standard output; it succeeds."""
    name, *rest = arguments
    done = subprocess.run(
        [sys.executable, "-m", "prokurist", name, "-b", kafka.bootstrap, "-q", *rest],
        input=given,
        capture_output=True,
        check=False,
        timeout=120,
    )
    assert (done.returncode, done.stderr) == (0, b"")
    return done.stdout


def of(lines: list[bytes]) -> bytes:
    """A file of these lines."""
    return b"".join(line + b"\n" for line in lines)


def shown(found: bytes, expected: bytes) -> str:
    """Where two files differ first, in few words."""
    pairs = zip(found.split(b"\n"), expected.split(b"\n"), strict=False)
    for number, (one, other) in enumerate(pairs):
        if one != other:
            return f"line {number}: {one[:80]!r}, and not {other[:80]!r}"
    return f"{len(found)} bytes, and not {len(expected)}"


@pytest.mark.parametrize("codec", CODECS)
def test_the_same_lines_again(
    prokurist_kafka: RealKafka, prokurist_topic: str, codec: str
) -> None:
    """P69: byte for byte, with a last line that has no end, too."""
    expected = of(LINES)
    command(prokurist_kafka, expected[:-1], "produce", "-t", prokurist_topic, "-z", codec)
    found = command(prokurist_kafka, b"", "consume", "-t", prokurist_topic, "-e")
    assert found == expected, shown(found, expected)


def test_keys_and_values_again(prokurist_kafka: RealKafka, prokurist_topic: str) -> None:
    """P69: `-K` splits at the first one, also where key or value are empty."""
    lines = [b"k:" + line for line in LINES] + [b":no key", b"no value:", b"\xff:\xfe", b":"]
    expected = of(lines)
    command(prokurist_kafka, expected, "produce", "-t", prokurist_topic, "-K", ":")
    found = command(prokurist_kafka, b"", "consume", "-t", prokurist_topic, "-e", "-K", ":")
    assert found == expected, shown(found, expected)


def test_a_delimiter_of_several_bytes(prokurist_kafka: RealKafka, prokurist_topic: str) -> None:
    """P69: also where it is cut by the pieces in which the input is read."""
    parts = [b"x" * (65_535 - each) + b"\n\r" * each for each in range(6)] + [b"", b"\r\n\r"]
    expected = b"".join(part + b"\r\n--" for part in parts)
    ends = ("-D", r"\r\n--")
    command(prokurist_kafka, expected, "produce", "-t", prokurist_topic, *ends)
    found = command(prokurist_kafka, b"", "consume", "-t", prokurist_topic, "-e", *ends)
    assert found == expected, shown(found, expected)


def test_whole_records_again(prokurist_kafka: RealKafka, prokurist_topic: str) -> None:
    """P69: keys, headers, nulls and timestamps, by `consume -J` and `produce -J`."""
    second = prokurist_kafka.unique_topic()
    odd: list[bytes | None] = [None, b"", BYTES + b"\n", *LINES]
    with KafkaProducer(bootstrap_servers=prokurist_kafka.bootstrap) as producer:
        for number, value in enumerate(odd):
            key = odd[(number * 7 + 3) % len(odd)]
            headers: list[tuple[str, bytes | None]] = [
                ("twice", key if key is None else key[:100]),
                ("twice", b"\xff\x00"),
                ("", b""),
                ("fünf 𝄞", None),
            ]
            key = key if key is None else key[:1000]
            producer.send(prokurist_topic, value, key, headers, timestamp=number * 1000)
    first = command(prokurist_kafka, b"", "consume", "-t", prokurist_topic, "-e", "-J")
    assert first.count(b"\n") == len(odd)
    command(prokurist_kafka, first, "produce", "-t", second, "-J")
    again = command(prokurist_kafka, b"", "consume", "-t", second, "-e", "-J")
    for one, other in zip(first.splitlines(), again.splitlines(), strict=True):
        record = json.loads(one)
        record["topic"] = second
        assert json.loads(other) == record
