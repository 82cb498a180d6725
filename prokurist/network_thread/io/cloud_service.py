"""The HTTP exchange with a cloud's own service: one request, bounded in time and length.

Thread: the helper's. No redirect is followed, and no proxy of the environment is used.
"""

import http.client
import ssl
from typing import Final

from prokurist.errors import NetworkException
from prokurist.network_thread.io.http_exchange import (
    HttpLimits,
    connection_to,
    exchange,
    trusting_context,
)
from prokurist.security.cloud_request import CloudRequest
from prokurist.security.mechanism import printable
from prokurist.security.token_request import LONGEST_ANSWER, EndpointAnswer

CONNECT: Final = 2.0
READ: Final = 5.0
LONGEST_REASON: Final = 200


class CloudService:
    """See `security.cloud_request.Ask`.

    Args:
        connect: Seconds to connect within; None for the default.
        read: Seconds in which each part of the answer must come; None likewise.
    """

    def __init__(self, connect: float | None, read: float | None) -> None:
        self._connect = CONNECT if connect is None else connect
        self._read = READ if read is None else read

    def __call__(self, request: CloudRequest) -> EndpointAnswer:
        """Send it once; see `Ask`."""
        limits = HttpLimits(
            self._connect, self._read, self._connect + self._read, LONGEST_ANSWER
        )
        url = request.url
        context = trusting_context() if url.lower().startswith("https:") else None
        try:
            answer = exchange(
                request.method,
                url,
                request.headers,
                request.body,
                limits=limits,
                connection=connection_to(url, limits, context),
            )
        except ssl.SSLCertVerificationError as error:
            why = f"its certificate is not accepted: {error.verify_message}"
        except (OSError, ValueError, http.client.HTTPException) as error:
            why = printable(str(error) or type(error).__name__, LONGEST_REASON)
        else:
            return EndpointAnswer(answer.status, answer.body)
        # Outside of the handler: frames of the library's hold the request.
        raise NetworkException(f"{url.partition('?')[0]} did not answer: {why}")

    def __repr__(self) -> str:
        return f"CloudService(connect={self._connect}, read={self._read})"
