"""Kinds of numbers that only messages of administrators have: float64 and uint16."""

import io
import struct
from datetime import timedelta
from importlib import import_module
from typing import Any

import pytest
from kio.schema.errors import ErrorCode
from kio.serial import entity_writer

from prokurist.network_thread.wire import apis, codec
from prokurist.network_thread.wire.schema import message
from prokurist.network_thread.wire.writing import writer_of
from prokurist.twins import chosen

quotas: Any = import_module("kio.schema.describe_client_quotas.v1.response")
quorum: Any = import_module("kio.schema.describe_quorum.v2.response")
READING: Any = chosen(codec.MODULES).module


def written(value: Any) -> memoryview:
    """An answer as kio writes it."""
    out = io.BytesIO()
    entity_writer(type(value))(out, value)
    return memoryview(out.getvalue())


@pytest.mark.parametrize("number", [0.0, 4.5, -1e300, 1048576.0])
def test_quotas_are_read_as_floats(number: float) -> None:
    """A quota is a double on the wire."""
    value = quotas.ValueData(key="producer_byte_rate", value=number)
    entry = quotas.EntryData(entity=(), values=(value,))
    answer = quotas.DescribeClientQuotasResponse(
        throttle_time=timedelta(0),
        error_code=ErrorCode.none,
        error_message=None,
        entries=(entry,),
    )
    data = written(answer)
    read = READING.reader_of(message(apis.DESCRIBE_CLIENT_QUOTAS, 1, "response"))
    body, end = read(data, 0, 100)
    assert body["entries"][0]["values"][0]["value"] == number
    assert end == len(data)


def test_ports_of_controllers_are_read_unsigned() -> None:
    """A port above 32767 is no negative number."""
    listener = quorum.Listener(name="CONTROLLER", host="h", port=65_000)
    answer = quorum.DescribeQuorumResponse(
        error_code=ErrorCode.none,
        error_message=None,
        topics=(),
        nodes=(quorum.Node(node_id=1, listeners=(listener,)),),
    )
    data = written(answer)
    read = READING.reader_of(message(apis.DESCRIBE_QUORUM, 2, "response"))
    body, end = read(data, 0, 100)
    assert body["nodes"][0]["listeners"][0]["port"] == 65_000
    assert end == len(data)


def test_quotas_are_written_as_floats() -> None:
    """And a whole number is one."""
    out = bytearray()
    operation = {"key": "k", "value": 5, "remove": False}
    body = {"entries": [{"entity": (), "ops": (operation,)}], "validate_only": False}
    writer_of(message(apis.ALTER_CLIENT_QUOTAS, 0, "request"))(out, body)
    assert struct.pack(">d", 5.0) in bytes(out)
