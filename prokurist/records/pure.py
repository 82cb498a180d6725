"""The pure twin: the specification, gathered in one place.

Thread: either; nothing here keeps state.
"""

from prokurist.records.columns import Columns, gathered
from prokurist.records.decode import decode_batch
from prokurist.records.encode import encode_records
from prokurist.records.headers import extent, header_at
from prokurist.records.legacy import decode_messages
from prokurist.records.record import ConsumerRecord
from prokurist.records.run import RecordRun
from prokurist.records.varints import decode_varint, encode_varint

__all__ = [
    "Columns",
    "ConsumerRecord",
    "RecordRun",
    "decode_batch",
    "decode_messages",
    "decode_varint",
    "encode_records",
    "encode_varint",
    "extent",
    "gathered",
    "header_at",
]
