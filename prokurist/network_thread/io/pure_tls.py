"""TLS without the native pump: `ssl` decrypts, record by record.

Thread: the network thread.
"""

from ssl import SSLObject

from prokurist.network_thread.io.framing import MemoryFor, fresh_memory

DRAINED, FULL, ENDED, FAILED, EXCESS = range(5)
"""Ends of a pump's read; see `_native_tls`."""


def pump_of(_connection: SSLObject) -> None:
    """None: the pure twin has no pump."""


def frame_memory() -> MemoryFor:
    """Return the allocator for the frames of one watch."""
    return fresh_memory
