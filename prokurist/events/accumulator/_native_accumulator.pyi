# To a type checker the native twin is the pure one: that is the promise.
from prokurist.events.accumulator.appending import Appender as Appender
from prokurist.events.accumulator.appending import QueueBase as QueueBase
from prokurist.events.accumulator.appending import Sender as Sender
from prokurist.events.accumulator.appending import TopicQueues as TopicQueues
from prokurist.events.accumulator.batch_buffer import BatchBuffer as BatchBuffer
from prokurist.events.accumulator.delivery import Delivery as Delivery
from prokurist.events.accumulator.murmur2 import murmur2 as murmur2
from prokurist.events.accumulator.murmur2 import partition_of_key as partition_of_key
from prokurist.events.accumulator.rows import Places as Places
