"""Errors of TLS in words: what was expected, what came, and which key to turn.

Thread: any; no state.
"""

import math
import ssl
from collections.abc import Mapping
from typing import Final, TypeAlias

from prokurist.errors import SslAuthenticationException

Certificate: TypeAlias = Mapping[str, object]
"""As `SSLObject.getpeercert` gives it."""

EXPIRED, NOT_YET_VALID, HOST, ADDRESS = 10, 9, 62, 64
UNKNOWN_ISSUERS: Final = frozenset({2, 18, 19, 20, 21})
NO_REVOCATION_LIST, REVOKED = 3, 23
LIST_UNSIGNED, LIST_NOT_YET_VALID, LIST_EXPIRED = 8, 11, 12

NAMES_SHOWN: Final = 8

ALERTS: Final[Mapping[str, str]] = {
    "BAD_CERTIFICATE": "the broker does not accept this client's certificate, or wants one: "
    "see ssl.certificate.location and ssl.key.location",
    "CERTIFICATE_REQUIRED": "the broker wants a certificate of this client: give "
    "ssl.certificate.location and ssl.key.location",
    "UNKNOWN_CA": "the broker does not know the authority of this client's certificate "
    "(ssl.certificate.location)",
    "CERTIFICATE_EXPIRED": "this client's certificate has expired (ssl.certificate.location)",
    "CERTIFICATE_UNKNOWN": "the broker does not accept this client's certificate "
    "(ssl.certificate.location): it has expired, or its authority is not known there",
    "HANDSHAKE_FAILURE": "the broker and this client have no TLS version or cipher suite in "
    "common, or it wants a certificate of this client: see ssl.enabled.protocols, "
    "ssl.cipher.suites and ssl.certificate.location",
    "PROTOCOL_VERSION": "the broker and this client have no TLS version in common: see "
    "ssl.enabled.protocols; nothing below TLSv1.2 is spoken",
    "UNSUPPORTED_PROTOCOL": "the broker speaks no TLS version that is enabled here: see "
    "ssl.enabled.protocols; nothing below TLSv1.2 is spoken",
    "WRONG_VERSION_NUMBER": "what answers there does not speak TLS: see security.protocol",
    "RECORD_LAYER_FAILURE": "what answers there does not speak TLS: see security.protocol",
    "NO_SHARED_CIPHER": "no cipher suite in common: see ssl.cipher.suites",
    "UNRECOGNIZED_NAME": "the broker has no certificate for this name",
}
"""By the end of OpenSSL's reason: what it means here, and what to do."""


def tls_failure(
    error: ssl.SSLError, expected: str, address: str, certificate: Certificate | None
) -> SslAuthenticationException:
    """Make the exception for an error of the handshake.

    Args:
        error: OpenSSL's error.
        expected: The name or address that was connected to.
        address: Where it was, with the port: a name may stand for several brokers.
        certificate: The broker's, where it was seen.
    """
    who = f"{expected} at {address}"
    if isinstance(error, ssl.SSLCertVerificationError):
        why = _unverified(error, expected, certificate)
        text = f"the certificate of {who} is not accepted: {why}"
        shown = described(certificate)
    else:
        text = f"TLS with {who} failed: {_alert(error)}"
        # Many an alert speaks of this client's certificate, which is another.
        shown = described(certificate, "the broker's")
    made = SslAuthenticationException(f"{text} ({shown})" if shown else text)
    made.__cause__ = error.with_traceback(None)
    return made


