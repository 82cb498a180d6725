"""PLAIN, GSSAPI by a stand-in of its package, and AWS_MSK_IAM by Amazon's vectors."""

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from prokurist.config.secret import Secret
from prokurist.errors import SaslAuthenticationException
from prokurist.security.aws_credentials import AwsCredentials, aws_credentials
from prokurist.security.gssapi import Gssapi
from prokurist.security.mechanism import printable
from prokurist.security.msk_iam import MskIam, presigned, region_of, signature
from prokurist.security.plain import Plain

CANARY = "hush-4711"


def test_plain() -> None:
    """RFC 4616: the authorization id is left empty; whatever the broker answers is the end."""
    client = Plain("anna", Secret("päss"))
    assert client.first() == b"\0anna\0p\xc3\xa4ss"
    client.answer(b"")
    assert client.explain("no") == "no; check sasl.username and sasl.password"


@pytest.mark.parametrize("name", ["an\0na", "anna"])
def test_plain_has_no_room_for_nul(name: str) -> None:
    """A NUL would end the field early; the error does not show the password."""
    with pytest.raises(SaslAuthenticationException, match="NUL") as caught:
        Plain(name, Secret(f"{CANARY}\0")).first()
    assert CANARY not in str(caught.value)


def test_quotes_are_short_and_printable() -> None:
    """A broker's text cannot move a terminal's cursor, nor fill a log."""
    assert printable("a\x1b[2Jb\nc") == "a [2Jb c"
    assert len(printable("x" * 10_000)) == 501


class Kerberos:
    """Stands in for the package `gssapi`."""

    NameType = SimpleNamespace(hostbased_service="host", kerberos_principal="principal")
    MechType = SimpleNamespace(kerberos="krb5")

    def __init__(self, offer: bytes = b"\x07\x00\xff\xff", error: str = "") -> None:
        self.offer = offer
        self.error = error
        self.wrapped: list[bytes] = []
        self.complete = False
        self.made: dict[str, Any] = {}

    def Name(self, *parts: str) -> tuple[str, ...]:  # noqa: N802 - the package's name
        """A name, as its parts."""
        return parts

    def Credentials(self, **named: Any) -> dict[str, Any]:  # noqa: N802
        """Credentials, as they were asked for."""
        return named

    def SecurityContext(self, **named: Any) -> "Kerberos":  # noqa: N802
        """The context: itself."""
        self.made = named
        return self

    def step(self, token: bytes | None = None) -> bytes | None:
        """The context's next token."""
        if self.error:
            raise RuntimeError(self.error)
        if token is None:
            return b"ticket"
        self.complete = True
        return None

    def unwrap(self, _: bytes) -> SimpleNamespace:
        """What the broker offers."""
        return SimpleNamespace(message=self.offer)

    def wrap(self, message: bytes, _: bool) -> SimpleNamespace:  # noqa: FBT001
        """What the client chooses."""
        self.wrapped.append(message)
        return SimpleNamespace(message=b"wrapped")


def test_gssapi() -> None:
    """RFC 4752: the context, then no security layer and an empty authorization id."""
    package = Kerberos()
    client = Gssapi("kafka", "b1", principal="anna", keytab="/k", module=package)
    assert client.first() == b"ticket"
    assert package.made["name"] == ("kafka@b1", "host")
    assert package.made["creds"]["store"] == {"client_keytab": "/k"}
    assert client.answer(b"ap-rep") == b""
    assert client.answer(b"offer") == b"wrapped"
    assert package.wrapped == [b"\x01\0\0\0"]
    assert client.answer(b"") is None


@pytest.mark.parametrize(
    ("package", "why"),
    [
        (Kerberos(offer=b"\x06\0\0\0"), "insists on a security layer"),
        (Kerberos(offer=b"\x01"), "insists on a security layer"),
        (Kerberos(error="No Kerberos credentials available"), "No Kerberos credentials"),
    ],
)
def test_gssapi_that_fails(package: Kerberos, why: str) -> None:
    """The error names the service that a ticket was asked for."""
    client = Gssapi("kafka", "b1", module=package)
    with pytest.raises(SaslAuthenticationException, match=f"{why}.*kafka@b1"):  # noqa: PT012
        client.first()
        client.answer(b"ap-rep")
        client.answer(b"offer")


