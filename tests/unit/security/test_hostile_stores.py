"""Stores and passwords that would cost much, or that libraries do not expect."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from prokurist.config import ConsumerConfig
from prokurist.errors import ConfigException
from prokurist.security.context import built
from prokurist.security.pkcs12 import LARGEST, rounds_of
from prokurist.testing.kafka.pki import PASSWORD
from tests.unit.security.conftest import Certificates

Keys = Callable[..., ConsumerConfig]


def refusal(keys: Keys, **more: Any) -> str:
    """Why no context is built."""
    with pytest.raises(ConfigException) as refused:
        built(keys(**more))
    return str(refused.value)


def test_a_store_that_has_its_password_hashed_without_end(
    keys: Keys, certificates: Certificates, tmp_path: Path
) -> None:
    """B369: it is refused before, and says how often."""
    data = certificates.store.read_bytes()
    rounds = list(rounds_of(data, 0, len(data)))
    assert rounds
    assert max(rounds) <= 1_000_000
    path = tmp_path / "slow.p12"
    slow = b"\x30\x0c\x04\x02ab\x02\x04\x7f\xff\xff\xff\x05\x00"
    path.write_bytes(slow)
    why = refusal(keys, ssl_keystore_location=str(path), ssl_keystore_password=PASSWORD)
    assert "has its password hashed 2147483647 times, and 1000000 times are done here" in why


@pytest.mark.parametrize(
    "salt", [b"\x04\x02ab", b"\x24\x04\x04\x02ab", b"\x24\x80\x04\x02ab\0\0"]
)
def test_rounds_are_found_in_each_form_of_ber(salt: bytes) -> None:
    """B369: a salt may come in parts, and without a length."""
    data = b"\x30\x80" + salt + b"\x02\x03\x1e\x84\x80\0\0"
    assert list(rounds_of(data, 0, len(data))) == [2_000_000]


def test_a_store_without_end(keys: Keys, tmp_path: Path) -> None:
    """B369: no more of it is read than a store may have."""
    path = tmp_path / "large.p12"
    path.write_bytes(b"\x30" + bytes(LARGEST))
    why = refusal(keys, ssl_truststore_location=str(path), ssl_truststore_password=PASSWORD)
    assert f"has more than {LARGEST} bytes" in why


def test_passwords_that_there_cannot_be(keys: Keys, certificates: Certificates) -> None:
    """B369: a zero byte, and more than OpenSSL takes."""
    store, zero = str(certificates.store), "a\0b"
    why = refusal(keys, ssl_keystore_location=store, ssl_keystore_password=zero)
    assert "ssl.keystore.password has a zero byte" in why
    why = refusal(
        keys, ssl_certificate_location=str(certificates.locked), ssl_key_password="x" * 2000
    )
    assert "ssl.key.password does not open the private key" in why
