from ssl import SSLObject

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
def pump_of(connection: SSLObject) -> Pump | None: ...
