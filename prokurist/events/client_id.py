"""Default `client.id` of a client without a configured one.

Thread: the application's, in a constructor.
"""

import os
import re
from itertools import count
from typing import Final

NUMBERS: Final = count(1)
LONGEST_HOST: Final = 63
"""A host name's first label, and a pod's name with it, is no longer."""
NOT_PLAIN: Final = re.compile(r"[^A-Za-z0-9._-]")
"""Characters that brokers would have to quote in the names of their metrics."""


def default_client_id(role: str) -> str:
    """A name that no other client has: host, process and number.

    Args:
        role: "consumer" or "producer".
    """
    host = NOT_PLAIN.sub("_", os.uname().nodename.partition(".")[0])[:LONGEST_HOST]
    return f"prokurist-{role}-{host}-{os.getpid()}-{next(NUMBERS)}"
