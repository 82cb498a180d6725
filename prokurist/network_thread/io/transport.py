"""The socket of a connection: how it is made, and how its errors read.

Thread: the network thread. Nothing here waits.
Invariants: a socket that is handed out does not block and is not inherited; one
that could not be made or connected is closed before the error is raised.

This is where a transport that wraps the socket would be put: `opened` makes it,
`begun` and `outcome` bring it up.
"""

import errno
import os
import socket
from contextlib import suppress
from typing import Final

from prokurist.network_thread.io.network import SocketAddress

# A process that has given SIGPIPE its default back (command-line tools do) must
# not die of a broker that hung up. Where the flag is missing there is nothing to do.
SEND_FLAGS: Final[int] = getattr(socket, "MSG_NOSIGNAL", 0)

PROBES: Final = 4
"""After so many without an answer, a quarter of the idle time apart, a connection is lost."""
IDLE_OPTION: Final = "TCP_KEEPIDLE" if hasattr(socket, "TCP_KEEPIDLE") else "TCP_KEEPALIVE"
"""macOS has its own name for it."""


def opened(
    address: SocketAddress,
    *,
    receive_buffer_bytes: int,
    send_buffer_bytes: int,
    keepalive: int | None = None,
) -> socket.socket:
    """Make a socket for an address, not connected yet.

    Args:
        address: Where it will go.
        receive_buffer_bytes: The kernel's buffer; -1 leaves it to the system.
        send_buffer_bytes: The same for the other way.
        keepalive: Seconds without traffic until the system sends the first probe; None for
            no probes.

    Raises:
        OSError: The system gives none.
    """
    family = socket.AF_INET6 if ":" in address.host else socket.AF_INET
    made = socket.socket(family, socket.SOCK_STREAM)
    try:
        made.setblocking(False)
        made.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        if keepalive is not None:
            _probe(made, keepalive)
        # Before the connect, which is when the window's scale is agreed upon.
        if receive_buffer_bytes != -1:
            made.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_buffer_bytes)
        if send_buffer_bytes != -1:
            made.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, send_buffer_bytes)
    except BaseException:
        made.close()
        raise
    return made


def _probe(made: socket.socket, idle: int) -> None:
    """Have the system probe an idle connection; where it has no option, its own times hold."""
    made.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    times = {
        IDLE_OPTION: idle,
        "TCP_KEEPINTVL": max(idle // PROBES, 1),
        "TCP_KEEPCNT": PROBES,
    }
    for option, value in times.items():
        if (number := getattr(socket, option, None)) is not None:
            made.setsockopt(socket.IPPROTO_TCP, number, value)


def begun(made: socket.socket, address: SocketAddress) -> bool:
    """Begin to connect a socket.

    Returns:
        True if it is done already; else the socket becomes writable when it is.

    Raises:
        OSError: It failed at once.
    """
    # Metadata may name any host. A name would be looked up
    # here, and block; so only numeric addresses get further.
    numeric = False
    with suppress(OSError, ValueError):
        socket.inet_pton(made.family, address.host)
        numeric = True
    if not numeric:
        raise OSError(errno.EINVAL, f"{address.host!r} is not a numeric address")
    if not 0 <= address.port <= 0xFFFF:
        raise OSError(errno.EINVAL, f"{address.port} is not a port")
    target: tuple[str, int] | tuple[str, int, int, int] = (address.host, address.port)
    if made.family == socket.AF_INET6:
        target = (*target[:2], 0, address.scope)
    code = made.connect_ex(target)
    if code == errno.EINPROGRESS:
        return False
    if code:
        raise OSError(code, os.strerror(code))
    outcome(made)
    return True


def outcome(made: socket.socket) -> None:
    """The outcome of connecting a socket that has become writable.

    Raises:
        OSError: It failed.
    """
    if code := made.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR):
        raise OSError(code, os.strerror(code))
    # A port without a listener, out of the range that the system draws local
    # ports from, may be drawn for this very socket: TCP then connects it to
    # itself, and our own requests would come back as answers.
    if made.getsockname() == made.getpeername():
        raise OSError(
            errno.ECONNREFUSED, "nothing listens there; the socket connected to itself"
        )


def told(error: OSError) -> str:
    """An OSError in a sentence: its text, and the name of its code."""
    name = errno.errorcode.get(error.errno or 0)
    text = error.strerror or str(error)
    return f"{text} ({name})" if name else text
