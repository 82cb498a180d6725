"""Stores and passwords that would cost much, or that libraries do not expect."""

import base64
import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from prokurist.config import ConsumerConfig
from prokurist.errors import ConfigException
from prokurist.security.context import built
from prokurist.security.rounds import (
    ENDLESS,
    LARGEST,
    MOST_ROUNDS,
    MOST_TOGETHER,
    check,
    rounds_in_pem,
    rounds_of,
)
from prokurist.testing.kafka.pki import PASSWORD
from tests.unit.security.conftest import Certificates

Keys = Callable[..., ConsumerConfig]

SOME = LARGEST // 16

SALT = b"\x04\x08saltsalt"
PBES2, PBKDF2 = "06092a864886f70d01050d", "06092a864886f70d01050c"
SCRYPT = "06092b06010401da47040b"
AES = bytes.fromhex("060960864801650304012a0410") + bytes(16)


def der(*parts: bytes, tag: int = 0x30) -> bytes:
    """An element in DER."""
    data = b"".join(parts)
    return bytes([tag, 0x83]) + len(data).to_bytes(3, "big") + data


def integer(number: int) -> bytes:
    """A number in DER."""
    return der(number.to_bytes(number.bit_length() // 8 + 1, "big"), tag=2)


def locked(derivation: str, *numbers: int) -> bytes:
    """A private key in PKCS#8 that is encrypted, as it says."""
    hashing = der(bytes.fromhex(derivation), der(SALT, *map(integer, numbers)))
    scheme = der(bytes.fromhex(PBES2), der(hashing, der(AES)))
    return der(scheme, der(bytes(64), tag=4))


def pem(data: bytes, name: str = "ENCRYPTED PRIVATE KEY") -> str:
    """A part of a file in PEM."""
    text = base64.encodebytes(data).decode()
    return f"-----BEGIN {name}-----\n{text}-----END {name}-----\n"


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
    rounds = list(rounds_of(data))
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
    assert list(rounds_of(data)) == [2_000_000]


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


@pytest.mark.parametrize(
    ("key", "often"),
    [
        (locked(PBKDF2, 2**31 - 1), "2147483647"),
        (locked(PBKDF2, 2**31 - 1, 32), "2147483647"),
        (locked(SCRYPT, 1 << 17, 1, 1 << 16), "8589934592"),
        (locked(PBKDF2, 2**200), "without end"),
    ],
)
@pytest.mark.parametrize("form", ["file", "chain", "store", "text", "inline chain"])
def test_a_key_that_has_its_password_hashed_without_end(
    keys: Keys, certificates: Certificates, tmp_path: Path, key: bytes, often: str, form: str
) -> None:
    """B395: it is refused before, says how often, and names the key of the configuration."""
    chain = certificates.client.read_text()
    path = tmp_path / "slow.pem"
    path.write_text(pem(key) + chain)
    named, given = {
        "file": (
            "ssl.key.location",
            {
                "ssl_certificate_location": str(certificates.client),
                "ssl_key_location": str(path),
            },
        ),
        "chain": ("ssl.certificate.location", {"ssl_certificate_location": str(path)}),
        "store": ("ssl.keystore.location", {"ssl_keystore_location": str(path)}),
        "text": (
            "ssl.keystore.key",
            {"ssl_keystore_certificate_chain": chain, "ssl_keystore_key": pem(key)},
        ),
        "inline chain": (
            "ssl.keystore.certificate.chain",
            {"ssl_keystore_certificate_chain": pem(key) + chain},
        ),
    }[form]
    why = refusal(keys, ssl_key_password=PASSWORD, **given)
    assert why.startswith(named)
    assert f"has its password hashed {often}" in why
    assert "1000000 times are done here: encrypt the key again with fewer" in why


def test_a_key_that_is_hashed_as_often_as_may_be(certificates: Certificates) -> None:
    """B395: what is made every day is below the bound."""
    rounds = list(rounds_in_pem(certificates.locked.read_bytes()))
    assert len(rounds) == 1
    assert 1000 <= rounds[0] <= MOST_ROUNDS
    assert list(rounds_in_pem(certificates.client.read_bytes())) == []
    assert list(rounds_of(locked(SCRYPT, 16384, 8, 1))) == [131_072]
    check("a key", [MOST_ROUNDS] * 4, "")


@pytest.mark.parametrize("arguments", [("-v2", "aes256", "-iter", "5000"), ("-scrypt",)])
def test_a_key_of_openssl_is_taken(
    keys: Keys, certificates: Certificates, tmp_path: Path, arguments: tuple[str, ...]
) -> None:
    """B395: PBKDF2 and scrypt, as the command writes them."""
    path, word = tmp_path / "key.pem", f"pass:{PASSWORD}"
    command = ["openssl", "pkcs8", "-topk8", "-in", str(certificates.client)]
    try:
        done = subprocess.run(
            [*command, "-out", str(path), "-passout", word, *arguments],
            check=False,
            capture_output=True,
        )
    except FileNotFoundError:
        pytest.skip("there is no openssl here")
    if done.returncode:
        pytest.skip("this openssl has no such derivation")
    built(
        keys(
            ssl_certificate_location=str(certificates.client),
            ssl_key_location=str(path),
            ssl_key_password=PASSWORD,
        )
    )


def test_keys_that_are_hashed_too_often_together() -> None:
    """B396: each of them is below the bound."""
    with pytest.raises(ConfigException, match=f"more than {MOST_TOGETHER} times together"):
        check("a file", [MOST_ROUNDS] * 5, "make it with fewer")


def test_a_name_of_a_key_is_found_as_openssl_finds_it() -> None:
    """B395: behind a line that is too long, with other blanks, and without an end."""
    text = pem(locked(PBKDF2, 7))
    for each in (
        "x" * 254 + text,
        text.replace("ENCRYPTED PRIVATE", "ENCRYPTED\tPRIVATE"),
        text[: text.index("-----END")],
        text.replace("\n", "\r\n"),
        text.replace("=", ""),
    ):
        assert list(rounds_in_pem(each.encode())) == [7]


def test_rounds_are_found_however_deep_they_lie() -> None:
    """B396: bags within bags, and strings that come in parts."""
    hidden = der(SALT, integer(2_000_000))
    deep = hidden
    for _ in range(100):
        deep = der(deep, tag=0xA0)
    assert list(rounds_of(deep)) == [2_000_000]
    parts = der(hidden[:9], tag=4) + der(hidden[9:], tag=4)
    assert list(rounds_of(der(der(parts, tag=0x24)))) == [2_000_000]
    assert list(rounds_of(der(b"\x24\x80" + parts + b"\0\0"))) == [2_000_000]
    odd_tag = b"\x1f\x81\x01\x00"
    assert list(rounds_of(b"\x30\x80" + odd_tag + hidden + b"\0\0")) == [2_000_000]


def test_strings_in_parts_within_strings_in_parts_without_end() -> None:
    """B396: they are copied a few times, and refused."""
    data = b""
    for _ in range(20):
        data = der(der(der(data), tag=4), tag=0x24)
    assert ENDLESS in list(rounds_of(data))


@pytest.mark.parametrize(
    "data",
    [
        b"\x05\x00" * (SOME // 2),
        b"\x30\x80" * (SOME // 2),
        b"\x24\x80" * (SOME // 2),
        b"\x02\x00" * (SOME // 2),
        b"\x04\x00\x02\x01\x01" * (SOME // 5),
        b"\x04\x84\x7f\xff\xff\xff\x30\x84\x7f\xff\xff\xff" * (SOME // 12),
        b"\x1f" + b"\xff" * SOME,
        b"\x02\x84\x7f\xff\xff\xff" + b"\x01" * SOME,
    ],
)
def test_a_file_full_of_nothing_is_read_in_time(data: bytes) -> None:
    """B396: looking for the numbers takes time in proportion to its size."""
    began = time.process_time()
    for _ in rounds_of(data):
        pass
    assert time.process_time() - began < 4.0


@pytest.mark.parametrize("line", [b"-----BEGIN ", b"-----BEGIN ENCRYPTED PRIVATE KEY-----"])
def test_pem_full_of_beginnings_is_read_in_time(line: bytes) -> None:
    """B396: likewise."""
    began = time.process_time()
    assert list(rounds_in_pem(line * (SOME // len(line)))) == []
    assert time.process_time() - began < 4.0
