"""The harness's own connection against something that is no broker."""

import socket
import threading
from collections.abc import Callable, Iterator

import pytest
from kio.schema.metadata.v9.request import MetadataRequest
from kio.schema.metadata.v9.response import MetadataResponse

from prokurist.events.clock import Deadline, MonotonicClock
from prokurist.testing.kafka import AdminFailed
from prokurist.testing.kafka.ports import Address
from prokurist.testing.kafka.wire import BrokerConnection

CLOCK = MonotonicClock()

# No error, two APIs: Metadata 0 to 13 and ApiVersions 0 to 4.
VERSIONS = bytes.fromhex("0000 00000002 0003 0000 000d 0012 0000 0004")

METADATA = MetadataRequest(
    topics=(),
    allow_auto_topic_creation=False,
    include_cluster_authorized_operations=False,
    include_topic_authorized_operations=False,
)

Serving = Callable[..., Address]


@pytest.fixture
def serve() -> Iterator[Serving]:
    """Serve one connection: answer each request with the next of some bodies."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        threads: list[threading.Thread] = []

        def begin(*answers: bytes, correlation: int | None = None) -> Address:
            def run() -> None:
                connection, _ = listener.accept()
                with connection:
                    for answer in answers:
                        request = connection.recv(4096)
                        sent = request[8:12]
                        if correlation is not None:
                            sent = correlation.to_bytes(4, "big")
                        body = sent + answer
                        connection.sendall(len(body).to_bytes(4, "big") + body)
                    while connection.recv(4096):
                        pass

            threads.append(threading.Thread(target=run))
            threads[-1].start()
            return Address(*listener.getsockname())

        yield begin
        for thread in threads:
            thread.join(5)


def soon(seconds: float = 20.0) -> Deadline:
    """A deadline for something quick."""
    return Deadline.after(CLOCK.now(), seconds)


def test_versions_are_asked_for_first(serve: Serving) -> None:
    """What the broker understands is known from the start."""
    with BrokerConnection(serve(VERSIONS), soon(), CLOCK) as node:
        assert node.versions == {3: (0, 13), 18: (0, 4)}
        assert node.understands(MetadataRequest)


def test_a_version_that_the_broker_lacks_is_not_sent(serve: Serving) -> None:
    """It is an error with the versions that there are."""
    only_old = bytes.fromhex("0000 00000001 0003 0000 0008")
    with (
        BrokerConnection(serve(only_old), soon(), CLOCK) as node,
        pytest.raises(AdminFailed, match="MetadataRequest v9: it has v0 to v8") as refused,
    ):
        node.exchange(METADATA, MetadataResponse, soon())
    assert refused.value.code == "UNSUPPORTED_VERSION"


def test_silence_ends_at_the_deadline(serve: Serving) -> None:
    """And closes the connection: what came next on it could be the late answer."""
    with BrokerConnection(serve(VERSIONS), soon(), CLOCK) as node:
        with pytest.raises(AdminFailed, match="did not answer MetadataRequest by the dead"):
            node.exchange(METADATA, MetadataResponse, soon(0.1))
        with pytest.raises(AdminFailed, match="Bad file descriptor"):
            node.exchange(METADATA, MetadataResponse, soon())


def test_a_deadline_that_has_come_is_no_endless_wait(serve: Serving) -> None:
    """A socket's timeout of zero would mean something else."""
    with (
        BrokerConnection(serve(VERSIONS), soon(), CLOCK) as node,
        pytest.raises(AdminFailed, match="by the deadline"),
    ):
        node.exchange(METADATA, MetadataResponse, soon(0))


@pytest.mark.parametrize(
    ("answer", "correlation", "text"),
    [
        (VERSIONS, 77, "answer 77 to request 1"),
        (VERSIONS[:9], None, "did not answer ApiVersionsRequest"),
        (b"", None, "did not answer ApiVersionsRequest"),
    ],
    ids=["another protocol's", "cut short", "empty"],
)
def test_an_answer_that_is_none_is_told(
    serve: Serving, answer: bytes, correlation: int | None, text: str
) -> None:
    """Garbage is an error of the harness's own kind, and leaves no socket."""
    with pytest.raises(AdminFailed, match=text):
        BrokerConnection(serve(answer, correlation=correlation), soon(), CLOCK)


def test_an_unreachable_broker_is_reported() -> None:
    """With the address."""
    with socket.socket() as bound:
        bound.bind(("127.0.0.1", 0))
        address = Address(*bound.getsockname())
        with pytest.raises(AdminFailed, match=f"{address} cannot be reached"):
            BrokerConnection(address, soon(), CLOCK)
