"""Where the native pump is not: `ssl` decrypts, record by record.

Thread: the network thread.
"""

from ssl import SSLObject

from prokurist.network_thread.io.framing import MemoryFor, fresh_memory

DRAINED, FULL, ENDED, FAILED, EXCESS = range(5)
"""How a read of a pump ends; see `_native_tls`."""


def pump_of(_connection: SSLObject) -> None:
    """None: the pure twin has no pump."""


def frame_memory() -> MemoryFor:
    """What allocates the memory of one watch's frames."""
    return fresh_memory
