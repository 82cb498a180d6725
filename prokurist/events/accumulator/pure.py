"""The pure twin: the specification, gathered in one place.

Thread: any; see the modules.
"""

from prokurist.events.accumulator.appending import Appender, QueueBase, Sender, TopicQueues
from prokurist.events.accumulator.batch_buffer import BatchBuffer
from prokurist.events.accumulator.delivery import Delivery
from prokurist.events.accumulator.murmur2 import murmur2, partition_of_key
from prokurist.events.accumulator.rows import Places

__all__ = [
    "Appender",
    "BatchBuffer",
    "Delivery",
    "Places",
    "QueueBase",
    "Sender",
    "TopicQueues",
    "murmur2",
    "partition_of_key",
]
