"""Spark's JSON of offsets: read whole or refused with the place, and written in order."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from prokurist.errors import ConfigException
from prokurist.spark.offset_json import (
    SourceOffset,
    moments_in,
    offsets_in,
    partitions_in,
    to_json,
)
from prokurist.types import TopicPartition

ORDERS = TopicPartition("orders", 0)
NAMES = st.text("abcXYZ019._-", min_size=1, max_size=12)
OFFSETS = st.dictionaries(
    st.builds(TopicPartition, NAMES, st.integers(0, 2**31 - 1)),
    st.integers(0, 2**63 - 1),
    max_size=8,
)


def test_offsets_are_read_as_spark_writes_them() -> None:
    """Topics, then partitions as strings, then numbers; −1 and −2 have a meaning."""
    assert offsets_in('{"orders":{"0":23,"1":-1},"b":{"0":-2}}', "startingOffsets") == {
        ORDERS: 23,
        TopicPartition("orders", 1): -1,
        TopicPartition("b", 0): -2,
    }


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("", "no JSON: Expecting value at character 1"),
        ('{"orders": {"0": 23}', "character 21, between .*(its end)"),
        ('{"orders": {"0": 23,}}', "character 2[01]"),
        ('["orders"]', "an object of topics|a JSON object of topics"),
        ("7", "a JSON object of topics"),
        ('{"orders": 23}', 'at "orders": a topic has an object of partitions'),
        ('{"orders": {"0": "23"}}', r'at "orders"\."0": the offset is a whole number.*"23"'),
        ('{"orders": {"0": 1.5}}', r"a whole number, not 1\.5"),
        ('{"orders": {"0": true}}', "a whole number, not true"),
        ('{"orders": {"0": null}}', "a whole number, not null"),
        ('{"orders": {"0": -3}}', "−1 for latest, −2 for earliest"),
        ('{"orders": {"0": 9223372036854775808}}', "from 0 to"),
        ('{"orders": {"-1": 3}}', 'at "orders": a partition is a number from 0 on.*"-1"'),
        ('{"orders": {"x": 3}}', 'a partition is a number from 0 on.*"x"'),
        ('{"orders": {"4294967296": 3}}', "a partition is a number"),
        ('{"orders": {"0": 3, "0": 4}}', 'has "0" twice'),
        ('{"orders": {"0": 3, "00": 4}}', "partition 0 is there twice"),
        ('{"a": {"0": 3}, "a": {"1": 4}}', 'has "a" twice'),
        ('{"a b": {"0": 3}}', 'at "a b": a topic has up to 249 letters'),
        ("[" * 100_000, "nested too deeply"),
        ('{"orders": {"0": ' + "9" * 5000 + "}}", "a number too long"),
        ('{"orders": {"0": NaN}}', "a whole number, not NaN"),
    ],
)
def test_what_is_no_offsets_is_refused_with_its_place(text: str, place: str) -> None:
    """The option, where in its text, and what would be right there."""
    with pytest.raises(ConfigException, match=place) as caught:
        offsets_in(text, "startingOffsets")
    assert str(caught.value).startswith("startingOffsets")
    assert len(str(caught.value)) < 400


def test_times_are_no_offsets() -> None:
    """−1 and −2 mean nothing among them."""
    assert moments_in('{"orders":{"0":1700000000000}}', "x") == {ORDERS: 1700000000000}
    with pytest.raises(ConfigException, match=r"endingOffsetsByTimestamp, at .*the time is"):
        moments_in('{"orders":{"0":-1}}', "endingOffsetsByTimestamp")


def test_assign_names_partitions_by_topic() -> None:
    """In the order in which they are named."""
    assert partitions_in('{"b": [1, 0], "a": [2]}', "assign") == [
        TopicPartition("b", 1),
        TopicPartition("b", 0),
        TopicPartition("a", 2),
    ]


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("{}", "names no partition"),
        ('{"a": []}', 'at "a": a topic has a list'),
        ('{"a": 0}', 'at "a": a topic has a list'),
        ('{"a": [-1]}', "a number from 0 on, not -1"),
        ('{"a": ["0"]}', "a number from 0 on"),
        ('{"a": [true]}', "a number from 0 on, not true"),
        ('{"a": [1, 1]}', "names a-1 twice"),
        ('{"a/b": [1]}', "a topic has up to 249"),
    ],
)
def test_what_is_no_assignment_is_refused(text: str, why: str) -> None:
    """With the name of the option."""
    with pytest.raises(ConfigException, match=f"assign.*{why}"):
        partitions_in(text, "assign")


def test_the_first_end_of_a_stream_carries_its_start() -> None:
    """`$init` comes and goes; without it the JSON is what Spark's own source writes."""
    first = SourceOffset({ORDERS: 7}, {ORDERS: 3})
    assert first.as_dict() == {"orders": {"0": 7}, "$init": {"orders": {"0": 3}}}
    assert SourceOffset.of(first.to_json(), "offsets/0") == first
    later = SourceOffset({ORDERS: 9})
    assert later.to_json() == '{"orders": {"0": 9}}'
    assert SourceOffset.of(later.as_dict(), "offsets/1") == later


def test_a_word_of_a_later_version_is_passed_over() -> None:
    """A query can go back by a version of ours."""
    read = SourceOffset.of('{"orders": {"0": 7}, "$epochs": [1]}', "offsets/0")
    assert read == SourceOffset({ORDERS: 7})


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ('{"orders": {"0": -1}}', 'offsets/3, at "orders"."0": the offset is .*: -1'),
        ('{"orders": {"0": 7}, "$init": 3}', r"offsets/3, at \$init: there is an object"),
        ('{"orders": {"0": 7}, "$init": {"orders": {"0": -2}}}', r"\$init, at \"orders\""),
    ],
)
def test_a_checkpoint_has_only_offsets_that_are_resolved(text: str, why: str) -> None:
    """Neither −1 nor −2 can be the end of a batch."""
    with pytest.raises(ConfigException, match=why):
        SourceOffset.of(text, "offsets/3")


@given(OFFSETS, st.none() | OFFSETS)
def test_offsets_survive_the_checkpoint(
    ends: dict[TopicPartition, int], start: dict[TopicPartition, int] | None
) -> None:
    """Written and read again they are equal, and equal offsets are equal text."""
    offset = SourceOffset(ends, start)
    assert SourceOffset.of(offset.to_json(), "offsets/0") == offset
    assert SourceOffset.of(json.loads(offset.to_json()), "offsets/0") == offset
    assert to_json(ends) == to_json(dict(reversed(ends.items())))
    assert offsets_in(to_json(ends), "startingOffsets") == ends


@given(
    st.text(max_size=40)
    | st.from_regex(r'\{"[a$"]{0,3}":\s?[{}\[\]0-9."-]{0,9}', fullmatch=True)
    | st.from_regex(r'\{"a":\s?\{"-?[0-9]{1,2}":\s?-?[0-9]{1,2}\}\}', fullmatch=True)
)
def test_no_text_ends_otherwise_than_in_offsets_or_their_error(text: str) -> None:
    """For any text there."""
    try:
        found = offsets_in(text, "startingOffsets")
    except ConfigException:
        return
    assert all(number >= -2 for number in found.values())
