"""Happenings on a client's network, from deliveries of the model's brokers."""

from collections.abc import Iterator

from prokurist.errors import DisconnectException, SslAuthenticationException
from prokurist.network_thread.io.framing import ALERT_SEEN, FrameReader, objection
from prokurist.network_thread.io.network import Arrived, Happening, Lost
from prokurist.network_thread.io.selector import GREETING_BYTES, LARGEST_FRAME_BYTES
from prokurist.testing.cluster.session import Delivery


def told(delivery: Delivery, connection: int, *, trusted: bool) -> Iterator[Happening]:
    """The happenings of a delivery, on the connection that it concerns.

    Args:
        delivery: The broker's delivery.
        connection: The client's number of the connection.
        trusted: True if the broker has answered on it.
    """
    if delivery.end is not None:
        yield Lost(connection, DisconnectException(f"the broker {delivery.end.value} it"))
    elif delivery.framed:
        size = len(delivery.frame)
        largest = LARGEST_FRAME_BYTES if trusted else GREETING_BYTES
        if wrong := objection(size, largest, size.to_bytes(4, "big"), first=False):
            yield Lost(connection, DisconnectException(f"the peer sent {wrong}"), strange=True)
        else:
            yield Arrived(connection, memoryview(delivery.frame))
    else:
        yield from read(delivery.frame, connection, trusted=trusted)


def read(data: bytes, connection: int, *, trusted: bool) -> Iterator[Happening]:
    """The same for bytes without a length before them."""
    scratch = bytearray(data)
    reader = FrameReader(memoryview(scratch), LARGEST_FRAME_BYTES)
    for frame in reader.took(len(data)):
        yield Arrived(connection, frame)
    if reader.refused:
        refuses = ALERT_SEEN in reader.refused and not trusted
        kind = SslAuthenticationException if refuses else DisconnectException
        yield Lost(connection, kind(f"the peer sent {reader.refused}"), strange=True)
