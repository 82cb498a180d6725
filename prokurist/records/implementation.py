"""Choice of the record codec's twin, made once at import; see `twins`.

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
    """Interface of both twins; see `prokurist.records.pure`."""

    @property
    def encode_varint(self) -> Callable[[int], bytes]:
        """Encodes a signed number as a varint; see `prokurist.records.varints`."""
        ...

    @property
    def decode_varint(self) -> Callable[[bytes | memoryview, int], tuple[int, int]]:
        """Decodes a varint; see `prokurist.records.varints`."""
        ...

    @property
    def encode_records(self) -> Callable[[Iterable[NewRecord], int], bytes]:
        """Writes records one behind the other; see `prokurist.records.encode`."""
        ...

    @property
    def decode_batch(self) -> Callable[[str, int, BatchHeader, Bytes, int, int], Columns]:
        """Decodes a batch of magic 2 to columns; see `prokurist.records.decode`."""
        ...

    @property
    def decode_messages(
        self,
    ) -> Callable[[str, int, BatchHeader, bytes | bytearray, int], Columns]:
        """Decodes messages of magic 0 and 1; see `prokurist.records.legacy`."""
        ...

    @property
    def extent(self) -> Callable[[bytes | memoryview], Extent]:
        """Finds where a run of batches ends; see `prokurist.records.headers`."""
        ...

    @property
    def header_at(self) -> Callable[[bytes | memoryview, int], BatchHeader | None]:
        """Reads the header of one batch; see `prokurist.records.headers`."""
        ...

    @property
    def gathered(self) -> Callable[[Sequence[Spans]], tuple[bytes, bytes, bytes | None]]:
        """Joins columns of byte strings for Arrow; see `prokurist.records.columns`."""
        ...

    @property
    def Columns(self) -> type[Columns]:  # noqa: N802 - it is a class
        """The class of decoded batches; see `prokurist.records.columns`."""
        ...

    @property
    def RecordRun(self) -> type[RecordRun]:  # noqa: N802 - it is a class
        """The class of runs of records; see `prokurist.records.run`."""
        ...

    @property
    def ConsumerRecord(self) -> type[ConsumerRecord]:  # noqa: N802 - it is a class
        """The class of records that users read; see `prokurist.records.record`."""
        ...


CHOICE: Final = chosen(MODULES)
"""The choice for this process."""

CODEC: Final = cast("Codec", CHOICE.module)
"""The twin in use in this process."""
