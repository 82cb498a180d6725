"""Clients for coroutines in a process of their own, with its signals and its end."""

import signal
import subprocess
import sys
import time

from prokurist.testing.broker import EmbeddedBroker

INTERRUPTED = """
import asyncio, sys
from prokurist.aio import KafkaConsumer

async def main():
    async with KafkaConsumer(bootstrap_servers=sys.argv[1], group_id="g") as consumer:
        consumer.subscribe("orders")
        await consumer.wait_until_ready(20.0)
        print("ready", flush=True)
        await consumer.poll(100.0)

try:
    asyncio.run(main())
except KeyboardInterrupt:
    print("interrupted")
"""

FORGOTTEN = """
import asyncio, sys
from prokurist.aio import KafkaConsumer, KafkaProducer

consumer = KafkaConsumer(bootstrap_servers=sys.argv[1], group_id="g")
producer = KafkaProducer(bootstrap_servers=sys.argv[1])

async def main():
    consumer.subscribe("orders")
    await (await producer.send("orders", b"v"))
    await consumer.poll(5.0)

asyncio.run(main())
print("ended")
"""


def test_ctrl_c_in_a_poll() -> None:
    """B710: `asyncio.run` ends by it within two seconds, and nothing else is printed."""
    with EmbeddedBroker(1, {"orders": 1}) as broker:
        command = [sys.executable, "-W", "error", "-c", INTERRUPTED, broker.bootstrap]
        with subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        ) as child:
            assert child.stdout is not None
            assert child.stdout.readline() == "ready\n"
            began = time.monotonic()
            child.send_signal(signal.SIGINT)
            out, err = child.communicate(timeout=20.0)
            assert (out, err) == ("interrupted\n", "")
            assert time.monotonic() - began < 5.0


def test_clients_that_are_not_closed_are_at_the_exit() -> None:
    """B708: though their loop has ended before."""
    with EmbeddedBroker(1, {"orders": 1}) as broker:
        command = [sys.executable, "-W", "error", "-c", FORGOTTEN, broker.bootstrap]
        ended = subprocess.run(
            command, capture_output=True, text=True, timeout=60.0, check=False
        )
        assert (ended.stdout, ended.stderr, ended.returncode) == ("ended\n", "", 0)
