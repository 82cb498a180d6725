"""The first rung: a Kafka that runs already, at `PROKURIST_TEST_BOOTSTRAP`.

Thread: any; no state.
"""

import os
from collections.abc import Mapping
from typing import Final

from prokurist.testing.kafka.errors import KafkaFailed
from prokurist.testing.kafka.ports import Address

VARIABLE: Final = "PROKURIST_TEST_BOOTSTRAP"


def given_bootstrap(environ: Mapping[str, str] | None = None) -> tuple[Address, ...]:
    """The addresses that the environment gives; none if it gives nothing.

    Raises:
        KafkaFailed: Its value is not a list of `host:port`.
    """
    text = (os.environ if environ is None else environ).get(VARIABLE, "")
    try:
        return tuple(Address.parse(part) for part in text.split(",") if part.strip())
    except ValueError as error:
        raise KafkaFailed(
            f"{VARIABLE}={text!r} cannot be read: {error}", way_out="give host:port"
        ) from error
