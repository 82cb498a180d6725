"""Amazon's temporary credentials from services beside the process.

A container's come from the agent of ECS or of EKS's pod identity, a machine's from its metadata
service by a session (IMDSv2). The first version of the metadata service is not asked.

Thread: the helper's.
"""

from collections.abc import Mapping
from typing import Final

from prokurist.config.secret import Secret
from prokurist.errors import NetworkException, SaslAuthenticationException
from prokurist.security.aws_credentials import AwsCredentials
from prokurist.security.azure_identity import assertion_in
from prokurist.security.cloud_request import (
    Ask,
    CloudRequest,
    address_of,
    body_of,
    json_of,
    moment_of,
    secret_in,
)
from prokurist.security.mechanism import printable
from prokurist.security.token_request import percent_encoded

CONTAINERS: Final = "http://169.254.170.2"
INSTANCE: Final = "http://169.254.169.254"
NEARBY: Final = frozenset(
    ("localhost", "127.0.0.1", "::1", "169.254.170.2", "169.254.170.23", "fd00:ec2::23")
)
"""Hosts to which a container's token is sent without TLS."""
SESSION: Final = "21600"
CONTAINER: Final = "the container's credentials service"
METADATA: Final = "the instance's metadata service"


def of_container(environment: Mapping[str, str], ask: Ask) -> AwsCredentials | None:
    """Return a container's credentials; None where the environment names no service.

    Raises:
        NetworkException: The service gave no usable answer this time.
        SaslAuthenticationException: It refuses, or cannot be asked.
    """
    url = environment.get("AWS_CONTAINER_CREDENTIALS_FULL_URI")
    if path := environment.get("AWS_CONTAINER_CREDENTIALS_RELATIVE_URI"):
        url = f"{CONTAINERS}{path}"
    if not url:
        return None
    address = address_of(url)
    if address is None or (address[0] != "https" and address[1] not in NEARBY):
        raise SaslAuthenticationException(
            "AWS_CONTAINER_CREDENTIALS_FULL_URI names neither https nor a service beside this "
            f"container, but {printable(url.partition('?')[0], 200)!r}"
        )
    headers = {"Accept": "application/json"}
    if file := environment.get("AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE"):
        headers["Authorization"] = assertion_in(file)
    elif token := environment.get("AWS_CONTAINER_AUTHORIZATION_TOKEN"):
        headers["Authorization"] = token
    if not headers.get("Authorization", "").isprintable():
        raise SaslAuthenticationException(
            "the container's authorization token has characters that a header cannot have"
        )
    answer = ask(CloudRequest("GET", url, headers))
    way_out = "check the role of the task, or the association of the service account"
    return read_credentials(body_of(answer, CONTAINER, way_out), CONTAINER)


def of_instance(environment: Mapping[str, str], ask: Ask) -> AwsCredentials | None:
    """Return a machine's credentials; None where they are switched off.

    Raises:
        NetworkException: The service gave no usable answer this time.
        SaslAuthenticationException: The machine has no role.
    """
    if environment.get("AWS_EC2_METADATA_DISABLED", "").lower() == "true":
        return None
    host = environment.get("AWS_EC2_METADATA_SERVICE_ENDPOINT") or INSTANCE
    host = host.rstrip("/")
    way_out = "check that the instance has a profile with a role, and its metadata options"
    wanted = {"X-aws-ec2-metadata-token-ttl-seconds": SESSION}
    answer = ask(CloudRequest("PUT", f"{host}/latest/api/token", wanted))
    session = Secret(_line(body_of(answer, METADATA, way_out)))
    headers = {"X-aws-ec2-metadata-token": session.reveal()}
    place = f"{host}/latest/meta-data/iam/security-credentials/"
    role = _line(body_of(ask(CloudRequest("GET", place, headers)), METADATA, way_out))
    answer = ask(CloudRequest("GET", f"{place}{percent_encoded(role)}", headers))
    return read_credentials(body_of(answer, METADATA, way_out), METADATA)


def _line(body: bytes) -> str:
    """Read the first line of an answer: a token, or a role's name."""
    text = body.decode("utf-8", "replace").strip().partition("\n")[0].strip()
    if not text.isascii() or not text.isprintable() or not 0 < len(text) < 4096:
        raise SaslAuthenticationException(f"{METADATA} answered with an unreadable line")
    return text


def read_credentials(body: bytes, service: str) -> AwsCredentials:
    """Read temporary credentials in JSON.

    Raises:
        NetworkException: The service has none this time.
        SaslAuthenticationException: There are none in it.
    """
    found = json_of(body)
    code = found.get("Code", "Success")
    if code != "Success":
        raise NetworkException(f"{service} answered {printable(str(code), 80)!r}")
    access = found.get("AccessKeyId")
    if not isinstance(access, str) or not access:
        raise SaslAuthenticationException(f"{service} answered without AccessKeyId")
    return AwsCredentials(
        access,
        secret_in(found, "SecretAccessKey", service),
        secret_in(found, "Token", service),
        expires=moment_of(found.get("Expiration")),
    )
