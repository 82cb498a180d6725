"""Spark's JSON of offsets: `{"orders": {"0": 42}}`, as options and checkpoints have it.

Thread: any; pure functions and one frozen value.
Invariants: input is checked as a whole, and a fault is named with its place in the text. Output
is sorted, so that equal offsets are equal text.

A key that begins with `$` is no topic, as names cannot hold that sign: it is a word of ours.
`$init` stands in the first end of a stream with its start, which Spark itself does not keep; it
stands again in an end that resolves the deferred start of a partition. `$deferred` has the
partitions with an unresolved start; see `deferred_starts`. Unknown words are passed over: they
are a later version's.
"""

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import field
from typing import Any, Final

from prokurist.errors import ConfigException
from prokurist.lazy_dataclasses import dataclass
from prokurist.types import TopicPartition

EARLIEST: Final = -2
"""In an option: where the log begins."""
LATEST: Final = -1
"""In an option: where the log ends."""
INIT: Final = "$init"
DEFERRED: Final = "$deferred"
LONG_MAX: Final = 2**63 - 1
INT_MAX: Final = 2**31 - 1
TOPIC: Final = re.compile(r"[a-zA-Z0-9._-]{1,249}")
EXAMPLE: Final = '{"orders": {"0": 23, "1": -1}, "payments": {"0": -2}}'


@dataclass(frozen=True, slots=True)
class SourceOffset:
    """The offset of a stream, as Spark stores it.

    Attributes:
        ends: For each partition the offset after the last record that is done.
        start: The offsets at which the stream began; only in its first end, and in an end that
            resolves a deferred start.
        deferred: The partitions with an unresolved start, each with its placeholder.
    """

    ends: Mapping[TopicPartition, int]
    start: Mapping[TopicPartition, int] | None = None
    deferred: Mapping[TopicPartition, int] = field(default_factory=dict)

    @classmethod
    def of(cls, given: str | Mapping[str, Any], name: str) -> "SourceOffset":
        """Read an offset: JSON, or its parsed form.

        Args:
            given: It.
            name: Its name in errors, such as a file.

        Raises:
            ConfigException: It is something else.
        """
        table = parsed(given, name) if isinstance(given, str) else given
        start = table.get(INIT)
        ends = {key: value for key, value in table.items() if not key.startswith("$")}
        return cls(
            numbers(ends, name, least=0),
            None if start is None else numbers(start, f"{name}, at {INIT}", least=0),
            numbers(table.get(DEFERRED, {}), f"{name}, at {DEFERRED}", least=EARLIEST),
        )

    def as_dict(self) -> dict[str, Any]:
        """The offset as a Python source returns it to Spark."""
        table: dict[str, Any] = as_dict(self.ends)
        if self.start is not None:
            table[INIT] = as_dict(self.start)
        if self.deferred:
            table[DEFERRED] = as_dict(self.deferred)
        return table

    def to_json(self) -> str:
        """The offset as JSON, as in a checkpoint."""
        return json.dumps(self.as_dict())


def offsets_in(given: str, name: str) -> dict[TopicPartition, int]:
    """Read the offsets of an option, −1 and −2 among them.

    Args:
        given: The option's value.
        name: The option's name.

    Raises:
        ConfigException: It is something else.
    """
    return numbers(parsed(given, name), name, least=EARLIEST)


def moments_in(given: str, name: str) -> dict[TopicPartition, int]:
    """Read the times of an option, in milliseconds since the epoch.

    Raises:
        ConfigException: It is something else.
    """
    return numbers(parsed(given, name), name, least=0, noun="time")


def partitions_in(given: str, name: str) -> list[TopicPartition]:
    """Read the partitions of the option `assign`: `{"orders": [0, 1]}`.

    Raises:
        ConfigException: It is something else.
    """
    found: list[TopicPartition] = []
    for topic, parts in parsed(given, name).items():
        place = f"{name}, at {json.dumps(topic)}"
        check_topic(topic, place)
        if not isinstance(parts, list) or not parts:
            raise ConfigException(
                f"{place}: a topic has a list of its partitions, such as [0, 1], not "
                f"{shortly(parts)}"
            )
        for part in parts:
            if isinstance(part, bool) or not isinstance(part, int) or not 0 <= part <= INT_MAX:
                raise ConfigException(
                    f"{place}: a partition is a number from 0 on, not {shortly(part)}"
                )
            found.append(TopicPartition(topic, part))
    if not found:
        raise ConfigException(f'{name} names no partition: write {{"orders": [0, 1]}}')
    if len(set(found)) < len(found):
        twice = next(tp for tp in found if found.count(tp) > 1)
        raise ConfigException(f"{name} names {twice} twice: name each partition once")
    return found


