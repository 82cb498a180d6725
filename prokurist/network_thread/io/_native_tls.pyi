from ssl import SSLObject

from prokurist.network_thread.io.framing import MemoryFor

DRAINED: int
FULL: int
ENDED: int
FAILED: int
EXCESS: int

class Pump:
    def read(
        self,
        descriptor: int,
        scratch: memoryview,
        room: memoryview,
        wake: int,
        patience: int,
        receives: bool,
    ) -> tuple[int, int, int]: ...

def is_known(inner: object) -> bool: ...
def frame_memory() -> MemoryFor: ...
def pump_of(connection: SSLObject) -> Pump | None: ...
