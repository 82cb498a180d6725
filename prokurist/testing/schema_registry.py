"""A schema registry on loopback, for tests: the API of Confluent's, as clients use it.

Thread: its own, one for each request; a test may read and set attributes at any time.
"""

import json
import re
import threading
import uuid
from base64 import b64decode, b64encode
from collections.abc import Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, Final, Self
from urllib.parse import unquote

from prokurist.lazy_dataclasses import dataclass
from prokurist.testing.server_tls import server_context

MEDIA_TYPE: Final = "application/vnd.schemaregistry.v1+json"
LOOK: Final = 0.02
"""Seconds between two looks whether the server has to end."""
LONGEST_REQUEST: Final = 8 << 20


@dataclass(frozen=True, slots=True)
class KeptSchema:
    """A schema that was registered.

    Attributes:
        text: As it came.
        kind: `AVRO`, `PROTOBUF` or `JSON`.
        references: As they came.
    """

    text: str
    kind: str
    references: tuple[tuple[str, str, int], ...]

    @property
    def guid(self) -> uuid.UUID:
        """A GUID that is the same for the same schema."""
        return uuid.uuid5(uuid.NAMESPACE_OID, f"{self.kind}{self.text}{self.references}")


class Refused(Exception):
    """An error of the API.

    Args:
        status: The HTTP status.
        code: The registry's own number.
        message: The text.
    """

    def __init__(self, status: int, code: int, message: str) -> None:
        super().__init__(message)
        self.status = status
        self.code = code


class EmbeddedSchemaRegistry:
    """A schema registry in this process; it keeps all in memory.

    Every schema is compatible with every other one, unless its subject is in `incompatible`.

    Args:
        basic: A name and a password that requests need.
        certificate: PEM file with a certificate and its key, to serve `https`.
        client_authority: PEM file of the authority that vouches for clients, which then need
            certificates.

    Attributes:
        url: Where it answers.
        schemas: Each schema; its id is its place, counted from one.
        subjects: The ids of each subject, oldest first.
        asked: Each request so far: its method and its path.
        tokens: Bearer tokens of which requests need one; with None none is needed.
        incompatible: Subjects that take no new schema.
        status: The HTTP status of every answer; with None they are answered as they should.
        is_silent: True to receive requests and answer none.
    """

    def __init__(
        self,
        *,
        basic: tuple[str, str] | None = None,
        certificate: Path | None = None,
        client_authority: Path | None = None,
    ) -> None:
        self.schemas: list[KeptSchema] = []
        self.subjects: dict[str, list[int]] = {}
        self.asked: list[tuple[str, str]] = []
        self.tokens: set[str] | None = None
        self.incompatible: set[str] = set()
        self.status: int | None = None
        self.is_silent = False
        self._basic = basic
        self._lock = threading.Lock()
        self._ends = threading.Event()
        handler = type("Handler", (_Handler,), {"registry": self})
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
        scheme = "http"
        if certificate is not None:
            scheme = "https"
            context = server_context(certificate, client_authority)
            # The handshake is the handler's, at its first read, on a thread of its own.
            self._server.socket = context.wrap_socket(
                self._server.socket, server_side=True, do_handshake_on_connect=False
            )
        self.url: str = f"{scheme}://127.0.0.1:{self._server.server_address[1]}"
        self._thread: threading.Thread | None = None

    def start(self) -> Self:
        """Begin to answer."""
        self._thread = threading.Thread(
            target=self._server.serve_forever, args=(LOOK,), name="prokurist-embedded-registry"
        )
        self._thread.start()
        return self

    def close(self) -> None:
        """End; a second time does nothing."""
        self._ends.set()
        if self._thread is not None:
            self._server.shutdown()
            self._thread.join()
            self._thread = None
        self._server.server_close()

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(self, *_exc: object) -> None:
        self.close()

    # --- for the handler --------------------------------------------------------------------

    def answered(
        self, method: str, path: str, authorization: str | None, body: Any
    ) -> tuple[int, Any]:
        """Answer a request: a status and JSON."""
        with self._lock:
            self.asked.append((method, path))
        if self.is_silent:
            self._ends.wait()
        try:
            self._check(authorization)
            with self._lock:
                return 200, self._found(method, path, body)
        except Refused as error:
            return error.status, {"error_code": error.code, "message": str(error)}

    def _check(self, authorization: str | None) -> None:
        if self.status is not None:
            raise Refused(self.status, self.status * 100, "as the test has it")
        shown = authorization or ""
        if self._basic is not None:
            wanted = b64encode(":".join(self._basic).encode()).decode()
            if shown != f"Basic {wanted}":
                raise Refused(401, 401, "Unauthorized")
        if self.tokens is not None and shown.removeprefix("Bearer ") not in self.tokens:
            raise Refused(401, 401, "Unauthorized")

    def _found(self, method: str, path: str, body: Any) -> Any:
        path, _, query = path.partition("?")
        serialized = "format=serialized" in query
        parts = [unquote(each) for each in path.strip("/").split("/")]
        match method, *parts:
            case "GET", "subjects":
                return sorted(self.subjects)
            case "GET", "subjects", subject, "versions":
                return list(range(1, len(self._ids(subject)) + 1))
            case "GET", "subjects", subject, "versions", version:
                ids = self._ids(subject)
                number = len(ids) if version in ("latest", "-1") else _number(version)
                if not 0 < number <= len(ids):
                    raise Refused(404, 40402, f"Version {version} not found.")
                return self._shown(ids[number - 1], subject, serialized=serialized)
            case "POST", "subjects", subject, "versions":
                return self._shown(self._register(subject, kept_of(body)), subject)
            case "POST", "subjects", subject:
                ids = self._ids(subject)
                kept = kept_of(body)
                if kept not in self.schemas or self.schemas.index(kept) + 1 not in ids:
                    raise Refused(404, 40403, "Schema not found")
                return self._shown(self.schemas.index(kept) + 1, subject)
            case "GET", "schemas", "ids", number:
                found = _number(number)
                if not 0 < found <= len(self.schemas):
                    raise Refused(404, 40403, f"Schema {number} not found")
                return self._shown(found, None, serialized=serialized)
            case "GET", "schemas", "guids", guid:
                guids = [str(each.guid) for each in self.schemas]
                if guid not in guids:
                    raise Refused(404, 40403, f"Schema {guid} not found")
                return self._shown(guids.index(guid) + 1, None, serialized=serialized)
            case "POST", "compatibility", "subjects", subject, "versions", _version:
                self._ids(subject)
                return {"is_compatible": subject not in self.incompatible}
        raise Refused(404, 404, f"HTTP 404 Not Found: {method} {path}")

    def _ids(self, subject: str) -> list[int]:
        if subject not in self.subjects:
            raise Refused(404, 40401, f"Subject '{subject}' not found.")
        return self.subjects[subject]

    def _register(self, subject: str, kept: KeptSchema) -> int:
        for _, other, version in kept.references:
            if version > len(self.subjects.get(other, ())):
                raise Refused(422, 42201, f"No schema reference found for {other}:{version}")
        ids = self.subjects.get(subject, [])
        known = kept in self.schemas and self.schemas.index(kept) + 1 in ids
        if subject in self.incompatible and not known:
            raise Refused(409, 409, f"Schema being registered is incompatible for {subject}")
        if kept not in self.schemas:
            self.schemas.append(kept)
        number = self.schemas.index(kept) + 1
        ids = self.subjects.setdefault(subject, [])
        if number not in ids:
            ids.append(number)
        return number

    def _shown(
        self, number: int, subject: str | None, *, serialized: bool = False
    ) -> dict[str, Any]:
        del serialized  # Protobuf is kept as it came: as a descriptor, by our clients.
        kept = self.schemas[number - 1]
        shown: dict[str, Any] = {"id": number, "guid": str(kept.guid), "schema": kept.text}
        if kept.kind != "AVRO":
            shown["schemaType"] = kept.kind
        if kept.references:
            shown["references"] = [
                {"name": name, "subject": other, "version": version}
                for name, other, version in kept.references
            ]
        if subject is not None:
            version = self.subjects[subject].index(number) + 1
            shown |= {"subject": subject, "version": version}
        return shown

    def __repr__(self) -> str:
        return f"EmbeddedSchemaRegistry({self.url}, {len(self.schemas)} schemas)"


