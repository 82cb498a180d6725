"""The configuration of all clients: one table of keys, and the way to fill it.

Thread: none; what is here is immutable.
Holds: the keys as fields of dataclasses, their kinds of value, the reading of what a user
wrote, and the generators of `docs/config.md` and `typed.py`.
May import: `errors` and the standard library.
"""

from prokurist.config.address import Address
from prokurist.config.clients import (
    AdminConfig,
    ConsumerConfig,
    ProducerConfig,
    ShareConsumerConfig,
)
from prokurist.config.offset_reset import OffsetReset
from prokurist.config.report import ConfigReport, KeyFinding, Verdict
from prokurist.config.secret import Secret

__all__ = [
    "Address",
    "AdminConfig",
    "ConfigReport",
    "ConsumerConfig",
    "KeyFinding",
    "OffsetReset",
    "ProducerConfig",
    "Secret",
    "ShareConsumerConfig",
    "Verdict",
]
