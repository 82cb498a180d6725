"""First exchange on a connection: ApiVersions, for the broker's API versions.

Thread: the network thread alone.
"""

from prokurist.errors import DisconnectException, KafkaException, error_for
from prokurist.network_thread.connections.pipeline import Pipeline
from prokurist.network_thread.counters import TrafficCounters
from prokurist.network_thread.io.network import Network
from prokurist.network_thread.operations.timer import Timer
from prokurist.network_thread.wire import codec
from prokurist.network_thread.wire.api_versions import ApiVersions, ApiVersionsAnswer
from prokurist.network_thread.wire.apis import API_VERSIONS
from prokurist.network_thread.wire.versions import Range, Versions, negotiate
from prokurist.types import Node

UNSUPPORTED_VERSION = 35


class Greeting:
    """Sends ApiVersions on one connection, again in an older version if the broker asks for it.

    Args:
        request: The request.
        client_id: Said in the request.
        cap: Upper bounds on versions, in tests of old protocols.
    """

    def __init__(
        self,
        request: ApiVersions,
        *,
        client_id: str,
        cap: Versions | None,
        network: Network,
        timer: Timer,
        pipeline: Pipeline,
        counters: TrafficCounters,
    ) -> None:
        self._request = request
        self._client_id = client_id
        self._cap = cap
        self._network = network
        self._timer = timer
        self._pipeline = pipeline
        self._counters = counters
        self._number = -1
        self._asked = (0, 0)
        self._asked_at = 0.0

    def begin(self, number: int) -> None:
        """Send ApiVersions on the socket of this number.

        Raises:
            KafkaException: The request cannot be written, as with a `client.id` that the
                protocol has no room for.
        """
        self._number = number
        ours = Versions({API_VERSIONS.key: Range(0, API_VERSIONS.newest)})
        self._ask(negotiate(API_VERSIONS, ours, self._cap))

    def _ask(self, version: int) -> None:
        if not self._network.writable(self._number):
            return  # It is lost already: that stands behind this in the same batch.
        correlation = self._pipeline.correlate()
        self._asked = (correlation, version)
        frame = codec.encode(self._request, version, correlation, self._client_id)
        self._network.write(self._number, frame)
        self._asked_at = self._timer.now
        self._counters.wrote(
            self._pipeline.node.id, API_VERSIONS.name, len(frame), self._timer.now
        )

    def answered(self, frame: memoryview) -> ApiVersionsAnswer | None:
        """Take the answer; None if an older version is sent now.

        Raises:
            DisconnectException: It is no answer to this request, or a refusal.
            KafkaException: It cannot be read.
        """
        node = self._pipeline.node
        correlation, version = self._asked
        if codec.correlation_id(frame) != correlation:
            raise DisconnectException(f"{node} answered another request than ApiVersions")
        answer = codec.decode(self._request, version, frame)
        took = self._timer.now - self._asked_at
        self._counters.answered(node.id, API_VERSIONS.name, len(frame), took, answer.throttle)
        if answer.error == UNSUPPORTED_VERSION:
            self._ask(answer.version_to_ask_again(version))
            return None
        refused = error_for(answer.error)
        if refused is not None:
            raise DisconnectException(f"{node} refused ApiVersions: {refused}") from refused
        return answer


def as_disconnect(node: Node, error: KafkaException) -> DisconnectException:
    """The error that requests get for an answer that cannot be read."""
    if isinstance(error, DisconnectException):
        return error
    failure = DisconnectException(f"no talking to {node}, the connection was closed: {error}")
    failure.__cause__ = error
    return failure
