"""Errors of TLS in words, where no connection brings them about easily."""

import ssl

import pytest

from prokurist.errors import SslAuthenticationException
from prokurist.security.tls_errors import tls_failure


@pytest.mark.parametrize(
    "error", [ssl.SSLError("made by ourselves"), ssl.SSLError(), ssl.SSLEOFError(8, "EOF")]
)
def test_errors_that_the_library_has_not_made(error: ssl.SSLError) -> None:
    """An error without OpenSSL's reason is told by its text, and breaks nothing."""
    told = tls_failure(error, "kafka1", "127.0.0.1:9093", None)
    assert isinstance(told, SslAuthenticationException)
    assert "kafka1 at 127.0.0.1:9093" in str(told)
    assert told.__cause__ is error


def test_whose_certificate_is_described() -> None:
    """B389: an alert speaks of this client's certificate, and what follows of the broker's."""
    error = ssl.SSLError(1, "alert")
    error.reason = "SSLV3_ALERT_CERTIFICATE_UNKNOWN"
    shown = {"notAfter": "Dec 25 19:10:18 2026 GMT"}
    told = str(tls_failure(error, "kafka1", "127.0.0.1:9093", shown))
    assert "this client's certificate (ssl.certificate.location): it has expired, or" in told
    assert "(the broker's certificate is for " in told
    assert "its certificate" not in told


@pytest.mark.parametrize(
    ("code", "state", "way_out"),
    [
        (12, "has expired", "fetch a newer one"),
        (11, "is not valid yet", "set the clock"),
        (8, "is not signed by its issuer", "fetch it again"),
    ],
)
def test_a_revocation_list_that_cannot_be_used(code: int, state: str, way_out: str) -> None:
    """The error names the key, what is wrong with the list, and the way out."""
    error = ssl.SSLCertVerificationError(1, "[SSL: CERTIFICATE_VERIFY_FAILED]")
    error.verify_code, error.verify_message = code, "CRL"
    text = str(tls_failure(error, "broker", "10.0.0.1:9093", None))
    assert "ssl.crl.location" in text
    assert f"{state} (verify code {code})" in text or f"issuer (verify code {code})" in text
    assert way_out in text
