"""Signature Version 4 of Amazon's: of a presigned GET, and of a POST with a form.

Thread: any; pure functions.
"""

import hashlib
import hmac
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Final

from prokurist.security.aws_credentials import AwsCredentials
from prokurist.security.token_request import percent_encoded

ALGORITHM: Final = "AWS4-HMAC-SHA256"
FORM: Final = "application/x-www-form-urlencoded; charset=utf-8"


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
    date = _date(at)
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
    query["X-Amz-Signature"] = _signed(request, date, scope, credentials, region, service)
    return query


def signed_form(
    host: str, credentials: AwsCredentials, body: bytes, *, region: str, service: str, at: float
) -> dict[str, str]:
    """Make the headers of a POST of a form to the path `/`, signature included.

    Args:
        host: The server's name, with its port where it is not the usual one.
        credentials: The credentials of the signature.
        body: The form.
        region: The scope's region.
        service: The scope's service.
        at: When, in seconds since 1970.
    """
    date = _date(at)
    scope = f"{date[:8]}/{region}/{service}/aws4_request"
    headers = {"Content-Type": FORM, "Host": host, "X-Amz-Date": date}
    if credentials.session_token is not None:
        headers["X-Amz-Security-Token"] = credentials.session_token.reveal()
    lines = sorted(f"{name.lower()}:{value}" for name, value in headers.items())
    names = ";".join(sorted(name.lower() for name in headers))
    request = "\n".join(["POST", "/", "", *lines, "", names, hashlib.sha256(body).hexdigest()])
    signed = _signed(request, date, scope, credentials, region, service)
    headers["Authorization"] = (
        f"{ALGORITHM} Credential={credentials.access_key}/{scope}, SignedHeaders={names}, "
        f"Signature={signed}"
    )
    return headers


def _date(at: float) -> str:
    return datetime.fromtimestamp(at, UTC).strftime("%Y%m%dT%H%M%SZ")


def _signed(
    request: str,
    date: str,
    scope: str,
    credentials: AwsCredentials,
    region: str,
    service: str,
) -> str:
    """The signature of a canonical request."""
    to_sign = "\n".join([ALGORITHM, date, scope, hashlib.sha256(request.encode()).hexdigest()])
    return signature(credentials.secret_key.reveal(), date, region, service, to_sign)