class _Handler(BaseHTTPRequestHandler):
    """Answers for a registry."""

    registry: EmbeddedSchemaRegistry
    protocol_version = "HTTP/1.0"

    def do_GET(self) -> None:
        """Answer a question."""
        self._answer(None)

    def do_POST(self) -> None:
        """Answer a question with a body."""
        size = min(int(self.headers.get("Content-Length", 0)), LONGEST_REQUEST)
        try:
            body = json.loads(self.rfile.read(size))
        except ValueError:
            body = None
        self._answer(body)

    def _answer(self, body: Any) -> None:
        status, told = self.registry.answered(
            self.command, self.path, self.headers.get("Authorization"), body
        )
        text = json.dumps(told).encode()
        try:
            self.send_response(status)
            self.send_header("Content-Type", MEDIA_TYPE)
            self.send_header("Content-Length", str(len(text)))
            self.end_headers()
            self.wfile.write(text)
        except OSError:
            return  # The client has gone.

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - as it is there
        """Print nothing."""


def kept_of(body: Any) -> KeptSchema:
    """Read a schema in a request.

    Raises:
        Refused: There is none, or it is not valid.
    """
    if not isinstance(body, Mapping) or not isinstance(body.get("schema"), str):
        raise Refused(422, 42201, "Empty schema")
    text, kind = body["schema"], body.get("schemaType") or "AVRO"
    references = tuple(
        (each["name"], each["subject"], int(each["version"]))
        for each in body.get("references") or ()
    )
    try:
        if kind == "PROTOBUF":
            b64decode(text, validate=True)
        else:
            json.loads(text)
    except ValueError:
        if kind != "PROTOBUF" or not re.match(r"\s*(syntax|message|package|import)", text):
            raise Refused(422, 42201, "Invalid schema") from None
    return KeptSchema(text, kind, references)


def _number(text: str) -> int:
    if not text.isdecimal():
        raise Refused(422, 42202, f"The specified version '{text}' is not a valid version id.")
    return int(text)
