"""AWS_MSK_IAM: a request of Amazon's IAM, signed with Signature Version 4.

The message is JSON with the parameters of a presigned GET that names the action
`kafka-cluster:Connect` and the broker's host.

Thread: the helper's; the time of day is handed in.
"""

import hashlib
import hmac
import json
import re
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import Final

from prokurist.security.aws_credentials import AwsCredentials
from prokurist.security.mechanism import printable, refused
from prokurist.security.token_request import percent_encoded
from prokurist.version import VERSION

SERVICE: Final = "kafka-cluster"
ACTION: Final = "kafka-cluster:Connect"
ALGORITHM: Final = "AWS4-HMAC-SHA256"
VALID_SECONDS: Final = 900
PAYLOAD_VERSION: Final = "2020_10_22"

_HOST_REGION: Final = re.compile(r"\.([a-z]{2}(?:-[a-z]+)+-\d+)\.(?:vpce\.)?amazonaws\.com")


def region_of(host: str) -> str | None:
    """Extract the region from the name of an MSK broker; None for another host."""
    found = _HOST_REGION.search(host.lower())
    return None if found is None else found[1]


def signature(
    secret_key: str, date: str, region: str, service: str, string_to_sign: str
) -> str:
    """Compute the signature of Signature Version 4, in hexadecimal digits."""
    key = f"AWS4{secret_key}".encode()
    for part in (date[:8], region, service, "aws4_request"):
        key = hmac.digest(key, part.encode(), "sha256")
    return hmac.digest(key, string_to_sign.encode(), "sha256").hex()


def canonical_query(parameters: Mapping[str, str]) -> str:
    """Write parameters as they are signed: encoded, then sorted."""
    pairs = sorted(
        (percent_encoded(name), percent_encoded(value)) for name, value in parameters.items()
    )
    return "&".join(f"{name}={value}" for name, value in pairs)


def presigned(
    host: str,
    credentials: AwsCredentials,
    *,
    region: str,
    service: str,
    at: float,
    parameters: Mapping[str, str],
    valid: int,
    path: str = "/",
    payload_hash: str = hashlib.sha256(b"").hexdigest(),
) -> dict[str, str]:
    """Make the query parameters of a presigned GET, signature included.

    Args:
        host: The one signed header.
        credentials: The credentials of the signature.
        region: The scope's region.
        service: The scope's service.
        at: When, in seconds since 1970.
        parameters: The parameters of the request.
        valid: Seconds that the signature is good for.
        path: The canonical path.
        payload_hash: Hash of the body.
    """
    date = datetime.fromtimestamp(at, UTC).strftime("%Y%m%dT%H%M%SZ")
    scope = f"{date[:8]}/{region}/{service}/aws4_request"
    query = {
        **parameters,
        "X-Amz-Algorithm": ALGORITHM,
        "X-Amz-Credential": f"{credentials.access_key}/{scope}",
        "X-Amz-Date": date,
        "X-Amz-Expires": str(valid),
        "X-Amz-SignedHeaders": "host",
    }
    if credentials.session_token is not None:
        query["X-Amz-Security-Token"] = credentials.session_token.reveal()
    request = "\n".join(
        ["GET", path, canonical_query(query), f"host:{host}", "", "host", payload_hash]
    )
    to_sign = "\n".join([ALGORITHM, date, scope, hashlib.sha256(request.encode()).hexdigest()])
    secret = credentials.secret_key.reveal()
    query["X-Amz-Signature"] = signature(secret, date, region, service, to_sign)
    return query


class MskIam:
    """An AWS_MSK_IAM authentication: one signed request.

    Args:
        host: The broker's name, as signed.
        credentials: Reads the credentials.
        now: The time of day, in seconds since 1970.
    """

    name = "AWS_MSK_IAM"

    def __init__(
        self, host: str, credentials: Callable[[], AwsCredentials], now: Callable[[], float]
    ) -> None:
        self._host = host
        self._credentials = credentials
        self._now = now

    def first(self) -> bytes:
        """Sign the payload that is the first message."""
        credentials = self._credentials()
        region = credentials.region or region_of(self._host)
        if region is None:
            raise refused(
                self.name,
                f"the region is not known: set AWS_REGION, since {self._host} does not name it",
            )
        query = presigned(
            self._host,
            credentials,
            region=region,
            service=SERVICE,
            at=self._now(),
            parameters={"Action": ACTION},
            valid=VALID_SECONDS,
        )
        payload = {
            "version": PAYLOAD_VERSION,
            "host": self._host,
            "user-agent": f"prokurist/{VERSION}",
            **{name.lower(): value for name, value in query.items()},
        }
        return json.dumps(payload, separators=(",", ":")).encode()

    def answer(self, challenge: bytes) -> None:
        """Check the broker's acceptance, which has the id of its request."""
        try:
            told = json.loads(challenge)
        except (ValueError, RecursionError):
            told = None
        if not isinstance(told, dict) or told.get("version") != PAYLOAD_VERSION:
            shown = printable(challenge[:80].decode("utf-8", "replace"))
            raise refused(self.name, f"the broker's answer is not understood: {shown!r}")

    def explain(self, told: str) -> str:
        """Name the credentials, policy and clock as what to check."""
        return (
            f"{told}; check the credentials in use, that their policy allows {ACTION}, and "
            "this machine's clock"
        )

    def __repr__(self) -> str:
        return f"MskIam({self._host!r})"
