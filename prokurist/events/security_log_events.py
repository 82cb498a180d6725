"""Log events of TLS and SASL: missing verification or encryption, and renewed files.

Rows of the table in `events/log_events.py`. Thread: any; nothing here changes.
"""

from functools import partial
from typing import Final

from prokurist.events.trace import EventKind, Level, Side

_connection = partial(EventKind, area="connection", side=Side.NETWORK)

TLS_UNVERIFIED: Final = _connection(
    "tls_unverified",
    Level.WARNING,
    "{what} are not verified ({key}): a stranger who can redirect packets can read and answer "
    "in a broker's place",
    "The configuration turns a part of TLS's verification off.",
)
TLS_RENEWED: Final = _connection(
    "tls_renewed",
    Level.INFO,
    "TLS's files have changed, and new connections use what they hold now",
    "Certificates, keys or authorities were renewed. Connections that stand go on.",
)
TLS_NOT_RENEWED: Final = _connection(
    "tls_not_renewed",
    Level.WARNING,
    "TLS's files have changed and cannot be used, so that new connections go on with what was "
    "read before: {error}",
    "A file was removed, is damaged, or is half of a pair whose other half is not there yet. "
    "It is looked at again when it changes.",
)
PASSWORD_IN_PLAIN_TEXT: Final = _connection(
    "password_in_plain_text",
    Level.WARNING,
    "sasl.mechanism=PLAIN sends the password as it is, and security.protocol=SASL_PLAINTEXT "
    "encrypts nothing: anyone on the way can read it; use SASL_SSL, or SCRAM",
    "PLAIN is used without TLS.",
)

SECURITY: Final = (TLS_UNVERIFIED, TLS_RENEWED, TLS_NOT_RENEWED, PASSWORD_IN_PLAIN_TEXT)
"""All of them, in the order of the table."""
