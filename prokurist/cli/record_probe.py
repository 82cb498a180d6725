"""Read of one record, for `prokurist doctor`: tests the right to read, and the data path.

Thread: the main one.
"""

from collections.abc import Sequence

from prokurist.consumer.consumer import KafkaConsumer
from prokurist.errors import KafkaException
from prokurist.events.clock import Deadline, MonotonicClock
from prokurist.types import TopicPartition, named


def last_record(
    consumer: KafkaConsumer,
    partitions: Sequence[TopicPartition],
    timeout: float,
) -> str:
    """Read one of the last records of some partitions; nothing is committed.

    Args:
        consumer: A consumer that is not subscribed.
        partitions: The partitions.
        timeout: Seconds for all of it.

    Returns:
        The finding, in words.

    Raises:
        KafkaException: None could be read in time; the text says why.
    """
    clock = MonotonicClock()
    deadline = Deadline.after(clock.now(), timeout)
    begins = consumer.beginning_offsets(partitions, deadline.remaining(clock.now()))
    ends = consumer.end_offsets(partitions, deadline.remaining(clock.now()))
    filled = [tp for tp in partitions if begins[tp] < ends[tp]]
    if not filled:
        return f"there are none in {named(partitions)}"
    consumer.assign(filled)
    for tp in filled:
        consumer.seek(tp, ends[tp] - 1)
    records = consumer.poll(deadline.remaining(clock.now()))
    for record in records:
        return f"{record.topic}-{record.partition} was read at {record.offset}"
    if any(consumer.position(tp, deadline.remaining(clock.now())) == ends[tp] for tp in filled):
        return f"the newest of {named(filled)} are markers of transactions"
    raise KafkaException(f"no record of {named(filled)} was read in time: {records.why_empty}")
