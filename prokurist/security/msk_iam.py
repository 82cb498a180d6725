"""AWS_MSK_IAM: a request of Amazon's IAM, signed with Signature Version 4.

The message is JSON with the parameters of a presigned GET that names the action
`kafka-cluster:Connect` and the broker's host.

Thread: the helper's; the time of day is handed in.
"""

import json
import re
from collections.abc import Callable
from typing import Final

from prokurist.security.aws_credentials import AwsCredentials
from prokurist.security.mechanism import printable, refused
from prokurist.security.sigv4 import presigned
from prokurist.version import VERSION

SERVICE: Final = "kafka-cluster"
ACTION: Final = "kafka-cluster:Connect"
VALID_SECONDS: Final = 900
PAYLOAD_VERSION: Final = "2020_10_22"

_HOST_REGION: Final = re.compile(r"\.([a-z]{2}(?:-[a-z]+)+-\d+)\.(?:vpce\.)?amazonaws\.com")


def region_of(host: str) -> str | None:
    """Extract the region from the name of an MSK broker; None for another host."""
    found = _HOST_REGION.search(host.lower())
    return None if found is None else found[1]


class MskIam:
    """An AWS_MSK_IAM authentication: one signed request.

    Args:
        host: The broker's name, as signed.
        credentials: Reads the credentials.
        now: The time of day, in seconds since 1970.
        refused: Drops credentials that the broker has refused.
    """

    name = "AWS_MSK_IAM"

    def __init__(
        self,
        host: str,
        credentials: Callable[[], AwsCredentials],
        now: Callable[[], float],
        refused: Callable[[], None],
    ) -> None:
        self._refused = refused
        self._host = host
        self._credentials = credentials
        self._now = now

    def first(self) -> bytes:
        """Sign the payload that is the first message."""
        credentials = self._credentials()
        # A client in one region may have its cluster in another, as its name says.
        region = region_of(self._host) or credentials.region
        if region is None:
            raise refused(
                self.name,
                f"the region is not known: set AWS_REGION, since {self._host} does not name it",
            )
        query = presigned(
            self._host,
            credentials,
            region=region,
            service=SERVICE,
            at=self._now(),
            parameters={"Action": ACTION},
            valid=VALID_SECONDS,
        )
        payload = {
            "version": PAYLOAD_VERSION,
            "host": self._host,
            "user-agent": f"prokurist/{VERSION}",
            **{name.lower(): value for name, value in query.items()},
        }
        return json.dumps(payload, separators=(",", ":")).encode()

    def answer(self, challenge: bytes) -> None:
        """Check the broker's acceptance, which has the id of its request."""
        try:
            told = json.loads(challenge)
        except (ValueError, RecursionError):
            told = None
        if not isinstance(told, dict) or told.get("version") != PAYLOAD_VERSION:
            shown = printable(challenge[:80].decode("utf-8", "replace"))
            raise refused(self.name, f"the broker's answer is not understood: {shown!r}")

    def explain(self, told: str) -> str:
        """Name the credentials, policy and clock as what to check; find others next time."""
        self._refused()
        return (
            f"{told}; check the credentials in use, that their policy allows {ACTION}, and "
            "this machine's clock"
        )

    def __repr__(self) -> str:
        return f"MskIam({self._host!r})"
