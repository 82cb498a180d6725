"""Free ports on loopback.

Thread: any; no state. No one can hold a port between the moment it is found free and the
moment the broker binds it: the caller tries again with others. Among processes that choose
here, the one that has bound the UDP port of the same number has it, also while its node is
down.
"""

import contextlib
import secrets
import socket
from typing import Final, NamedTuple

from prokurist.testing.kafka.errors import PortTaken

LOOPBACK: Final = "127.0.0.1"

# Below the range from which systems take the ports of outgoing connections: a node
# that was killed comes back to its ports, and no other process's client may use them.
_LOWEST: Final = 20_000
_HIGHEST: Final = 32_000


class Address(NamedTuple):
    """Host and port of a listener."""

    host: str
    port: int

    def __str__(self) -> str:
        return f"{self.host}:{self.port}"

    @classmethod
    def parse(cls, text: str) -> "Address":
        """An address out of `host:port`.

        Raises:
            ValueError: It is no such thing.
        """
        host, colon, port = text.strip().rpartition(":")
        if not colon or not host or not port.isdecimal() or not 0 < int(port) < 65536:
            raise ValueError(f"expected host:port, not {text!r}")
        return cls(host.removeprefix("[").removesuffix("]"), int(port))


def is_free(port: int) -> bool:
    """True if a program that starts now can listen on the port."""
    with socket.socket() as probe:
        # As the broker does: the last connections of a broker that was there before
        # do not count.
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((LOOPBACK, port))
            probe.listen(1)
        except OSError:
            return False
    return True


def check_free(port: int | None) -> None:
    """Look at a port that the user chose; None is no choice.

    Raises:
        PortTaken: Another program listens there.
    """
    if port is not None and not is_free(port):
        raise PortTaken(
            f"port {port} is taken",
            way_out="end the program that listens there, choose another, or leave it out",
        )


def free_ports(
    count: int, *, but: int | None = None, held: contextlib.ExitStack | None = None
) -> list[int]:
    """Different ports, each of them free a moment ago.

    Args:
        count: How many.
        but: One that must not be among them.
        held: Keeps them from all others who choose, in any process, until it is closed; None
            for as long as this looks.

    Raises:
        OSError: The system gives none at all.
    """
    found: list[int] = []
    with contextlib.ExitStack() as looking, contextlib.ExitStack() as holding:
        for _ in range(100 * count):
            if len(found) == count:
                break
            port = _LOWEST + secrets.randbelow(_HIGHEST - _LOWEST)
            if port == but or port in found:
                continue
            with contextlib.ExitStack() as one:
                claim = one.enter_context(socket.socket(type=socket.SOCK_DGRAM))
                probe = one.enter_context(socket.socket())
                with contextlib.suppress(OSError):
                    claim.bind((LOOPBACK, port))
                    probe.bind((LOOPBACK, port))
                    found.append(port)
                    one.pop_all()
                    looking.enter_context(probe)
                    holding.enter_context(claim)
        if len(found) < count:
            raise OSError(f"no {count} free ports between {_LOWEST} and {_HIGHEST}")
        if held is not None:
            held.push(holding.pop_all())
    return found
