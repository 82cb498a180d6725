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
