"""AWS_MSK_IAM and Signature Version 4, by Amazon's vectors."""

import json

import pytest

from prokurist.config.secret import Secret
from prokurist.errors import SaslAuthenticationException
from prokurist.security.aws_credentials import AwsCredentials
from prokurist.security.msk_iam import MskIam, region_of
from prokurist.security.sigv4 import presigned, signature, signed_form

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
    client = MskIam(host, lambda: credentials, lambda: 1440938160.0, lambda: None)
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
    client = MskIam("10.0.0.1", lambda: AwsCredentials("A", Secret("b")), float, lambda: None)
    with pytest.raises(SaslAuthenticationException, match="set AWS_REGION"):
        client.first()


def test_the_region_is_that_of_the_broker() -> None:
    """B895: by its name; the client's own region is for brokers whose names tell none."""
    known = AwsCredentials("A", Secret("b"), region="eu-west-1")
    for host, region in (
        ("b-1.demo.c2.kafka.us-east-2.amazonaws.com", "us-east-2"),
        ("10.0.0.1", "eu-west-1"),
    ):
        client = MskIam(host, lambda: known, float, lambda: None)
        assert f"/{region}/kafka-cluster/" in json.loads(client.first())["x-amz-credential"]


HOST = "b-1.demo.c2.kafka.eu-west-1.amazonaws.com"
OF_BOTOCORE = {
    None: (
        "6fe82f015fa4fbbbc045856d61989531e6a4a2ce6b73159ca5324c19ec13eac1",
        "0e13d0c3b4097077bbb52630918a172abd442aab6964d4972c38faf3dfeb0fd4",
        "a502e6af48fd687f2fafd43520d97378e1ec0e7d2eb068126553233b50b30951",
    ),
    "session/+=": (
        "9940d13a2b3b47ef035945ebd5113a5399235df879dac7d4470dd6670be5c2ae",
        "995bdc966999013a5cb482d60d64ae1937057919ca562b5e67e026f2182c38b1",
        "fe48aacdaeae7ef9a46581031b7e2082567e260bc10ad0ee1fc9ca5f192c9077",
    ),
}
"""Signatures that Amazon's own library has made of the same requests in the same second."""


@pytest.mark.parametrize("session", OF_BOTOCORE)
def test_signatures_as_botocore_makes_them(session: str | None) -> None:
    """B895: of a form that is posted, and of presigned queries with characters to encode."""
    key = AwsCredentials("AKIDEXAMPLE", Secret(SUITE_KEY), Secret(session) if session else None)
    at = 1440938160.0
    of_form, of_action, of_others = OF_BOTOCORE[session]
    body = b"Action=AssumeRole&Version=2011-06-15"
    host = "sts.eu-west-1.amazonaws.com"
    made = signed_form(host, key, body, region="eu-west-1", service="sts", at=at)
    assert made["Authorization"].endswith(f"Signature={of_form}")
    for host, parameters, expected in (
        (HOST, {"Action": "kafka-cluster:Connect"}, of_action),
        ("h.example", {"a b": "ü/+~", "A": "-_."}, of_others),
    ):
        query = presigned(
            host,
            key,
            region="eu-west-1",
            service="kafka-cluster",
            at=at,
            parameters=parameters,
            valid=900,
        )
        assert query["X-Amz-Signature"] == expected
