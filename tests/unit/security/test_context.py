"""What a configuration makes of TLS, and what is refused in words."""

import os
import ssl
from collections.abc import Callable
from pathlib import Path

import pytest

from prokurist.config import ConsumerConfig
from prokurist.errors import ConfigException, KafkaException
from prokurist.events.clock import MonotonicClock
from prokurist.security.context import TlsContexts, built, openssl_name
from prokurist.testing.kafka.pki import PASSWORD
from tests.unit.security.conftest import Certificates

Keys = Callable[..., ConsumerConfig]


def test_verification_is_on_by_default(keys: Keys) -> None:
    """S1: chain and name are verified, with the system's authorities; TLS 1.2 at least."""
    context = built(keys())
    assert context.verify_mode is ssl.CERT_REQUIRED
    assert context.check_hostname
    assert context.minimum_version is ssl.TLSVersion.TLSv1_2
    assert context.keylog_filename is None


def test_what_is_not_verified_is_said_by_two_keys(keys: Keys) -> None:
    """S5: `none` skips the name alone; the other key skips all."""
    nameless = built(keys(**{"ssl.endpoint.identification.algorithm": ""}))
    assert nameless.verify_mode is ssl.CERT_REQUIRED
    assert not nameless.check_hostname
    blind = built(keys(**{"enable.ssl.certificate.verification": False}))
    assert blind.verify_mode is ssl.CERT_NONE
    assert not blind.check_hostname


def test_no_keys_are_logged(
    keys: Keys, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """S12: SSLKEYLOGFILE writes nothing."""
    monkeypatch.setenv("SSLKEYLOGFILE", str(tmp_path / "keys"))
    assert built(keys()).keylog_filename is None


@pytest.mark.parametrize(
    ("more", "text"),
    [
        (
            {"ssl.ca.location": "/nowhere/ca.pem"},
            "ssl.ca.location=/nowhere/ca.pem cannot be read",
        ),
        ({"ssl.enabled.protocols": "TLSv1.1"}, "TLSv1.2 and TLSv1.3 are spoken here"),
        ({"ssl.protocol": "TLSv1"}, "ssl.protocol=TLSv1 must be"),
        (
            {"ssl.protocol": "TLSv1.2", "ssl.enabled.protocols": "TLSv1.3"},
            "older than each of ssl.enabled.protocols",
        ),
        ({"ssl.cipher.suites": "TLS_AES_128_GCM_SHA256"}, "a suite of TLS 1.3"),
        ({"ssl.cipher.suites": "NO-SUCH"}, "which the TLS library does not have"),
        (
            {
                "ssl.cipher.suites": "ECDHE-RSA-AES128-GCM-SHA256",
                "ssl.enabled.protocols": "TLSv1.3",
            },
            "does not allow",
        ),
        ({"ssl.keystore.key": "x"}, "a private key is given and no certificate"),
        ({"ssl.truststore.certificates": "no PEM"}, "no certificates in PEM"),
    ],
)
def test_what_cannot_be_used_is_refused(keys: Keys, more: dict[str, str], text: str) -> None:
    """Each fault names the key, the value and what to write instead (S11, S17)."""
    with pytest.raises(ConfigException) as refused:
        built(keys(**more))
    assert text in str(refused.value)


def test_keys_that_say_the_same_thing(keys: Keys, certificates: Certificates) -> None:
    """Two sources for one thing are refused, with both names."""
    location = str(certificates.ours.location)
    with pytest.raises(ConfigException, match=r"ssl.ca.location and ssl.truststore.cert.* say"):
        built(keys(**{"ssl.ca.location": location, "ssl.truststore.certificates": "x"}))


def test_suites_of_tls_1_2_exclude_1_3(keys: Keys) -> None:
    """S17: a list of suites holds: what is not on it is not offered, TLS 1.3 included."""
    context = built(keys(**{"ssl.cipher.suites": "TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384"}))
    assert context.maximum_version is ssl.TLSVersion.TLSv1_2
    offered = [each["name"] for each in context.get_ciphers() if each["protocol"] != "TLSv1.3"]
    assert offered == ["ECDHE-RSA-AES256-GCM-SHA384"]


@pytest.mark.parametrize(
    ("iana", "openssl"),
    [
        ("TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256", "ECDHE-ECDSA-AES128-GCM-SHA256"),
        ("TLS_RSA_WITH_AES_256_CBC_SHA256", "AES256-SHA256"),
        ("TLS_DHE_RSA_WITH_CHACHA20_POLY1305_SHA256", "DHE-RSA-CHACHA20-POLY1305"),
        ("TLS_ECDHE_RSA_WITH_AES_128_CBC_SHA", "ECDHE-RSA-AES128-SHA"),
        ("ECDHE-RSA-AES128-SHA", "ECDHE-RSA-AES128-SHA"),
    ],
)
def test_names_of_suites(iana: str, openssl: str) -> None:
    """Suites may be named as in Java."""
    assert openssl_name(iana) == openssl
    ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT).set_ciphers(openssl)


