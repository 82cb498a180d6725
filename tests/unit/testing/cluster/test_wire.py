"""Frames: what is read, what is refused, and what is imported for it."""

import struct
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from prokurist.testing.cluster.apis import named
from prokurist.testing.cluster.wire import MalformedRequest, decode, encode

if TYPE_CHECKING:
    from tests.unit.testing.cluster.conftest import Lab

IMPORTS = """
import sys
import prokurist.testing
assert not any(name.startswith("kio") for name in sys.modules), "the package is heavy"
import prokurist.testing.broker, prokurist.testing.cluster
versions = [name for name in sys.modules if name.startswith("kio.schema.") and ".v" in name]
print(*sorted(name for name in versions if "_header" not in name))
"""


def test_importing_the_broker_imports_no_version_of_any_api() -> None:
    """A user's test run pays for the versions that are spoken, and for no other."""
    run = subprocess.run(
        [sys.executable, "-c", IMPORTS], capture_output=True, text=True, check=False
    )
    assert run.returncode == 0, run.stderr
    assert run.stdout.split() == []


def test_an_api_that_is_none_is_refused_with_a_hint() -> None:
    """A slip in a name says what was meant."""
    with pytest.raises(ValueError, match="did you mean OffsetCommit"):
        named("OffsetComit")


def test_a_field_that_the_handler_forgot_is_an_error() -> None:
    """A version that needs a field gets it, or nothing goes out at all."""
    with pytest.raises(TypeError, match="'producer_epoch'"):
        encode(named("InitProducerId"), 0, 1, {"throttle_time": 0.0, "error_code": 0})


@pytest.mark.parametrize("code", [32000, 136, -32768])
def test_a_code_that_kio_does_not_know_goes_out_as_it_is(code: int) -> None:
    """The codes of tomorrow can be sent today."""
    values = {"producer_id": 1, "producer_epoch": 0, "throttle_time": 0.0, "error_code": code}
    frame = encode(named("InitProducerId"), 0, 7, values)
    assert struct.unpack_from(">iih", frame) == (7, 0, code)


@pytest.mark.parametrize("frame", [b"", b"\0\3\0\1\0\0\0", b"\0\3\0\1\0\0\0\1\0\x04lab"])
def test_bytes_that_end_too_soon_are_no_request(frame: bytes) -> None:
    """Cut off in the head, in the header, and in the body."""
    with pytest.raises(MalformedRequest):
        decode(frame)


def test_the_head_of_a_request_is_read_in_any_version() -> None:
    """What kio cannot read still has a key, a version and a correlation id."""
    request = decode(struct.pack(">hhi", 3, 99, 5) + b"any bytes")
    assert (request.name, request.version, request.correlation_id) == ("Metadata", 99, 5)
    assert request.body is None
    assert decode(struct.pack(">hhi", 99, 0, 5)).name == "API 99"


def test_bytes_behind_a_request_are_counted(lab: "Lab") -> None:
    """A broker does not mind them; the test of a client does."""
    session = lab.connect()
    session.receive(struct.pack(">hhihi", 18, 0, 1, -1, 0), lab.time.at)
    assert len(lab.cluster.advance(lab.time.at)) == 1
    assert [each.request.left_over for each in lab.control.requests()] == [4]


def test_what_is_no_request_closes_the_connection_and_is_kept(lab: "Lab") -> None:
    """It is reported to the test, since a client sent it."""
    session = lab.connect()
    session.receive(b"\0", lab.time.at)
    [delivery] = lab.cluster.advance(lab.time.at)
    assert delivery.end is not None
    assert [type(each) for each in lab.cluster.failures] == [MalformedRequest]
    assert lab.control.sessions() == 0
