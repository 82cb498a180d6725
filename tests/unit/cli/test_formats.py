"""What is written for a record, as kcat's letters have it."""

import json

import pytest

from prokurist.cli.errors import Misused
from prokurist.cli.formats import (
    as_json,
    compiled,
    delimited,
    unescaped,
    with_json_value,
)
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


def test_null_is_shown_when_that_is_asked_for() -> None:
    """`-Z`: in a format and beside a delimiter; an empty value stays empty."""
    assert compiled("%k|%s|%S", b"NULL")(record(None, None)) == b"NULL|NULL|-1"
    assert compiled("%k|%s", b"NULL")(record(b"", b"")) == b"|"
    assert delimited(":", ";", b"NULL")(record(None, None)) == b"NULL:NULL;"


@pytest.mark.parametrize(
    ("value", "payload"),
    [
        (b'{"a": [1, null]}', {"a": [1, None]}),
        (b"5", 5),
        (b"five", "five"),
        (b"\xff", "\udcff"),
        (None, None),
    ],
)
def test_a_value_that_is_json_is_written_as_what_it_stands_for(
    value: bytes | None, payload: object
) -> None:
    """`--json-values`; another stays its text."""
    assert json.loads(with_json_value(record(value=value)))["payload"] == payload
