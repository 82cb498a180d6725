"""AWS_MSK_IAM by Amazon's vectors, and where its credentials come from."""

import json
from pathlib import Path

import pytest

from prokurist.config.secret import Secret
from prokurist.errors import SaslAuthenticationException
from prokurist.security.aws_credentials import AwsCredentials, aws_credentials
from prokurist.security.msk_iam import MskIam, presigned, region_of, signature

CANARY = "hush-4711"


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