def to_json(offsets: Mapping[TopicPartition, int]) -> str:
    """Offsets as the JSON of an option."""
    return json.dumps(as_dict(offsets))


def as_dict(offsets: Mapping[TopicPartition, int]) -> dict[str, dict[str, int]]:
    """The nested tables of that JSON, topics and partitions in order."""
    table: dict[str, dict[str, int]] = {}
    for (topic, number), offset in sorted(offsets.items()):
        table.setdefault(topic, {})[str(number)] = offset
    return table


def parsed(text: str, name: str) -> dict[str, Any]:
    """Parse a JSON object without repeated keys.

    Raises:
        ConfigException: The text is none.
    """

    def once(pairs: Iterable[tuple[str, Any]]) -> dict[str, Any]:
        table: dict[str, Any] = {}
        for key, value in pairs:
            if key in table:
                raise ConfigException(f"{name} has {json.dumps(key)} twice: write it once")
            table[key] = value
        return table

    try:
        found = json.loads(text, object_pairs_hook=once)
    except json.JSONDecodeError as error:
        before = text[max(0, error.pos - 12) : error.pos]
        after = text[error.pos : error.pos + 12] or "(its end)"
        raise ConfigException(
            f"{name} is no JSON: {error.msg} at character {error.pos + 1}, between "
            f"{before!r} and {after!r}. Write it like {EXAMPLE}"
        ) from None
    except RecursionError:
        raise ConfigException(f"{name} is nested too deeply. Write it like {EXAMPLE}") from None
    except ConfigException:
        raise
    except ValueError:
        # Python reads no number of more than some thousand digits.
        raise ConfigException(
            f"{name} has a number too long. Write it like {EXAMPLE}"
        ) from None
    if not isinstance(found, dict):
        raise ConfigException(
            f"{name} is a JSON object of topics, such as {EXAMPLE}, not {shortly(found)}"
        )
    return found


def numbers(
    table: object, name: str, *, least: int, noun: str = "offset"
) -> dict[TopicPartition, int]:
    """Read a number for each partition from tables by topic and partition.

    Raises:
        ConfigException: Something is no table, no partition or no number.
    """
    found: dict[TopicPartition, int] = {}
    if not isinstance(table, Mapping):
        raise ConfigException(
            f"{name}: there is an object of topics, such as {EXAMPLE}, not {shortly(table)}"
        )
    for topic, parts in table.items():
        place = f"{name}, at {json.dumps(topic)}"
        check_topic(topic, place)
        if not isinstance(parts, Mapping):
            raise ConfigException(
                f'{place}: a topic has an object of partitions, such as {{"0": 23}}, not '
                f"{shortly(parts)}"
            )
        for key, number in parts.items():
            tp = TopicPartition(topic, partition_of(key, place))
            if tp in found:
                raise ConfigException(f"{place}: partition {tp.partition} is there twice")
            found[tp] = number_of(number, f"{place}.{json.dumps(key)}", least, noun)
    return found


def check_topic(topic: str, place: str) -> None:
    """Raise if a topic cannot have this name."""
    if not TOPIC.fullmatch(topic):
        raise ConfigException(
            f"{place}: a topic has up to 249 letters, digits, dots, dashes and underscores"
        )


def partition_of(key: str, place: str) -> int:
    """Read a partition's number from a JSON key, always a string."""
    if not re.fullmatch(r"[0-9]{1,10}", key) or int(key) > INT_MAX:
        raise ConfigException(
            f'{place}: a partition is a number from 0 on, as a string ("0"), not '
            f"{json.dumps(key)}"
        )
    return int(key)


def number_of(value: object, place: str, least: int, noun: str) -> int:
    """Read an offset or a time."""
    if isinstance(value, bool) or not isinstance(value, int):
        raise ConfigException(f"{place}: the {noun} is a whole number, not {shortly(value)}")
    if not least <= value <= LONG_MAX:
        besides = (
            " (or −1 for latest, −2 for earliest)"
            if least == EARLIEST
            else ", and nothing below it"
            if value < 0
            else ""
        )
        raise ConfigException(
            f"{place}: the {noun} is a number from 0 to 2^63−1{besides}: {value}"
        )
    return value


def shortly(value: object) -> str:
    """A value for an error's text, cut off if it is long."""
    text = json.dumps(value, default=repr)
    return text if len(text) <= 60 else f"{text[:57]}..."
