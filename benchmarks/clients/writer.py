"""Writes one record to every partition of a topic, again and again, and notes each time.

    python writer.py BOOTSTRAP TOPIC PARTITIONS PACE JOURNAL

All partitions are written in one request every PACE seconds, by the harness's own wire:
so the writing costs little, and every partition has a new record at the same moment. The
journal gets a line for each request: when it was made and when it was answered, by the
monotonic clock. Its records have come to be read somewhere between the two.

Thread: the main one, until it is killed.
"""

import os
import sys
import time
from datetime import timedelta
from typing import Any

from kio.schema.produce.v9.request import (
    PartitionProduceData,
    ProduceRequest,
    TopicProduceData,
)
from kio.schema.produce.v9.response import ProduceResponse
from kio.schema.types import TopicName
from kio.static.primitive import Records, i16, i32, i32Timedelta

from prokurist.events.clock import Deadline, MonotonicClock
from prokurist.records.encode import encode_batch
from prokurist.testing.kafka.ports import Address
from prokurist.testing.kafka.wire import BrokerConnection

PATIENCE = 30.0


def request(topic: str, partitions: int) -> ProduceRequest:
    """One record for each partition; the broker gives them their offsets."""
    batch = Records(encode_batch([(int(time.time() * 1000), None, b"steady", [])]))
    rows: Any = tuple(
        PartitionProduceData(index=i32(each), records=batch) for each in range(partitions)
    )
    return ProduceRequest(
        acks=i16(1),
        timeout=i32Timedelta.parse(timedelta(seconds=PATIENCE)),
        topic_data=(TopicProduceData(name=TopicName(topic), partition_data=rows),),
    )


def main() -> None:
    """Write at a steady pace; what was late is not made up for."""
    bootstrap, topic, partitions, pace, path = sys.argv[1:]
    clock = MonotonicClock()
    address = Address.parse(bootstrap.split(",", maxsplit=1)[0])
    journal = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    with BrokerConnection(address, Deadline.after(clock.now(), PATIENCE), clock) as broker:
        steady = request(topic, int(partitions))

        def write() -> list[Any]:
            answer = broker.exchange(
                steady, ProduceResponse, Deadline.after(clock.now(), PATIENCE)
            )
            rows = (row for each in answer.responses for row in each.partition_responses)
            return [row.error_code for row in rows if row.error_code]

        # A topic that was made just now has no leaders for a moment.
        prepared = Deadline.after(clock.now(), PATIENCE)
        while (refused := write()) and not prepared.expired(clock.now()):
            clock.sleep(0.1)
        print("ready", flush=True)
        sys.stdin.readline()
        due = clock.now()
        while not refused:
            asked = clock.now()
            refused = write()
            now = clock.now()
            os.write(journal, b"%.6f %.6f\n" % (asked, now))
            due = max(due + float(pace), now)
            clock.sleep(due - now)
        raise SystemExit(f"the broker refuses to take records: {refused[0]!r}")


if __name__ == "__main__":
    main()
