"""What a user may do, in words, and how what is missing is granted."""

from typing import Any

import pytest

from prokurist.cli.rights import Rights, missing, principal, told
from prokurist.config import ConsumerConfig
from prokurist.network_thread.wire.rights import NOT_TOLD, Operation, operations

SEEN = frozenset({Operation.DESCRIBE})
READ, WRITTEN = SEEN | {Operation.READ}, SEEN | {Operation.WRITE}


def test_bits() -> None:
    """Kafka counts operations from 3 on; what is not known is left out."""
    expected = frozenset({Operation.READ, Operation.DESCRIBE, Operation.ALTER_CONFIGS})
    assert operations(0b1001_0000_1000) == expected
    assert operations(0b1) == frozenset()
    assert operations(NOT_TOLD) is None


def test_words() -> None:
    """Things of which the same is allowed stand together."""
    rights = Rights(
        {"a": READ, "b": WRITTEN, "c": READ | WRITTEN, "d": SEEN, "e": frozenset(), "f": READ},
        {"g": SEEN},
    )
    assert told(rights, "User:anna") == (
        "User:anna may read and not write a, f; write and not read b; read and write c; "
        "see and neither read nor write d; not see e; see and not use group g"
    )


def test_what_is_missing() -> None:
    """A group is there to read with; without one, a topic may be for writing."""
    assert missing(Rights({"a": READ}, {"g": READ}), "User:anna") is None
    assert missing(Rights({"a": WRITTEN}, {}), "User:anna") is None
    lacking = missing(Rights({"a": WRITTEN}, {"g": SEEN}), "User:anna")
    assert lacking is not None
    assert "READ of topic a and READ of group g:" in lacking
    assert "--allow-principal User:anna --operation Read --topic a --group g" in lacking
    lacking = missing(Rights({"a": SEEN}, {}), "the subject of its certificate")
    assert lacking is not None
    assert "or to write WRITE" in lacking
    assert "--allow-principal PRINCIPAL" in lacking


@pytest.mark.parametrize(
    ("keys", "who"),
    [
        ({}, "User:ANONYMOUS"),
        ({"security.protocol": "SSL"}, "User:ANONYMOUS"),
        (
            {"security.protocol": "SSL", "ssl.certificate.location": "/c.pem"},
            "the subject of its certificate",
        ),
        (
            {
                "security.protocol": "SASL_SSL",
                "sasl.mechanism": "PLAIN",
                "sasl.username": "anna",
                "sasl.password": "x",
            },
            "User:anna",
        ),
        (
            {"security.protocol": "SASL_SSL", "sasl.mechanism": "AWS_MSK_IAM"},
            "the identity of its AWS credentials",
        ),
        (
            {
                "security.protocol": "SASL_SSL",
                "sasl.mechanism": "SCRAM-SHA-256",
                "sasl.username": "id",
                "sasl.password": "x",
                "sasl.delegation.token": True,
            },
            "the owner of its delegation token",
        ),
    ],
)
def test_who_it_is(keys: dict[str, Any], who: str) -> None:
    """As far as a configuration says."""
    assert principal(ConsumerConfig({"bootstrap.servers": "kafka:9092", **keys})) == who
