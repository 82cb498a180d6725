"""SaslHandshake and SaslAuthenticate."""

from prokurist.network_thread.wire.sasl import (
    SaslAuthenticate,
    SaslAuthenticateAnswer,
    SaslHandshake,
    SaslHandshakeAnswer,
)
from tests.unit.network_thread.wire.exchange import Exchange, since

EXCHANGES = (
    Exchange(
        "sasl_handshake",
        range(1, 2),
        lambda _: SaslHandshake("SCRAM-SHA-256"),
        {"mechanism": "SCRAM-SHA-256"},
        {"error_code": 0, "mechanisms": ("PLAIN", "SCRAM-SHA-512")},
        lambda _: SaslHandshakeAnswer(0, ("PLAIN", "SCRAM-SHA-512")),
    ),
    Exchange(
        "sasl_authenticate",
        range(3),
        lambda _: SaslAuthenticate(b"n,,n=anna,r=x"),
        {"auth_bytes": b"n,,n=anna,r=x"},
        {
            "error_code": 0,
            "error_message": "no",
            "auth_bytes": b"v=x",
            "session_lifetime": 4000,
        },
        lambda version: SaslAuthenticateAnswer(0, "no", b"v=x", since(1, version, 4.0, 0.0)),
    ),
)
