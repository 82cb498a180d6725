"""Content of a push: the requested metrics, compressed, within the broker's limit.

Thread: the network thread alone.
"""

from collections.abc import Collection, Sequence
from typing import Final, NamedTuple, Protocol

from prokurist.network_thread.wire.telemetry import SubscriptionAnswer
from prokurist.records.compression import Compression, compress

CODECS: Final = frozenset({each.value for each in Compression})


class MetricsSource(Protocol):
    """Reads the client's metrics, and writes them as OpenTelemetry's `MetricsData`."""

    def collect(self, prefixes: Sequence[str], *, delta: bool) -> list[bytes]:
        """Return the metrics that match any of some prefixes, the most important first."""
        ...

    def document(self, metrics: Sequence[bytes]) -> bytes:
        """The whole, out of some of them."""
        ...

    def taken(self) -> None:
        """Begin the next push at the end of the last collected one."""
        ...


class Payload(NamedTuple):
    """A push.

    Attributes:
        codec: How it is compressed.
        data: Its bytes.
        metrics: How many metrics are in it.
        left_out: How many are not, since the broker takes no more bytes.
    """

    codec: Compression
    data: bytes
    metrics: int
    left_out: int


def payload_of(
    source: MetricsSource, told: SubscriptionAnswer, unfit: Collection[int]
) -> Payload | None:
    """Make a push; None where there is nothing to tell.

    Args:
        source: Of the metrics.
        told: The subscription.
        unfit: Compressions that a broker has refused.
    """
    found = source.collect(told.metrics, delta=told.delta)
    codec = codec_of(told.compressions, unfit)
    kept = len(found)
    while kept:
        data = compress(codec, source.document(found[:kept]))
        if len(data) <= told.most_bytes:
            return Payload(codec, data, kept, len(found) - kept)
        kept //= 2
    return None


def codec_of(accepted: Sequence[int], unfit: Collection[int]) -> Compression:
    """The first compression that the broker accepts and we have; else none."""
    for number in accepted:
        if number in CODECS and number not in unfit:
            return Compression(number)
    return Compression.NONE
