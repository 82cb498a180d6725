"""The registration and look-up of a Schema Registry's REST API, on loopback.

What confluent-kafka's serializers ask of it, and no more: schemas have an id and a guid, and
every version is compatible.
"""

import json
import re
import threading
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, ClassVar


@dataclass
class Registry:
    """What was registered.

    Attributes:
        url: Where it answers.
        schemas: Each schema, by its id less one.
        subjects: The ids of each subject, oldest first.
        asked: Each request: its method and its path.
    """

    url: str = ""
    schemas: list[str] = field(default_factory=list)
    subjects: dict[str, list[int]] = field(default_factory=dict)
    asked: list[tuple[str, str]] = field(default_factory=list)

    def answer(self, method: str, path: str, body: dict[str, Any]) -> dict[str, Any] | None:
        """What a request is answered; None where there is no such thing."""
        self.asked.append((method, path))
        path = path.partition("?")[0]
        if found := re.fullmatch(r"/subjects/([^/]+)(/versions)?", path):
            subject, new = found.groups()
            if new:
                return self.described(self._register(subject, body["schema"]), subject)
            if body["schema"] in self.schemas:
                return self.described(self.schemas.index(body["schema"]) + 1, subject)
        if found := re.fullmatch(r"/schemas/ids/(\d+)", path):
            number = int(found[1])
            return self.described(number) if 0 < number <= len(self.schemas) else None
        if found := re.fullmatch(r"/schemas/guids/([0-9a-f-]+)", path):
            guids = [str(guid_of(each)) for each in self.schemas]
            return self.described(guids.index(found[1]) + 1) if found[1] in guids else None
        return None

    def _register(self, subject: str, schema: str) -> int:
        if schema not in self.schemas:
            self.schemas.append(schema)
        number = self.schemas.index(schema) + 1
        ids = self.subjects.setdefault(subject, [])
        if number not in ids:
            ids.append(number)
        return number

    def described(self, number: int, subject: str | None = None) -> dict[str, Any]:
        """A schema as the API shows it."""
        schema = self.schemas[number - 1]
        shown = {"id": number, "guid": str(guid_of(schema)), "schema": schema}
        if subject is not None:
            version = self.subjects[subject].index(number) + 1
            shown |= {"subject": subject, "version": version}
        return shown


def guid_of(schema: str) -> uuid.UUID:
    """A guid that is the same for the same schema."""
    return uuid.uuid5(uuid.NAMESPACE_OID, schema)


class Handler(BaseHTTPRequestHandler):
    """Answers for a registry."""

    registry: ClassVar[Registry]

    def do_GET(self) -> None:
        """Look something up."""
        self._answer({})

    def do_POST(self) -> None:
        """Register a schema, or look it up by itself."""
        self._answer(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))

    def _answer(self, body: dict[str, Any]) -> None:
        shown = self.registry.answer(self.command, self.path, body)
        status = 404 if shown is None else 200
        text = json.dumps(shown or {"error_code": 40403, "message": "not found"}).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/vnd.schemaregistry.v1+json")
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - as it is there
        """Nothing is printed."""


@contextmanager
def registry() -> Iterator[Registry]:
    """A registry that answers until the block ends."""
    kept = Registry()
    handler = type("OwnHandler", (Handler,), {"registry": kept})
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    kept.url = f"http://127.0.0.1:{server.server_address[1]}"
    thread = threading.Thread(target=server.serve_forever, args=(0.05,))
    thread.start()
    try:
        yield kept
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
