"""Findings of `prokurist doctor` about a broker's TLS.

Thread: the main one; no state.
"""

from typing import TYPE_CHECKING, Final

from prokurist.events.clock import epoch_milliseconds

if TYPE_CHECKING:
    from prokurist.security.tls_errors import Certificate

RENEWED_BEFORE: Final = 14
"""Days before its end in which a certificate should be renewed."""


def tls_finding(agreed: str, certificate: "Certificate") -> str:
    """Describe the negotiated TLS and the broker's certificate."""
    from prokurist.security.tls_errors import described  # noqa: PLC0415 - imports ssl

    left = lasts(certificate)
    days = f", {left} days from now" if left is not None else ""
    shown = described(certificate)
    return f"{agreed}; {shown}{days}" if shown else agreed


def lasts(certificate: "Certificate") -> int | None:
    """For how many days a certificate is valid yet."""
    from prokurist.security.tls_errors import days_left  # noqa: PLC0415 - imports ssl

    return days_left(certificate, epoch_milliseconds() / 1000)
