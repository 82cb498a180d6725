"""Stand-ins on loopback for the services of clouds, by their documented protocols.

Each refuses what the real one refuses: another method, and a missing header or field.
"""

import json
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlsplit

SECRET = "can4ry-5ecret"  # noqa: S105 - made up
"""In each credential that they give."""

LIFE = 3600


def iso(at: float) -> str:
    """A moment as Amazon writes it."""
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(at))


class StandIn:
    """All services in one server.

    Attributes:
        url: Where it answers.
        asked: Each request: method and path.
        number: How many credentials it has given.
        now: The time of day there.
        status: The status of each answer; None for the usual.
        is_silent: True to answer nothing.
        body: The body of each answer; None for the usual.
    """

    def __init__(self) -> None:
        self.url = ""
        self.asked: list[str] = []
        self.number = 0
        self.now: Callable[[], float] = time.time
        self.status: int | None = None
        self.is_silent = False
        self.body: bytes | None = None
        self.ends = threading.Event()

    def amazon(self) -> dict[str, Any]:
        """Temporary credentials in JSON."""
        self.number += 1
        return {
            "AccessKeyId": f"ASIA{self.number}",
            "SecretAccessKey": f"{SECRET}/{self.number}",
            "Token": f"{SECRET}+{self.number}",
            "Expiration": iso(self.now() + LIFE),
        }

    def token(self) -> str:
        """An opaque token."""
        self.number += 1
        return f"{SECRET}-{self.number}"

    def sts(self, form: dict[str, str]) -> str:
        """The answer of STS."""
        made = self.amazon()
        action = form["Action"]
        return (
            f'<{action}Response xmlns="https://sts.amazonaws.com/doc/2011-06-15/">'
            f"<{action}Result><AssumedRoleUser><Arn>{form['RoleArn']}</Arn></AssumedRoleUser>"
            f"<Credentials><AccessKeyId>{made['AccessKeyId']}</AccessKeyId>"
            f"<SecretAccessKey>{made['SecretAccessKey']}</SecretAccessKey>"
            f"<SessionToken>{made['Token']}</SessionToken>"
            f"<Expiration>{made['Expiration']}</Expiration></Credentials>"
            f"</{action}Result></{action}Response>"
        )

    def answered(
        self, method: str, target: str, headers: Any, body: bytes
    ) -> tuple[int, bytes]:
        """A status and a body."""
        parts = urlsplit(target)
        query = {name: each[0] for name, each in parse_qs(parts.query).items()}
        form = {name: each[0] for name, each in parse_qs(body.decode()).items()}
        self.asked.append(f"{method} {parts.path} {form.get('Action', '')}".strip())
        if self.is_silent:
            self.ends.wait()
        if self.status is not None or self.body is not None:
            refusal = b'{"error": "invalid_request", "error_description": "as the test has it"}'
            return self.status or 200, refusal if self.body is None else self.body
        found = self.found(method, parts.path, query, form, headers)
        if found is None:
            return 400, b"{}"
        return 200, (found if isinstance(found, str) else json.dumps(found)).encode()

    def found(
        self, method: str, path: str, query: dict[str, str], form: dict[str, str], headers: Any
    ) -> Any:
        """The answer of a place; None for a request that the real service refuses."""
        match method, path:
            case "PUT", "/latest/api/token" if headers["X-aws-ec2-metadata-token-ttl-seconds"]:
                return f"{SECRET}=session"
            case "GET", "/latest/meta-data/iam/security-credentials/":
                return self._in_session(headers, "the-role")
            case "GET", "/latest/meta-data/iam/security-credentials/the-role":
                return self._in_session(headers, {"Code": "Success", **self.amazon()})
            case "GET", "/v1/credentials" if headers["Authorization"] == f"{SECRET}-pod":
                return self.amazon()
            case "POST", "/" if form.get("Version") == "2011-06-15":
                if form["Action"] == "AssumeRoleWithWebIdentity":
                    return (
                        self.sts(form) if form["WebIdentityToken"] == f"{SECRET}.jwt" else None
                    )
                scope = (
                    "/eu-west-1/sts/aws4_request, SignedHeaders=content-type;host;x-amz-date"
                )
                return self.sts(form) if scope in headers["Authorization"] else None
            case "GET", "/metadata/identity/oauth2/token" if headers["Metadata"] == "true":
                if query["api-version"] != "2018-02-01" or not query["resource"]:
                    return None
                token, ends = self.token(), int(self.now() + LIFE)
                return {"access_token": token, "expires_in": "3599", "expires_on": str(ends)}
            case "GET", "/msi/token" if headers["X-IDENTITY-HEADER"] == f"{SECRET}-header":
                if query["api-version"] != "2019-08-01" or not query["resource"]:
                    return None
                ends = int(self.now() + LIFE)
                return {"access_token": self.token(), "expires_on": str(ends)}
            case "POST", "/the-tenant/oauth2/v2.0/token":
                if (
                    form.get("client_assertion") != f"{SECRET}.jwt"
                    or form.get("grant_type") != "client_credentials"
                    or not form.get("client_assertion_type", "").endswith("jwt-bearer")
                ):
                    return None
                return {"access_token": self.token(), "expires_in": LIFE}
        if (
            not path.startswith("/computeMetadata/v1/")
            or headers["Metadata-Flavor"] != "Google"
        ):
            return None
        if path.endswith("/service-accounts/default/email"):
            return "robot@shop.iam.gserviceaccount.com"
        if path.endswith("/service-accounts/default/token"):
            return {"access_token": self.token(), "expires_in": LIFE, "token_type": "Bearer"}
        return None

    def _in_session(self, headers: Any, found: Any) -> Any:
        return found if headers["X-aws-ec2-metadata-token"] == f"{SECRET}=session" else None


@contextmanager
def standing_in() -> Iterator[StandIn]:
    """Stand-ins that answer until the block ends."""
    services = StandIn()

    class Handler(BaseHTTPRequestHandler):
        def answer(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
            status, told = services.answered(self.command, self.path, self.headers, body)
            try:
                self.send_response(status)
                self.send_header("Content-Length", str(len(told)))
                self.end_headers()
                self.wfile.write(told)
            except OSError:
                return

        do_GET = do_POST = do_PUT = answer  # noqa: N815 - as it is there

        def log_message(self, format: str, *args: Any) -> None:  # noqa: A002
            """Print nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    services.url = f"http://127.0.0.1:{server.server_address[1]}"
    thread = threading.Thread(target=server.serve_forever, args=(0.02,))
    thread.start()
    try:
        yield services
    finally:
        services.ends.set()
        server.shutdown()
        thread.join()
        server.server_close()
