"""What is written for a record, as kcat's letters have it."""

import json

import pytest

from prokurist.cli.errors import Misused
from prokurist.cli.formats import as_json, compiled, delimited, unescaped
from prokurist.records.consumer_records import ConsumerRecord
from prokurist.types import TimestampType


def record(key: bytes | None = b"k", value: bytes | None = b"v") -> ConsumerRecord:
    """One record of orders-2, at 41."""
    return ConsumerRecord(
        topic="orders",
        partition=2,
        offset=41,
        timestamp=1700000000123,
        timestamp_type=TimestampType.CREATE_TIME,
        key=key,
        value=value,
        headers=[("a", b"1"), ("b", None)],
        leader_epoch=None,
    )


@pytest.mark.parametrize(
    ("form", "written"),
    [
        ("%t [%p] %o: %k=%s\\n", b"orders [2] 41: k=v\n"),
        ("%T %K %S %h", b"1700000000123 1 1 a=1,b="),
        ("100%% %s", b"100% v"),
        ("", b""),
        (r"\t\x00\xff\\", b"\t\0\xff\\"),
        ("grün", "grün".encode()),
    ],
)
def test_a_format_is_written_as_it_says(form: str, written: bytes) -> None:
    """Fields, escapes, and everything else as it stands."""
    assert compiled(form)(record()) == written


def test_what_is_not_there_is_empty_and_of_size_minus_one() -> None:
    """As in kcat: a tombstone is not an empty value."""
    assert compiled("%k|%s|%K|%S")(record(None, None)) == b"||-1|-1"


@pytest.mark.parametrize("form", ["%q", "%", "50% off", r"\q", "\\", r"\x1"])
def test_a_format_that_means_nothing_is_refused(form: str) -> None:
    """Before anything is read."""
    with pytest.raises(Misused, match="nothing"):
        compiled(form)


def test_keys_come_before_their_delimiter() -> None:
    """`-K :` and `-D`."""
    assert delimited(":", r"\n")(record()) == b"k:v\n"
    assert delimited(None, ";")(record(None, None)) == b";"
    assert unescaped(r"a\nb") == b"a\nb"


def test_json_is_one_line_from_which_the_bytes_come_back() -> None:
    """Also where they are no UTF-8: they are lone surrogates then."""
    line = as_json(record(None, b"gr\xc3\xbcn\n\xff"))
    assert line.count(b"\n") == 1
    told = json.loads(line)
    assert told["payload"].encode("utf-8", "surrogateescape") == b"gr\xc3\xbcn\n\xff"
    assert told == {
        "topic": "orders",
        "partition": 2,
        "offset": 41,
        "tstype": "create",
        "ts": 1700000000123,
        "headers": ["a", "1", "b", None],
        "key": None,
        "payload": "grün\n\udcff",
    }
