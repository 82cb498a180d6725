"""Peers with TLS of the standard library's, and what tests of connections with TLS share."""

import ssl
import threading
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

from prokurist.config import ConsumerConfig
from prokurist.network_thread.io.network import Lost
from prokurist.testing.kafka.pki import Authority
from tests.unit.network_thread.io.conftest import Driver, Peer

Drive = Callable[[ConsumerConfig], Driver]


def serving(peer: Peer, context: ssl.SSLContext, act: Callable[[ssl.SSLSocket], None]) -> None:
    """Accept one connection in a thread, and act on it once its handshake is over."""

    def run() -> None:
        accepted = peer.accept()
        with suppress(OSError), context.wrap_socket(accepted, server_side=True) as secured:
            act(secured)

    threading.Thread(target=run, daemon=True).start()


def taken(secured: ssl.SSLSocket, count: int) -> bytes:
    """So many bytes."""
    data = b""
    while len(data) < count:
        data += secured.recv(count - len(data))
    return data


def server_context(certificate: Path, **attributes: Any) -> ssl.SSLContext:
    """What a broker has."""
    made = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    made.load_cert_chain(certificate)
    for name, value in attributes.items():
        setattr(made, name, value)
    return made


def keys_of(authority: Authority, **more: Any) -> ConsumerConfig:
    """A client's configuration."""
    return ConsumerConfig(
        {
            "bootstrap.servers": "localhost:1",
            "security.protocol": "SSL",
            "ssl.ca.location": str(authority.location),
            **more,
        }
    )


def ends(driver: Driver) -> list[Lost]:
    """How connections were lost."""
    return [each for each in driver.told if isinstance(each, Lost)]


def framed(body: bytes) -> bytes:
    """A frame with its length."""
    return len(body).to_bytes(4, "big") + body