def test_certificates_of_the_client(keys: Keys, certificates: Certificates) -> None:
    """Files, text, an encrypted key and PKCS12 are taken."""
    client, locked = str(certificates.client), str(certificates.locked)
    built(keys(**{"ssl.certificate.location": client}))
    built(keys(**{"ssl.certificate.location": client, "ssl.key.location": client}))
    built(keys(**{"ssl.keystore.location": client, "ssl.keystore.type": "PEM"}))
    built(keys(**{"ssl.certificate.location": locked, "ssl.key.password": PASSWORD}))
    text = certificates.client.read_text()
    built(keys(**{"ssl.keystore.certificate.chain": text, "ssl.keystore.key": text}))
    store = {
        "ssl.keystore.location": str(certificates.store),
        "ssl.keystore.password": PASSWORD,
    }
    built(keys(**store))
    trusted = certificates.ours.location.read_text()
    built(keys(**{"ssl.truststore.certificates": trusted}))
    assert len(built(keys(**{"ssl.truststore.certificates": trusted})).get_ca_certs()) == 1


def test_faults_of_certificates(keys: Keys, certificates: Certificates) -> None:
    """S14: an encrypted key without its password is told, and never asked on the terminal."""
    locked, client = str(certificates.locked), str(certificates.client)
    faults = {
        "give ssl.key.password": {"ssl.certificate.location": locked},
        "ssl.key.password does not open": {
            "ssl.certificate.location": locked,
            "ssl.key.password": "wrong",
        },
        "is not that of the certificate": {
            "ssl.certificate.location": client,
            "ssl.key.location": str(certificates.broker),
        },
        "a certificate and its private key are expected": {
            "ssl.certificate.location": str(certificates.ours.location)
        },
        "cannot be opened as PKCS12": {
            "ssl.keystore.location": str(certificates.store),
            "ssl.keystore.password": "wrong",
        },
    }
    for text, more in faults.items():
        with pytest.raises(ConfigException) as refused:
            built(keys(**more))
        assert text in str(refused.value)
        assert "wrong" not in str(refused.value).replace("is wrong or", "")


def test_java_keystores_are_refused_with_the_way_out(keys: Keys, tmp_path: Path) -> None:
    """S15: both commands that make something readable of a JKS file stand in the error."""
    store = tmp_path / "client.jks"
    store.write_bytes(bytes.fromhex("feedfeed00000002"))
    with pytest.raises(ConfigException, match=r"keytool -importkeystore.*openssl pkcs12"):
        built(keys(**{"ssl.truststore.location": str(store)}))


def test_text_leaves_no_file(
    keys: Keys, certificates: Certificates, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """S13: a key given as text is on no disk afterwards, also where memory has no files."""
    text = certificates.client.read_text()
    more = {"ssl.keystore.certificate.chain": text, "ssl.keystore.key": text}
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    built(keys(**more))
    monkeypatch.delattr(os, "memfd_create", raising=False)
    built(keys(**more))
    assert not list(tmp_path.iterdir())


def test_renewed_files_make_a_new_context(
    keys: Keys, certificates: Certificates, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """B344, S16: what a file holds now serves the next connection; a damaged one does not."""
    monkeypatch.setattr("prokurist.security.context.LOOK_PAUSE", 0.0)
    monkeypatch.setattr("prokurist.security.context.LOOK_TAKES", 10.0)
    trusted = tmp_path / "ca.pem"
    trusted.write_bytes(certificates.ours.location.read_bytes())
    told: list[KafkaException | None] = []
    contexts = TlsContexts(
        keys(**{"ssl.ca.location": str(trusted)}), MonotonicClock().now, told.append
    )
    first = contexts.current()
    contexts.look()
    assert contexts.current() is first
    assert not told
    trusted.write_bytes(b"half of a file")
    contexts.look()
    assert contexts.current() is first
    assert isinstance(told[0], ConfigException)
    trusted.write_bytes(certificates.other.location.read_bytes())
    contexts.look()
    assert contexts.current() is not first
    assert told[1:] == [None]


def test_a_directory_of_authorities_needs_names_by_hash(
    keys: Keys, certificates: Certificates, tmp_path: Path
) -> None:
    """B374: OpenSSL would find nothing in it, and each broker would look unknown."""
    folder = tmp_path / "authorities"
    folder.mkdir()
    text = certificates.ours.location.read_text()
    (folder / "ca.pem").write_text(text)
    with pytest.raises(ConfigException, match=r"ssl.ca.location=.*: run `openssl rehash "):
        built(keys(**{"ssl.ca.location": str(folder)}))
    (folder / "5ed36f99.0").write_text(text)
    assert built(keys(**{"ssl.ca.location": str(folder)})).verify_mode is ssl.CERT_REQUIRED


def test_authorities_as_text_are_named_by_their_key(keys: Keys) -> None:
    """B374: the error names the key to look at, and quotes nothing of the text."""
    with pytest.raises(ConfigException, match=r"^ssl.truststore.certificates cannot") as told:
        built(keys(**{"ssl.truststore.certificates": "hunter2"}))
    assert "hunter2" not in str(told.value)
