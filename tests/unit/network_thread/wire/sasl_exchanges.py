"""SaslHandshake and SaslAuthenticate, asked and answered once."""

from prokurist.network_thread.wire.sasl import (
    SaslAuthenticate,
    SaslAuthenticateAnswer,
    SaslHandshake,
    SaslHandshakeAnswer,
)
from tests.unit.network_thread.wire.exchange import Exchange

EXCHANGES = (
    Exchange(
        "sasl_handshake",
        range(1, 2),
        lambda _: SaslHandshake("SCRAM-SHA-256"),
        {"mechanism": "SCRAM-SHA-256"},
        {"error_code": 33, "mechanisms": ("PLAIN", "OAUTHBEARER")},
        lambda _: SaslHandshakeAnswer(33, ("PLAIN", "OAUTHBEARER")),
    ),
    Exchange(
        "sasl_authenticate",
        range(3),
        lambda _: SaslAuthenticate(b"n,,n=anna"),
        {"auth_bytes": b"n,,n=anna"},
        {
            "error_code": 58,
            "error_message": "no",
            "auth_bytes": b"r=1",
            "session_lifetime": 4000,
        },
        lambda v: SaslAuthenticateAnswer(58, "no", b"r=1", 4.0 if v >= 1 else 0.0),
    ),
)
