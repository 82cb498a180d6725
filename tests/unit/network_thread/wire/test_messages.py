"""Every message in every version, against kio's own reader and writer."""

import struct
from typing import TYPE_CHECKING, Any

import pytest
from kio.schema.join_group.v9.request import JoinGroupRequest
from kio.schema.metadata.v13.request import MetadataRequest
from kio.serial import entity_reader

from prokurist.network_thread.wire import apis
from prokurist.network_thread.wire.classic_group import JoinGroup
from prokurist.network_thread.wire.codec import correlation_id, decode, encode
from prokurist.network_thread.wire.failures import MalformedAnswer
from prokurist.network_thread.wire.metadata import Metadata

if TYPE_CHECKING:
    from tests.unit.network_thread.wire.conftest import Case
    from tests.unit.network_thread.wire.exchange import Exchange


BODY = 4 + 8 + 2 + 1
"""Where the body of a flexible request begins that has no client id: length, head, id, tags."""


def plain(value: Any) -> Any:
    """A value that kio read, as dicts, tuples and milliseconds."""
    if isinstance(value, tuple):
        return tuple(map(plain, value))
    if hasattr(value, "total_seconds"):
        return round(value.total_seconds() * 1000)
    names = getattr(value, "__slots__", None)
    if hasattr(value, "__version__") and names is not None:
        return {name: plain(getattr(value, name)) for name in names}
    return value


def only(names: Any, values: Any) -> Any:
    """The part of a body that a version has a field for."""
    if isinstance(names, dict):
        return {name: only(names[name], values[name]) for name in names}
    if isinstance(names, tuple) and isinstance(values, tuple):
        assert len(names) == len(values)
        return tuple(map(only, names, values))
    return values


def test_a_request_is_what_the_broker_reads(case: "Case") -> None:
    """Each field that a version has arrives, its header too, and nothing follows."""
    frame = bytes(encode(case.request, case.version, 77, "tester"))
    cls = case.kio("request")
    header, at = entity_reader(cls.__header_schema__)(frame, 4)
    body, end = entity_reader(cls)(frame, 4 + at)

    assert struct.unpack_from(">i", frame) == (len(frame) - 4,)
    assert 4 + at + end == len(frame)
    assert (header.request_api_key, header.request_api_version) == (
        case.request.api.key,
        case.version,
    )
    assert (header.correlation_id, header.client_id) == (77, "tester")
    read = plain(body)
    assert read == only(read, case.exchange.sent)


@pytest.mark.parametrize("length", [126, 127, 128, 16_383, 16_384, 20_000])
def test_long_lengths_arrive(length: int) -> None:
    """Where a varint takes a byte more: of a string, of bytes, and of an array."""
    request = JoinGroup(
        "g" * length, tuple((str(each), b"m" * each) for each in (length, 1)), 1.0, 1.0
    )
    read, _ = entity_reader(JoinGroupRequest)(bytes(encode(request, 9, 1, None)), BODY)
    assert read.group_id == request.group_id
    assert [len(each.metadata) for each in read.protocols] == [length, 1]

    asked = Metadata(tuple(map(str, range(length))))
    known, _ = entity_reader(MetadataRequest)(bytes(encode(asked, 13, 1, None)), BODY)
    assert len(known.topics or ()) == length


def test_an_answer_is_what_the_broker_wrote(case: "Case") -> None:
    """Each field that a version has comes out, and the others say that they are missing."""
    frame = case.frame()
    assert correlation_id(frame) == 77
    for form in (frame, bytearray(frame), memoryview(frame), memoryview(bytearray(frame))):
        assert decode(case.request, case.version, form) == case.expected


def test_an_unknown_code_is_a_code(case: "Case") -> None:
    """An error code from a newer Kafka loses nothing, wherever it stands."""
    for path in case.codes():
        # Two answers that differ in this one code show where it stands.
        none, some = case.frame(path, 0), case.frame(path, 100)
        at = next(i for i, (a, b) in enumerate(zip(none, some, strict=True)) if a != b) - 1
        for code in (32000, -32000):
            frame = none[:at] + struct.pack(">h", code) + none[at + 2 :]
            assert str(code) in repr(decode(case.request, case.version, frame)), path


def test_an_answer_ends_where_its_frame_ends(case: "Case") -> None:
    """Every truncation, and every byte too many, is malformed and says of what."""
    frame = case.frame()
    name = rf"{case.request.api.name} {case.version}, \d+ bytes"
    for size in range(4, len(frame)):
        with pytest.raises(MalformedAnswer, match=name):
            decode(case.request, case.version, frame[:size])
    with pytest.raises(MalformedAnswer, match=f"{name}.* 1 bytes follow"):
        decode(case.request, case.version, frame + b"\0")


def test_every_version_of_the_table_is_tried(cases: "tuple[Case, ...]") -> None:
    """What the client says it speaks is what these tests speak."""
    tried: dict[apis.Api, Exchange] = {case.request.api: case.exchange for case in cases}
    spoken = {api for api in vars(apis).values() if isinstance(api, apis.Api)}

    assert spoken == set(tried)
    for api, exchange in tried.items():
        assert exchange.versions == range(api.oldest, api.newest + 1)
