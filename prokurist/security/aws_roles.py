"""Amazon's temporary credentials of a role: AssumeRole, by keys or by a web identity.

Thread: the helper's.
"""

import html
import re
from collections.abc import Callable
from typing import Final

from prokurist.config.secret import Secret
from prokurist.errors import NetworkException, SaslAuthenticationException
from prokurist.lazy_dataclasses import dataclass
from prokurist.security.aws_credentials import AwsCredentials
from prokurist.security.azure_identity import assertion_in, form_of
from prokurist.security.cloud_request import Ask, CloudRequest, address_of, moment_of
from prokurist.security.mechanism import printable
from prokurist.security.sigv4 import FORM, signed_form
from prokurist.security.token_request import EndpointAnswer

VERSION: Final = "2011-06-15"
SERVICE: Final = "Amazon's STS"
SESSION_NAME: Final = "prokurist"
LONGEST_WORDS: Final = 200
_REGION: Final = re.compile(r"[a-z0-9-]+")


@dataclass(frozen=True, slots=True)
class Role:
    """A role to assume.

    Attributes:
        arn: Its name.
        session_name: Name of the session, as logs of Amazon show it.
        external_id: The id that a role of another account may want.
        seconds: Life of the credentials; None for the role's own.
    """

    arn: str
    session_name: str = SESSION_NAME
    external_id: str | None = None
    seconds: str | None = None


class Sts:
    """Asks Amazon's token service.

    Args:
        ask: Sends requests.
        endpoint: Its address, in place of the region's.
        now: The time of day.
    """

    def __init__(self, ask: Ask, endpoint: str | None, now: Callable[[], float]) -> None:
        self._ask = ask
        self._endpoint = endpoint
        self._now = now

    def assume(self, role: Role, credentials: AwsCredentials, region: str) -> AwsCredentials:
        """Return the credentials of a role that others may assume.

        Raises:
            NetworkException: There was no usable answer this time.
            SaslAuthenticationException: It refuses.
        """
        body = form_of(_fields("AssumeRole", role))
        url = self._url(region)
        address = address_of(url)
        if address is None:
            raise SaslAuthenticationException("AWS_ENDPOINT_URL_STS is no address of http(s)")
        host = address[1] if address[2] is None else f"{address[1]}:{address[2]}"
        headers = signed_form(
            host, credentials, body, region=region, service="sts", at=self._now()
        )
        del headers["Host"]  # `http.client` writes it.
        return read(self._ask(CloudRequest("POST", url, headers, body)), role)

    def assume_by_file(self, role: Role, path: str, region: str) -> AwsCredentials:
        """Return the credentials of a role by the token in a file, as EKS keeps it fresh.

        Raises:
            NetworkException: There was no usable answer this time.
            SaslAuthenticationException: It refuses, or the file cannot be read.
        """
        fields = _fields("AssumeRoleWithWebIdentity", role)
        fields["WebIdentityToken"] = assertion_in(path)
        request = CloudRequest(
            "POST", self._url(region), {"Content-Type": FORM}, form_of(fields)
        )
        return read(self._ask(request), role)

    def _url(self, region: str) -> str:
        if self._endpoint:
            return f"{self._endpoint.rstrip('/')}/"
        if not _REGION.fullmatch(region):
            raise SaslAuthenticationException(f"{region!r} is no region of Amazon's")
        end = "amazonaws.com.cn" if region.startswith("cn-") else "amazonaws.com"
        return f"https://sts.{region}.{end}/"

    def __repr__(self) -> str:
        return f"Sts({self._endpoint or 'of the region'})"


def _fields(action: str, role: Role) -> dict[str, str]:
    fields = {
        "Action": action,
        "Version": VERSION,
        "RoleArn": role.arn,
        "RoleSessionName": role.session_name,
    }
    if role.seconds:
        fields["DurationSeconds"] = role.seconds
    if role.external_id and action == "AssumeRole":
        fields["ExternalId"] = role.external_id
    return fields


def read(answer: EndpointAnswer, role: Role) -> AwsCredentials:
    """Read the answer to an assumption.

    Raises:
        NetworkException: It may be another one the next time.
        SaslAuthenticationException: It is a refusal, or has no credentials.
    """
    text = answer.body.decode("utf-8", "replace")
    if answer.status != 200:
        parts = [_element(text, "Code"), _element(text, "Message")]
        shown = ": ".join(printable(each, LONGEST_WORDS) for each in parts if each)
        said = f"{SERVICE} answered {answer.status}{f' ({shown})' if shown else ''}"
        throttled = parts[0] in ("Throttling", "RequestLimitExceeded", "IDPCommunicationError")
        if answer.status >= 500 or answer.status in (408, 429) or throttled:
            raise NetworkException(f"{said} for {role.arn}")
        raise SaslAuthenticationException(
            f"{said} for {role.arn}; check that the role trusts the caller, and this machine's "
            "clock"
        )
    names = ("AccessKeyId", "SecretAccessKey", "SessionToken", "Expiration")
    access, secret, session, ends = [_element(text, name) for name in names]
    if not access or not secret or not session:
        raise SaslAuthenticationException(f"{SERVICE} answered 200 without credentials")
    return AwsCredentials(access, Secret(secret), Secret(session), expires=moment_of(ends))


def _element(text: str, name: str) -> str:
    """The text of an element; empty if there is none. No parser of XML is needed for that."""
    found = re.search(rf"<{name}>([^<]*)</{name}>", text)
    return html.unescape(found[1].strip()) if found else ""