SUITE_KEY = "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY"


def test_signature_version_4() -> None:
    """`get-vanilla` of Amazon's test suite for Signature Version 4."""
    to_sign = (
        "AWS4-HMAC-SHA256\n20150830T123600Z\n20150830/us-east-1/service/aws4_request\n"
        "bb579772317eb040ac9ed261061d46c1f17a8133879d6129b6e1c25292927e63"
    )
    made = signature(SUITE_KEY, "20150830T123600Z", "us-east-1", "service", to_sign)
    assert made == "5fa00fa31553b73ebf1942676e86291e8372ff2a2260956d9b8aae1d763fbf31"


def test_a_presigned_request() -> None:
    """The example of a presigned GET in Amazon's documentation of S3."""
    query = presigned(
        "examplebucket.s3.amazonaws.com",
        AwsCredentials(
            "AKIAIOSFODNN7EXAMPLE", Secret("wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY")
        ),
        region="us-east-1",
        service="s3",
        at=1369353600.0,
        parameters={},
        valid=86400,
        path="/test.txt",
        payload_hash="UNSIGNED-PAYLOAD",
    )
    assert query["X-Amz-Signature"] == (
        "aeeed9bbccd4d02ee5c0109b86d86835f995330da4c265957d157751f604d404"
    )


def test_msk_iam() -> None:
    """The payload names the action and the broker; the answer names a request of Amazon's."""
    credentials = AwsCredentials("AKID", Secret(CANARY), Secret("session"))
    host = "b-1.demo.abc123.c2.kafka.eu-west-1.amazonaws.com"
    client = MskIam(host, lambda: credentials, lambda: 1440938160.0)
    payload = json.loads(client.first())
    assert payload["version"] == "2020_10_22"
    assert payload["host"] == host
    assert payload["action"] == "kafka-cluster:Connect"
    assert payload["x-amz-credential"] == "AKID/20150830/eu-west-1/kafka-cluster/aws4_request"
    assert payload["x-amz-expires"] == "900"
    assert payload["x-amz-security-token"] == "session"
    assert len(payload["x-amz-signature"]) == 64
    assert CANARY not in json.dumps(payload) + repr(client) + repr(credentials)
    client.answer(b'{"version":"2020_10_22","request-id":"x"}')
    with pytest.raises(SaslAuthenticationException, match="not understood"):
        client.answer(b"[" * 100_000)


def test_a_region_must_be_known() -> None:
    """A host that names no region needs AWS_REGION; Amazon's own hosts name theirs."""
    assert region_of("boot-x.c1.kafka-serverless.us-east-2.amazonaws.com") == "us-east-2"
    client = MskIam("10.0.0.1", lambda: AwsCredentials("A", Secret("b")), lambda: 0.0)
    with pytest.raises(SaslAuthenticationException, match="set AWS_REGION"):
        client.first()


def test_credentials_of_amazon(tmp_path: Path) -> None:
    """The environment comes first, unless a profile is named; errors show no key."""
    keys, settings = tmp_path / "credentials", tmp_path / "config"
    keys.write_text(
        "[default]\naws_access_key_id=D\naws_secret_access_key=d%\n"
        f"[other]\naws_access_key_id=O\naws_secret_access_key={CANARY}\naws_session_token=t\n"
    )
    settings.write_text("[profile other]\nregion=eu-central-1\n")
    files = {
        "AWS_SHARED_CREDENTIALS_FILE": str(keys),
        "AWS_CONFIG_FILE": str(settings),
    }
    env = {"AWS_ACCESS_KEY_ID": "E", "AWS_SECRET_ACCESS_KEY": "e", "AWS_REGION": "r"}
    assert aws_credentials({**files, **env}).access_key == "E"
    assert aws_credentials(files).secret_key.reveal() == "d%"
    other = aws_credentials({**files, **env, "AWS_REGION": ""}, "other")
    assert (other.access_key, other.region) == ("O", "eu-central-1")
    assert other.session_token == Secret("t")
    with pytest.raises(SaslAuthenticationException, match=r"profile .none.*iam-sasl-signer"):
        aws_credentials(files, "none")
    keys.write_text(f"{CANARY}\n")
    with pytest.raises(SaslAuthenticationException, match="not a valid file") as caught:
        aws_credentials(files)
    assert caught.value.__context__ is None
