"""One blocking connection to a broker, for the harness's own questions.

It speaks through kio by itself and shares nothing with the client under test: a
mistake in one must not be made up for by the same mistake in the other.

Thread: the one that made the connection.
Invariants: every exchange has a deadline; after a failed one the connection is
closed, since what comes next on it could be the late answer.
"""

import io
import itertools
import socket
import struct
from types import TracebackType
from typing import Any, Final, Self, TypeVar

from kio.schema.api_versions.v0.request import ApiVersionsRequest
from kio.schema.api_versions.v0.response import ApiVersionsResponse
from kio.serial import entity_reader, entity_writer
from kio.serial.errors import SerialError
from kio.static.primitive import i32
from kio.static.protocol import RequestPayload, ResponsePayload

from prokurist.events.clock import Clock, Deadline
from prokurist.testing.kafka.errors import AdminFailed
from prokurist.testing.kafka.ports import Address

CLIENT_ID: Final = "prokurist-testing"
_LENGTH: Final = struct.Struct(">i")
_LARGEST_ANSWER: Final = 64 * 1024 * 1024

Answer = TypeVar("Answer", bound=ResponsePayload)


class BrokerConnection:
    """A socket to one broker, and the versions that the broker understands."""

    def __init__(self, address: Address, deadline: Deadline, clock: Clock) -> None:
        """Connect and ask for the broker's versions.

        Raises:
            AdminFailed: There is no answer by the deadline.
        """
        self._address = address
        self._clock = clock
        self._correlations = itertools.count(1)
        self._versions: dict[int, tuple[int, int]] = {}
        try:
            self._socket = socket.create_connection(address, self._seconds_left(deadline))
        except OSError as error:
            raise AdminFailed(f"{address} cannot be reached: {error}") from error
        try:
            answer = self.exchange(ApiVersionsRequest(), ApiVersionsResponse, deadline)
        except BaseException:
            self.close()
            raise
        self._versions = {
            int(api.api_key): (int(api.min_version), int(api.max_version))
            for api in answer.api_keys
        }

    def __repr__(self) -> str:
        return f"BrokerConnection({self._address}, apis={len(self._versions)})"

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    @property
    def address(self) -> Address:
        """Whom this connection leads to."""
        return self._address

    @property
    def versions(self) -> dict[int, tuple[int, int]]:
        """The oldest and newest version of each API key that the broker understands."""
        return dict(self._versions)

    def understands(self, request: type[RequestPayload]) -> bool:
        """True if the broker supports the request in this version."""
        oldest, newest = self._versions.get(int(request.__api_key__), (0, -1))
        return oldest <= int(request.__version__) <= newest

    def exchange(
        self, request: RequestPayload, answer: type[Answer], deadline: Deadline
    ) -> Answer:
        """Send one request and read its answer.

        Args:
            request: A request in one version, supported by the broker.
            answer: The response class of the same API and version.
            deadline: When to give up.

        Raises:
            AdminFailed: The broker does not know the version, closed the connection,
                sent something else, or did not answer by the deadline.
        """
        if self._versions and not self.understands(type(request)):
            oldest, newest = self._versions.get(int(request.__api_key__), (0, -1))
            raise AdminFailed(
                f"{self._address} does not take {type(request).__name__} "
                f"v{request.__version__}: it has v{oldest} to v{newest}",
                code="UNSUPPORTED_VERSION",
            )
        try:
            return self._exchange(request, answer, deadline)
        except TimeoutError as error:
            self.close()
            raise AdminFailed(
                f"{self._address} did not answer {type(request).__name__} by the deadline"
            ) from error
        except (OSError, SerialError, ValueError) as error:
            self.close()
            raise AdminFailed(
                f"{self._address} did not answer {type(request).__name__}: {error}"
            ) from error

    def close(self) -> None:
        """Close the socket; may be called twice."""
        self._socket.close()

    def _exchange(
        self, request: RequestPayload, answer: type[Answer], deadline: Deadline
    ) -> Answer:
        correlation = next(self._correlations)
        frame = _frame(request, correlation)
        self._socket.settimeout(self._seconds_left(deadline))
        self._socket.sendall(frame)
        (length,) = _LENGTH.unpack(self._read(_LENGTH.size, deadline))
        if not 0 < length <= _LARGEST_ANSWER:
            raise ValueError(f"an answer of {length} bytes")
        body = self._read(length, deadline)
        header_class: Any = answer.__header_schema__
        header, at = entity_reader(header_class)(body, 0)
        if header.correlation_id != correlation:
            raise ValueError(f"answer {header.correlation_id} to request {correlation}")
        value, _ = entity_reader(answer)(body, at)
        return value

    def _read(self, count: int, deadline: Deadline) -> bytes:
        pieces = []
        while count:
            self._socket.settimeout(self._seconds_left(deadline))
            piece = self._socket.recv(min(count, 1 << 16))
            if not piece:
                raise ConnectionError("the broker closed the connection")
            pieces.append(piece)
            count -= len(piece)
        return b"".join(pieces)

    def _seconds_left(self, deadline: Deadline) -> float:
        remaining = deadline.remaining(self._clock.now())
        if remaining <= 0:
            # A socket's timeout of zero would mean "do not block", which is another thing.
            raise TimeoutError("the deadline has come")
        return min(remaining, 3600.0)


def _frame(request: RequestPayload, correlation: int) -> bytes:
    header_class: Any = request.__header_schema__
    header = header_class(
        request_api_key=request.__api_key__,
        request_api_version=request.__version__,
        correlation_id=i32(correlation),
        client_id=CLIENT_ID,
    )
    body = io.BytesIO()
    entity_writer(header_class)(body, header)
    entity_writer(type(request))(body, request)
    return _LENGTH.pack(body.tell()) + body.getvalue()
