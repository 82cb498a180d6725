"""Sends a question to one server of a registry, once.

Thread: a look-up's.
"""

import http.client
import json
import ssl
from collections.abc import Callable, Mapping
from typing import Final

from prokurist.errors import SaslAuthenticationException, SchemaRefusedException
from prokurist.network_thread.io.http_exchange import (
    BoundedResponse,
    HttpLimits,
    connection_to,
    exchange,
)
from prokurist.registry.asking import Answer, Question, Unanswered
from prokurist.registry.credentials import Credentials
from prokurist.version import VERSION

LONGEST_ANSWER: Final = 8 << 20
"""Bytes of an answer that are read: a schema with all its text."""
LONGEST_REASON: Final = 200
MEDIA_TYPE: Final = "application/vnd.schemaregistry.v1+json"


class LongResponse(BoundedResponse):
    """An answer that may hold a schema of some megabytes."""

    bound = 2 * LONGEST_ANSWER


class Sending:
    """See `asking.Send`.

    Args:
        credentials: Credentials of each request.
        headers: Headers of each request.
        context: Makes the TLS of a connection.
    """

    def __init__(
        self,
        credentials: Credentials,
        headers: Mapping[str, str],
        context: Callable[[], ssl.SSLContext],
    ) -> None:
        self._credentials = credentials
        self._headers = headers
        self._context = context

    def __call__(self, url: str, question: Question, seconds: float) -> Answer:
        """Send it; see `asking.Send`."""
        headers = {
            "Accept": f"{MEDIA_TYPE}, application/json",
            "User-Agent": f"prokurist/{VERSION}",
            **self._headers,
        }
        body = None
        if question.body is not None:
            headers["Content-Type"] = MEDIA_TYPE
            body = json.dumps(question.body).encode()
        shown = self._shown()
        if shown is not None:
            headers["Authorization"] = shown
        limits = HttpLimits(seconds, seconds, seconds, LONGEST_ANSWER)
        context = self._context() if url.lower().startswith("https:") else None
        connection = connection_to(url, limits, context, LongResponse)
        try:
            answer = exchange(
                question.method,
                f"{url}{question.path}",
                headers,
                body,
                limits=limits,
                connection=connection,
            )
        except ssl.SSLCertVerificationError as error:
            why = (
                f"its certificate is not accepted: {error.verify_message}; see ssl.ca.location"
            )
        except (OSError, ValueError, http.client.HTTPException) as error:
            said = (str(error) or type(error).__name__)[:LONGEST_REASON]
            why = "".join(each if each.isprintable() else " " for each in said)
        else:
            if len(answer.body) > LONGEST_ANSWER:
                raise Unanswered(f"its answer has more than {LONGEST_ANSWER} bytes")
            return Answer(answer.status, answer.body)
        # Outside of the handler: frames of the library's hold the request.
        raise Unanswered(why)

    def _shown(self) -> str | None:
        refused = ""
        try:
            return self._credentials.header()
        except SaslAuthenticationException as error:
            refused = str(error)
        raise SchemaRefusedException(
            f"there are no credentials for the schema registry: {refused}"
        )