def _unverified(
    error: ssl.SSLCertVerificationError, expected: str, certificate: Certificate | None
) -> str:
    code, said = error.verify_code, error.verify_message
    if code in {HOST, ADDRESS}:
        if certificate and not names_of(certificate):
            subject = common_name(certificate.get("subject"))
            return (
                f"it has no subjectAltName, and its common name {subject} does not count "
                f"(verify code {code}). Issue it for {expected!r} as a subjectAltName; "
                "ssl.endpoint.identification.algorithm=none would not look at names"
            )
        return (
            f"it is for other names than {expected!r} (verify code {code}). Connect to a name "
            "that it bears, or have the broker advertise one; "
            "ssl.endpoint.identification.algorithm=none would not look at names"
        )
    if code in {EXPIRED, NOT_YET_VALID}:
        state = "has expired" if code == EXPIRED else "is not valid yet"
        return f"it {state} (verify code {code}): renew it on the broker, or set the clock"
    if code in UNKNOWN_ISSUERS:
        return (
            f"no authority that is known here vouches for it: {said} (verify code {code}). "
            "Name the one that does with ssl.ca.location"
        )
    if code == NO_REVOCATION_LIST:
        return (
            f"ssl.crl.location has no revocation list of its issuer (verify code {code}): add "
            "that list"
        )
    if code in {LIST_NOT_YET_VALID, LIST_EXPIRED}:
        state = "has expired" if code == LIST_EXPIRED else "is not valid yet"
        return (
            f"the revocation list of its issuer in ssl.crl.location {state} (verify code "
            f"{code}): fetch a newer one, or set the clock"
        )
    if code == LIST_UNSIGNED:
        return (
            f"the revocation list in ssl.crl.location is not signed by its issuer (verify code "
            f"{code}): fetch it again from that authority"
        )
    if code == REVOKED:
        return f"its issuer has revoked it (verify code {code})"
    return f"{said} (verify code {code})"


def _alert(error: ssl.SSLError) -> str:
    reason = getattr(error, "reason", None) or ""  # of an error that `ssl` has not made
    for name, meaning in ALERTS.items():
        if reason.endswith(name):
            return f"{meaning} (OpenSSL: {reason})"
    return f"OpenSSL says {reason or error}"


def certificate_of(connection: ssl.SSLObject) -> Certificate | None:
    """Read the certificate that the peer has shown, verified or not; None where there is none.

    Before the end of a handshake the public method has none. The one beneath it has what
    the peer sent, and stands here for an error's text alone.
    """
    try:
        chain = connection._sslobj.get_unverified_chain()  # type: ignore[attr-defined]  # noqa: SLF001
        found = chain[0].get_info() if chain else None
    except (AttributeError, IndexError, TypeError, ValueError, ssl.SSLError):
        return None
    return found if isinstance(found, dict) else None


def described(certificate: Certificate | None, whose: str = "its") -> str:
    """Describe a certificate in a clause: its names, its issuer, and until when it is valid."""
    if not certificate:
        return ""
    names = names_of(certificate)
    more = f" and {len(names) - NAMES_SHOWN} more" if len(names) > NAMES_SHOWN else ""
    shown = ", ".join(names[:NAMES_SHOWN]) + more if names else "no names"
    issuer = common_name(certificate.get("issuer"))
    until = certificate.get("notAfter", "an unknown date")
    return f"{whose} certificate is for {shown}, issued by {issuer}, valid until {until}"


def days_left(certificate: Certificate, now: float) -> int | None:
    """Count the whole days until a certificate expires; None where it does not say.

    Args:
        certificate: The certificate.
        now: Seconds since the epoch.
    """
    until = certificate.get("notAfter")
    if not isinstance(until, str):
        return None
    return math.floor((ssl.cert_time_to_seconds(until) - now) / 86_400)


def names_of(certificate: Certificate) -> list[str]:
    """List the names and addresses that a certificate is for."""
    entries = certificate.get("subjectAltName")
    if not isinstance(entries, tuple):
        return []
    return [plain(str(entry[1])) for entry in entries if len(entry) == 2]


def common_name(name: object) -> str:
    """Find the common name of an issuer or a subject; else return the whole name."""
    pairs = [pair for group in name for pair in group] if isinstance(name, tuple) else []
    for key, value in pairs:
        if key == "commonName":
            return repr(plain(str(value)))
    return (
        ", ".join(f"{key}={plain(str(value))}" for key, value in pairs)
        or "an issuer without a name"
    )


def plain(text: str) -> str:
    """Make the peer's text short and free of control characters."""
    return "".join(each if each.isprintable() else "?" for each in text[:200])
