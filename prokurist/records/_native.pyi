# To a type checker the native twin is the pure one: that is the promise.
from prokurist.records.columns import Columns as Columns
from prokurist.records.columns import gathered as gathered
from prokurist.records.decode import decode_batch as decode_batch
from prokurist.records.encode import encode_records as encode_records
from prokurist.records.headers import extent as extent
from prokurist.records.headers import header_at as header_at
from prokurist.records.record import ConsumerRecord as ConsumerRecord
from prokurist.records.run import RecordRun as RecordRun
from prokurist.records.varints import decode_varint as decode_varint
from prokurist.records.varints import encode_varint as encode_varint
