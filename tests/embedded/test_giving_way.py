"""The thread of a member that gives way, as the kernel sees it."""

import ctypes
import struct
import threading
import time

import pytest

from prokurist import KafkaConsumer
from prokurist.network_thread.io.slices import LONG
from prokurist.testing.broker import EmbeddedBroker

SCHED_GETATTR = 315
"""The number of the call on x86-64."""

WITHIN = 20.0


def slice_of(thread: int) -> int:
    """In nanoseconds; 0 where this kernel tells of none."""
    found = ctypes.create_string_buffer(48)
    if ctypes.CDLL(None).syscall(SCHED_GETATTR, thread, found, 48, 0) != 0:
        return 0
    return int(struct.unpack("=IIQiIQQQ", found.raw)[5])


@pytest.mark.parametrize("protocol", ["classic", "consumer"])
def test_its_slices_are_long_until_it_reads(broker: EmbeddedBroker, protocol: str) -> None:
    """And those of the thread that polls stay what they were."""
    usual = slice_of(threading.get_native_id())
    if not usual:
        pytest.skip("this kernel tells of no slices: Linux does since 6.12, on x86-64 here")
    until = time.monotonic() + WITHIN
    with KafkaConsumer(
        bootstrap_servers=broker.bootstrap,
        client_id="gives-way",
        group_id="giving-way",
        group_protocol=protocol,
    ) as consumer:
        consumer.subscribe("orders")
        seen = set[int]()
        while not (consumer.assignment() and LONG in seen and usual in seen):
            assert time.monotonic() < until, (seen, usual)
            consumer.poll(0.01)
            if not consumer.assignment():
                seen.clear()
            (thread,) = (each for each in threading.enumerate() if "gives-way" in each.name)
            seen.add(slice_of(thread.native_id or 0))
            assert slice_of(threading.get_native_id()) == usual
