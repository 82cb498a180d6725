"""Frames: a request to bytes, bytes to its answer.

Thread: any; pure functions. An answer's bytes are not trusted: for any
bytes, `decode` returns or raises `MalformedAnswer`, soon, and with no more memory
than the frame's size accounts for.
"""

import struct
from collections.abc import Mapping
from typing import Final, TypeAlias, TypeVar

from prokurist.errors import UnsupportedVersionException
from prokurist.network_thread.wire.apis import API_VERSIONS, Api
from prokurist.network_thread.wire.failures import Malformed, MalformedAnswer, UnsendableRequest
from prokurist.network_thread.wire.reading import Budget, skip_tagged
from prokurist.network_thread.wire.request import Request
from prokurist.network_thread.wire.schema import message
from prokurist.network_thread.wire.writing import writer_of
from prokurist.twins import chosen

Frame: TypeAlias = bytes | bytearray | memoryview
"""An answer without the length before it."""
AnswerT = TypeVar("AnswerT")

MODULES: Final[Mapping[str, str]] = {
    "native": "prokurist.network_thread.wire._native_reading",
    "python": "prokurist.network_thread.wire.reading",
}
"""The twins that read answers, the preferred one first."""
READING: Final = chosen(MODULES).module

HEADER: Final = struct.Struct(">ihhi")
CORRELATION_ID: Final = struct.Struct(">i")
CODE: Final = struct.Struct(">h")
UNSUPPORTED_VERSION: Final = 35
HEADER_FIELDS: Final = 64
"""Tagged fields of a header; none is defined as yet."""


def prepare(api: Api, version: int) -> None:
    """Prepare the codec of an API before its first use."""
    writer_of(message(api, version, "request"))
    READING.reader_of(message(api, version, "response"))


def encode(
    request: Request[object], version: int, correlation_id: int, client_id: str | None
) -> bytearray:
    """Encode a request as a frame, its length included.

    It is written in one piece: a request may carry a megabyte of records, copied once.

    Args:
        request: The request.
        version: As negotiated for this request.
        correlation_id: The first field of the answer.
        client_id: The `client.id`, where there is one.

    Raises:
        UnsupportedVersionException: The version cannot carry this request; it was
            not negotiated for it.
        UnsendableRequest: A value that the protocol has no room for.
    """
    api = request.api
    if not api.oldest <= version <= api.newest:
        raise UnsupportedVersionException(
            f"{api} has no version {version} here: we speak {api.oldest}–{api.newest}"
        )
    for limit in request.limits():
        if not limit.allows(version):
            raise UnsupportedVersionException(f"{api} {version} cannot carry this: {limit}")
    table = message(api, version, "request")
    try:
        # The client id keeps its old form in flexible headers too: a broker has
        # to read it before it knows whether it knows the version.
        name = None if client_id is None else client_id.encode()
        frame = bytearray(HEADER.size)
        frame += CODE.pack(-1 if name is None else len(name)) + (name or b"")
        if table.header_flexible:
            frame += b"\0"
        writer_of(table)(frame, request.body())
    except (ValueError, OverflowError, struct.error) as error:
        raise UnsendableRequest(f"{api} {version} cannot be written: {error}") from error
    HEADER.pack_into(frame, 0, len(frame) - 4, api.key, version, correlation_id)
    return frame


def correlation_id(frame: Frame) -> int:
    """Read the correlation id of a frame, and no more.

    Raises:
        MalformedAnswer: The frame is shorter than that.
    """
    try:
        (number,) = CORRELATION_ID.unpack_from(frame)
    except struct.error:
        raise MalformedAnswer(f"an answer of {len(frame)} bytes has no header") from None
    return int(number)


def decode(request: Request[AnswerT], version: int, frame: Frame) -> AnswerT:
    """Decode the answer to a request.

    Args:
        request: The request of the answer.
        version: The version it was asked in.
        frame: The answer, without the length before it.

    Raises:
        MalformedAnswer: The frame is no answer to this request.
    """
    data = memoryview(frame).toreadonly()
    if request.api is API_VERSIONS and version > 0 and refuses_version(data):
        # A broker that does not know the version cannot answer in it: it falls
        # back to the oldest form, regardless of the version asked for (KIP-511).
        try:
            return read_answer(request, 0, data)
        except MalformedAnswer:
            pass  # not every broker is Kafka: one may have kept to the form asked
    return read_answer(request, version, data)


def refuses_version(data: memoryview) -> bool:
    """Return True if an ApiVersions answer begins with UNSUPPORTED_VERSION, in any form."""
    at = CORRELATION_ID.size
    return data[at : at + CODE.size] == CODE.pack(UNSUPPORTED_VERSION)


def read_answer(request: Request[AnswerT], version: int, data: memoryview) -> AnswerT:
    """Read an answer in one version, to its last byte."""
    if len(data) > request.api.most_bytes:
        raise MalformedAnswer(
            f"the answer to {request.api} {version}, {len(data)} bytes, is longer than "
            f"{request.api.most_bytes}, the most that is taken"
        )
    table = message(request.api, version, "response")
    at = CORRELATION_ID.size
    try:
        if table.header_flexible:
            at = skip_tagged(data, at, Budget(HEADER_FIELDS))
        body, at = READING.reader_of(table)(data, at, request.api.most_elements)
        # A broker and a client that differ on the end differ on all before it.
        if at == len(data):
            return request.answer(body)
        why = f"{len(data) - at} bytes follow after its end"
    except Malformed as error:
        why = str(error)
    except (struct.error, IndexError):
        why = "it ends too early"
    raise MalformedAnswer(
        f"the answer to {request.api} {version}, {len(data)} bytes, is malformed: {why}"
    )
