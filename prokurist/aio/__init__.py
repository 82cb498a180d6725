"""Clients for coroutines: the names of `prokurist`, with calls that are awaited.

    from prokurist.aio import KafkaAdmin, KafkaConsumer, KafkaProducer, KafkaShareConsumer

The network threads are those of the clients of threads, so nothing of Kafka runs on the event
loop: a handler that blocks it for a minute costs no heartbeat.

Thread: that of the event loop.
"""

from prokurist.aio.admin import KafkaAdmin
from prokurist.aio.call_report import CallReport
from prokurist.aio.consumer import KafkaConsumer
from prokurist.aio.offset_tracker import OffsetTracker
from prokurist.aio.producer import KafkaProducer
from prokurist.aio.read_process_write import ReadProcessWrite
from prokurist.aio.share_consumer import KafkaShareConsumer
from prokurist.aio.transaction_block import TransactionBlock

__all__ = [
    "CallReport",
    "KafkaAdmin",
    "KafkaConsumer",
    "KafkaProducer",
    "KafkaShareConsumer",
    "OffsetTracker",
    "ReadProcessWrite",
    "TransactionBlock",
]
