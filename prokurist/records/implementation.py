"""Which twin of the record codec runs, decided once at import; see `twins`.

Thread: the importing one; constant afterwards.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Final, Protocol, cast

from prokurist.records.columns import Columns, Spans
from prokurist.records.encode import NewRecord
from prokurist.records.headers import BatchHeader, Extent
from prokurist.records.record import ConsumerRecord
from prokurist.records.run import RecordRun
from prokurist.twins import chosen

Bytes = bytes | bytearray | memoryview

MODULES: Final[Mapping[str, str]] = {
    "native": "prokurist.records._native",
    "python": "prokurist.records.pure",
}
"""The twins, the preferred one first."""


class Codec(Protocol):
    """What both twins offer; see `prokurist.records.pure`."""

    @property
    def encode_varint(self) -> Callable[[int], bytes]:
        """See `prokurist.records.varints`."""
        ...

    @property
    def decode_varint(self) -> Callable[[bytes | memoryview, int], tuple[int, int]]:
        """See `prokurist.records.varints`."""
        ...

    @property
    def encode_records(self) -> Callable[[Iterable[NewRecord], int], bytes]:
        """See `prokurist.records.encode`."""
        ...

    @property
    def decode_batch(self) -> Callable[[str, int, BatchHeader, Bytes, int, int], Columns]:
        """See `prokurist.records.decode`."""
        ...

    @property
    def decode_messages(
        self,
    ) -> Callable[[str, int, BatchHeader, bytes | bytearray, int], Columns]:
        """See `prokurist.records.legacy`."""
        ...

    @property
    def extent(self) -> Callable[[bytes | memoryview], Extent]:
        """See `prokurist.records.headers`."""
        ...

    @property
    def header_at(self) -> Callable[[bytes | memoryview, int], BatchHeader | None]:
        """See `prokurist.records.headers`."""
        ...

    @property
    def gathered(self) -> Callable[[Sequence[Spans]], tuple[bytes, bytes, bytes | None]]:
        """See `prokurist.records.columns`."""
        ...

    @property
    def Columns(self) -> type[Columns]:  # noqa: N802 - it is a class
        """See `prokurist.records.columns`."""
        ...

    @property
    def RecordRun(self) -> type[RecordRun]:  # noqa: N802 - it is a class
        """See `prokurist.records.run`."""
        ...

    @property
    def ConsumerRecord(self) -> type[ConsumerRecord]:  # noqa: N802 - it is a class
        """See `prokurist.records.record`."""
        ...


CHOICE: Final = chosen(MODULES)
"""The choice for this process."""

CODEC: Final = cast("Codec", CHOICE.module)
"""What serves in this process."""
