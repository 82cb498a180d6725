"""The turns of phrase that the APIs share: −1 and None, milliseconds, topics.

Thread: any; pure functions.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import Final, TypeVar
from uuid import UUID

from prokurist.network_thread.wire.failures import Malformed
from prokurist.network_thread.wire.request import Body
from prokurist.types import Node, TopicPartition

T = TypeVar("T")


LONGEST_TEXT: Final = 1000
"""Characters of a broker's own words that errors and lines of the log repeat."""
LONGEST_HOST: Final = 255
"""Of a name that any resolver takes."""


DUMPED: Final = "Request Request("
"""Beginning of messages that name the operation that is not allowed behind all of a request's
fields: session, connections, buffers."""


def said(text: str | None) -> str | None:
    """A broker's error message, cut to a readable length; of a dumped request its end alone."""
    if text is not None and text.startswith(DUMPED):
        text = f"the request {text[text.rfind(')') + 1 :].strip()}"
    return text if text is None or len(text) <= LONGEST_TEXT else f"{text[:LONGEST_TEXT]}…"


def known(number: int) -> int | None:
    """An epoch, id or offset of an answer; None for −1."""
    return number if number >= 0 else None


def or_minus_one(number: int | None) -> int:
    """An epoch of a request; −1 for None."""
    return -1 if number is None else number


def seconds(milliseconds: int) -> float:
    """A duration of an answer in seconds; a negative one counts as 0."""
    return max(0, milliseconds) / 1000


def milliseconds(duration: float) -> int:
    """A duration of a request in milliseconds."""
    return round(duration * 1000)


def throttle(body: Body) -> float:
    """The throttle time of an answer in seconds; 0 in old versions."""
    return seconds(body.get("throttle_time", 0))


def node(node_id: int, host: str, port: int, rack: str | None = None) -> Node:
    """Make a node of a broker's fields, checked.

    Raises:
        Malformed: Its id would pass for a bootstrap address (those are negative),
            or the operating system would refuse its address with an exception of
            its own.
    """
    if node_id < 0 or not 0 < len(host) <= LONGEST_HOST or not 0 <= port <= 65535:
        shown = f"{host[:LONGEST_HOST]!r}{'…' if len(host) > LONGEST_HOST else ''}"
        raise Malformed(f"broker {node_id} cannot be at {shown}, port {port}")
    return Node(node_id, host, port, rack)


def the_only(rows: tuple[T, ...], what: str) -> T:
    """The only row of an array with one requested element."""
    if len(rows) != 1:
        raise Malformed(f"{len(rows)} {what} where one was asked for")
    return rows[0]


def by_topic(rows: Iterable[tuple[TopicPartition, T]]) -> dict[str, list[tuple[int, T]]]:
    """Group rows of partitions by topic, in the order they came in."""
    topics: dict[str, list[tuple[int, T]]] = {}
    for (topic, partition), row in rows:
        topics.setdefault(topic, []).append((partition, row))
    return topics


def by_partition(
    topics: Iterable[Body], topic_ids: Mapping[str, UUID] | None = None
) -> Iterator[tuple[TopicPartition, Body]]:
    """Flatten the protocol's rows of topics to rows of partitions.

    Args:
        topics: Rows with a `name` or a `topic_id`, and `partitions`.
        topic_ids: The ids that the request was sent with.

    Raises:
        Malformed: A topic id that we did not send.
    """
    names = {topic_id: name for name, topic_id in (topic_ids or {}).items()}
    for row in topics:
        topic = row["name"] if "name" in row else names.get(row["topic_id"])
        if topic is None:
            raise Malformed(f"topic id {row['topic_id']} was not asked for")
        for partition in row["partitions"]:
            yield TopicPartition(topic, partition["partition_index"]), partition
