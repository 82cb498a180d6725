"""A cluster model in virtual time, and a client that speaks kio by hand.

Requests are filled here and answers read here without the model's own code, so
that a mistake in its mapping shows.
"""

import io
from collections.abc import Callable
from dataclasses import MISSING, dataclass, fields, is_dataclass
from datetime import timedelta
from importlib import import_module
from typing import Any, get_args

import pytest
from kio.schema.index import schema_name_map
from kio.serial import entity_reader, entity_writer
from kio.serial.errors import OutOfBoundValue
from kio.static.constants import EntityType

from prokurist.testing.cluster import Cluster, Control, Delivery, Session
from prokurist.testing.cluster.apis import ApiName, named
from tests.unit.testing.cluster.described_transactions import DescribedTransactions


class VirtualTime:
    """A clock that stands still until it is told."""

    def __init__(self) -> None:
        self.at = 100.0

    def now(self) -> float:
        """The moment it was set to."""
        return self.at

    def sleep(self, seconds: float) -> None:
        """Let time pass at no cost."""
        self.at += seconds


@dataclass(frozen=True)
class Answer:
    """An answer that was read."""

    correlation_id: int
    body: Any
    left_over: int


class Lab:
    """A cluster, its time, its controls, and connections to it."""

    def __init__(self, nodes: int, topics: dict[str, int], **settings: Any) -> None:
        self.time = VirtualTime()
        self.cluster = Cluster(nodes, topics, **settings)
        self.control = Control(self.cluster, self.time)
        self.asked: dict[tuple[int, int], tuple[str, int]] = {}
        self.numbers = 0

    def connect(self, node: int = 1) -> Session:
        """Open a connection."""
        return self.cluster.connect(node, self.time.at)

    def send(self, session: Session, api: ApiName, version: int, **values: Any) -> int:
        """Send a request; its correlation id."""
        self.numbers += 1
        self.asked[session.number, self.numbers] = (api, version)
        session.receive(request_frame(api, version, self.numbers, values), self.time.at)
        return self.numbers

    def until(self, moment: float) -> list[tuple[float, Delivery]]:
        """Let time pass up to a moment, from one due time to the next."""
        out: list[tuple[float, Delivery]] = []
        while (due := self.cluster.next_due()) is not None and due <= moment:
            self.time.at = max(self.time.at, due)
            out += [(self.time.at, each) for each in self.cluster.advance(self.time.at)]
        self.time.at = max(self.time.at, moment)
        return out

    def pass_by(self, seconds: float) -> list[tuple[float, Delivery]]:
        """Let so many seconds pass."""
        return self.until(self.time.at + seconds)

    def read(self, delivery: Delivery) -> Answer:
        """Read an answer as the version it was asked in."""
        number = int.from_bytes(delivery.frame[:4], signed=True)
        return read_frame(*self.asked[delivery.session.number, number], delivery.frame)

    def ask(self, api: ApiName, version: int, node: int = 1, **values: Any) -> Any:
        """Send one request on a connection of its own, and read the answer at once."""
        session = self.connect(node)
        self.send(session, api, version, **values)
        [delivery] = self.cluster.advance(self.time.at)
        session.close(self.time.at)
        answer = self.read(delivery)
        assert answer.left_over == 0
        assert not self.cluster.failures
        return answer.body


def message(api: str, version: int, kind: EntityType) -> Any:
    """The class that kio has for a message."""
    path: str = schema_name_map[named(api).folder][version][kind]  # type: ignore[index]
    module, _, name = path.partition(":")
    return getattr(import_module(module), name)


def request_frame(api: str, version: int, number: int, values: dict[str, Any]) -> bytes:
    """A request without its length."""
    cls = message(api, version, EntityType.request)
    header = cls.__header_schema__(
        request_api_key=named(api).key,
        request_api_version=version,
        correlation_id=number,
        client_id="lab",
    )
    out = io.BytesIO()
    entity_writer(type(header))(out, header)
    entity_writer(cls)(out, fill(cls, values))
    return out.getvalue()


def read_frame(api: str, version: int, frame: bytes) -> Answer:
    """An answer, read."""
    cls = message(api, version, EntityType.response)
    header, position = entity_reader(cls.__header_schema__)(frame, 0)
    try:
        body, size = entity_reader(cls)(frame, position)
    except OutOfBoundValue:
        if api != "DescribeTransactions":
            raise
        body, size = entity_reader(DescribedTransactions)(frame, position)
    return Answer(header.correlation_id, body, len(frame) - position - size)


def fill(cls: Any, values: dict[str, Any]) -> Any:
    """A struct from what is given, and from nothings for what is not."""
    made: dict[str, Any] = {}
    for field in fields(cls):
        if field.name in values:
            made[field.name] = filled(field.type, values[field.name])
        elif field.default is MISSING:
            made[field.name] = nothing(field)
    return cls(**made)


def filled(declared: Any, value: Any) -> Any:
    """A value in the shape that a field is declared in."""
    inner = struct_in(declared)
    if isinstance(value, list):
        return tuple(fill(inner, each) if inner else each for each in value)
    return fill(inner, value) if isinstance(value, dict) else value


def struct_in(declared: Any) -> Any:
    """The struct somewhere inside a type, if there is one."""
    if is_dataclass(declared):
        return declared
    return next((found for each in get_args(declared) if (found := struct_in(each))), None)


def nothing(field: Any) -> Any:
    """What stands for nothing in a field without a default."""
    if "tuple" in str(field.type):
        return ()
    match field.metadata.get("kafka_type"):
        case "string":
            return ""
        case "bool":
            return False
        case "uuid" | "records":
            return None
        case "timedelta_i32" | "timedelta_i64":
            return timedelta(0)
        case _:
            return 0


@pytest.fixture
def make_lab() -> Callable[..., Lab]:
    """Labs of any size."""
    return Lab


@pytest.fixture
def lab() -> Lab:
    """Three brokers, and a topic of three partitions led by one each."""
    return Lab(3, {"orders": 3})
