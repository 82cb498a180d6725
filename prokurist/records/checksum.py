"""The checksum of record batches, CRC-32C, by the twin that serves.

Thread: either; pure functions. From 32 KiB on the native twin releases the GIL.
"""

from collections.abc import Mapping
from typing import Final, Protocol, cast

from prokurist.records.pure_checksum import Data
from prokurist.twins import Choice, chosen

MODULES: Final[Mapping[str, str]] = {
    "native": "prokurist.records._native_checksum",
    "python": "prokurist.records.pure_checksum",
}
"""The twins, the preferred one first."""


class Checksum(Protocol):
    """The function of both twins."""

    def __call__(self, data: Data, value: int = 0, /) -> int:
        """Return the CRC-32C of bytes, behind others whose checksum is `value`."""
        ...


CHOICE: Final[Choice] = chosen(MODULES)
"""The choice for this process."""

crc32c: Final = cast("Checksum", CHOICE.module.crc32c)
