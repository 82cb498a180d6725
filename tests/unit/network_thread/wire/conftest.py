"""Every API in every version, asked and answered once, in kio's words and in ours.

The tables spell out both sides by hand: `sent` and `answered` are by kio's field
names, `request` and `expected` are ours. kio's own reader and writer stand for
the broker, and nothing of `wire` helps them.
"""

import io
from collections.abc import Iterator
from dataclasses import dataclass, fields, is_dataclass
from datetime import UTC, datetime, timedelta
from importlib import import_module
from types import NoneType
from typing import Any, get_args, get_origin

import pytest
from kio.schema.errors import ErrorCode
from kio.serial import entity_writer

from prokurist.network_thread.wire.request import Request
from tests.unit.network_thread.wire import (
    admin_access_exchanges,
    admin_group_exchanges,
    admin_replica_exchanges,
    admin_topic_exchanges,
    cluster_exchanges,
    fetch_exchanges,
    group_exchanges,
    produce_exchanges,
    sasl_exchanges,
    share_exchanges,
    telemetry_exchanges,
    transaction_exchanges,
)
from tests.unit.network_thread.wire.exchange import Exchange, Fields

Path = tuple[str, ...]


@dataclass(frozen=True)
class Case:
    """An exchange in one version."""

    exchange: Exchange
    version: int

    def __str__(self) -> str:
        # The administrator has questions of its own for some APIs.
        room = "admin-" if ".wire.admin." in type(self.request).__module__ else ""
        return f"{room}{self.exchange.module}-{self.version}"

    @property
    def request(self) -> Request[object]:
        """What is asked, in our words."""
        return self.exchange.request(self.version)

    @property
    def expected(self) -> object:
        """What is answered, in our words."""
        return self.exchange.expected(self.version)

    def kio(self, kind: str) -> Any:
        """The class of kio's for the request or the response."""
        module = import_module(f"kio.schema.{self.exchange.module}.v{self.version}.{kind}")
        name = self.exchange.module.title().replace("_", "") + kind.title()
        return getattr(module, name)

    def frame(self, code_at: Path | None = None, code: int = 0) -> bytes:
        """The broker's answer, written by kio, with one of its codes set."""
        cls = self.kio("response")
        buffer = io.BytesIO()
        entity_writer(cls.__header_schema__)(buffer, cls.__header_schema__(correlation_id=77))
        entity_writer(cls)(buffer, as_kio(cls, self.exchange.answered, code_at, code))
        return buffer.getvalue()

    def codes(self) -> Iterator[Path]:
        """Every place in the answer where an error code stands."""
        return code_paths(self.kio("response"))


def struct_in(annotation: Any) -> tuple[Any, bool]:
    """The structure in a field of kio's, if there is one, and whether it is an array."""
    inner = next((a for a in get_args(annotation) if a is not NoneType), annotation)
    if NoneType not in get_args(annotation):
        inner = annotation
    array = get_origin(inner) is tuple
    inner = get_args(inner)[0] if array else inner
    return (inner if is_dataclass(inner) else None), array


def as_kio(cls: Any, values: Fields, code_at: Path | None = None, code: int = 0) -> Any:
    """A value of kio's from plain ones, by equal names."""
    made: dict[str, Any] = {}
    for field in fields(cls):
        value = values.get(field.name, 0)
        path = code_at[1:] if code_at and code_at[0] == field.name else None
        struct_type, array = struct_in(field.type)
        kind = field.metadata.get("kafka_type", "")
        if kind == "error_code":
            made[field.name] = ErrorCode(code if path == () else value)
        elif kind.startswith("timedelta"):
            made[field.name] = timedelta(milliseconds=value)
        elif kind.startswith("datetime"):
            made[field.name] = datetime.fromtimestamp(value / 1000, tz=UTC)
        elif struct_type is None or value is None:
            made[field.name] = values[field.name]
        elif array:
            made[field.name] = tuple(as_kio(struct_type, row, path, code) for row in value)
        else:
            made[field.name] = as_kio(struct_type, value, path, code)
    return cls(**made)


def code_paths(cls: Any) -> Iterator[Path]:
    """Every path to an error code in a message."""
    for field in fields(cls):
        inner, _ = struct_in(field.type)
        if field.metadata.get("kafka_type") == "error_code":
            yield (field.name,)
        elif inner is not None:
            yield from ((field.name, *path) for path in code_paths(inner))


ALL = (
    cluster_exchanges.EXCHANGES
    + fetch_exchanges.EXCHANGES
    + group_exchanges.EXCHANGES
    + produce_exchanges.EXCHANGES
    + telemetry_exchanges.EXCHANGES
    + transaction_exchanges.EXCHANGES
    + sasl_exchanges.EXCHANGES
    + share_exchanges.EXCHANGES
    + admin_topic_exchanges.EXCHANGES
    + admin_replica_exchanges.EXCHANGES
    + admin_group_exchanges.EXCHANGES
    + admin_access_exchanges.EXCHANGES
)
CASES = tuple(Case(exchange, v) for exchange in ALL for v in exchange.versions)


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Run a test that asks for a `case` once for every API and version."""
    if "case" in metafunc.fixturenames:
        metafunc.parametrize("case", CASES, ids=str)


@pytest.fixture(scope="session")
def cases() -> tuple[Case, ...]:
    """All of them at once, for tests that choose by themselves."""
    return CASES
