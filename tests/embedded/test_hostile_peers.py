"""Bad input over real sockets: what a user is told, and what goes on all the same."""

import logging
import re

import pytest

from prokurist import KafkaConsumer
from prokurist.errors import SslAuthenticationException, TimeoutException
from prokurist.testing.broker import EmbeddedBroker
from prokurist.types import OffsetAndMetadata, TopicPartition
from tests.embedded.hostile import Hostile, Reply
from tests.stopwatch import Stopwatch, undisturbed

TP = TopicPartition("orders", 0)


def framed(payload: bytes) -> bytes:
    """With its length before it."""
    return len(payload).to_bytes(4) + payload


def under(said: bytes, number: int, rest: bytes) -> bytes:
    """An answer to what was said, under its number and so many more."""
    return framed((int.from_bytes(said[8:12]) + number).to_bytes(4) + rest)


ALERT = b"\x15\x03\x03\x00\x02\x02\x46"
"""As a listener with TLS answers what is not TLS."""

PEERS: dict[str, tuple[Reply, str]] = {
    "a web server": (
        lambda _: b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n",
        r"an answer in HTTP \('HTTP/1.1 400 Bad Request'\): this is not a Kafka listener",
    ),
    "one that hangs up": (lambda _: None, r"expects TLS or SASL \(see security.protocol\)"),
    "a negative length": (lambda _: b"\xff\xff\xff\xf6abc", "a frame of -10 bytes"),
    "a huge length": (lambda _: b"\x7f\xff\xff\xffabc", "a frame of 2147483647 bytes, above"),
    "noise": (lambda _: framed(b"\x9c" * 40), "answered another request than ApiVersions"),
    "another's answer": (
        lambda said: under(said, 7, bytes(20)),
        "answered another request than ApiVersions",
    ),
    "an answer that is none": (
        lambda said: under(said, 0, b"\x00\x00\xff\xff\xff"),
        "the answer to ApiVersions 4, 9 bytes, is malformed",
    ),
    "an empty frame": (lambda _: framed(b""), "a frame of 0 bytes, which is too short"),
}


@pytest.mark.parametrize("peer", PEERS)
def test_what_was_seen_is_what_the_caller_is_told(
    peer: str, caplog: pytest.LogCaptureFixture
) -> None:
    """B3, B212, B355: at the deadline, with the way out where there is one; the log as well."""
    reply, told = PEERS[peer]
    with Hostile(reply) as hostile:
        with KafkaConsumer(bootstrap_servers=hostile.bootstrap) as consumer:

            def call() -> None:
                with Stopwatch() as took, pytest.raises(TimeoutException) as caught:
                    consumer.list_topics(timeout=0.5)
                assert took.seconds >= 0.5
                assert took.own < 2.0
                assert re.search(told, str(caught.value.last_error))
                assert re.search(told, str(caught.value))

            undisturbed(call)
        assert hostile.met
    errors = [each.getMessage() for each in caplog.records if each.levelno == logging.ERROR]
    if peer == "one that hangs up":
        assert not errors
    else:
        assert re.search(told, errors[0])


def test_a_listener_with_tls_refuses_at_once() -> None:
    """B381: by its alert, which no try within the deadline would change."""
    with Hostile(lambda _: ALERT) as hostile:
        with KafkaConsumer(bootstrap_servers=hostile.bootstrap) as consumer:

            def call() -> None:
                with Stopwatch() as took, pytest.raises(SslAuthenticationException) as caught:
                    consumer.list_topics(timeout=30)
                assert took.own < 5.0
                assert "set security.protocol to SSL or SASL_SSL" in str(caught.value)

            undisturbed(call)
        assert hostile.met


@pytest.mark.parametrize("peer", [*PEERS, "silence", "TLS"])
def test_a_stranger_in_the_bootstrap_list_is_passed_by(
    peer: str, broker: EmbeddedBroker
) -> None:
    """B204, B205: brokers that are in it too are found, and serve."""
    reply = PEERS[peer][0] if peer in PEERS else lambda _: ALERT if peer == "TLS" else b""
    with Hostile(reply) as hostile:
        servers = [hostile.bootstrap, broker.bootstrap.split(",")[0]]
        while not hostile.met:  # Which of them is asked first is drawn.
            with KafkaConsumer(bootstrap_servers=servers, group_id="g") as consumer:
                consumer.commit_sync({TP: OffsetAndMetadata(3)}, timeout=10)
                assert consumer.committed(TP, timeout=10) == {TP: OffsetAndMetadata(3)}


@pytest.mark.parametrize(
    "data",
    [b"HTTP/1.1 400 Bad Request\r\n\r\n", b"\xff\xff\xff\xff", b"\x7f\xff\xff\xff", b"\0" * 64],
    ids=["a web page", "a negative length", "a huge length", "zeros"],
)
def test_a_broker_that_turns_strange_ends_its_connection_alone(
    data: bytes, broker: EmbeddedBroker
) -> None:
    """B212: in the middle of a life; the call goes round again, and the others go on."""
    with KafkaConsumer(bootstrap_servers=broker.bootstrap, group_id="g") as consumer:
        consumer.commit_sync({TP: OffsetAndMetadata(3)}, timeout=10)
        assert consumer.end_offsets(TP, timeout=10) == {TP: 0}
        connections = len(broker.requests("ApiVersions"))
        broker.garbage("OffsetFetch", data, times=1, framed=False)
        assert consumer.committed(TP, timeout=10) == {TP: OffsetAndMetadata(3)}
        assert consumer.end_offsets(TP, timeout=10) == {TP: 0}
        assert len(broker.requests("OffsetFetch")) == 2
        assert len(broker.requests("ApiVersions")) == connections + 1


def test_unknown_names_are_reported_in_the_resolvers_words() -> None:
    """B204: by the system's own resolver; `.invalid` never resolves (RFC 2606)."""
    servers = ["kafka-1.invalid:9092", "kafka-2.invalid:9092"]
    with (
        KafkaConsumer(bootstrap_servers=servers) as consumer,
        pytest.raises(TimeoutException) as caught,
    ):
        consumer.list_topics(timeout=3)
    for name in ("kafka-1.invalid", "kafka-2.invalid"):
        assert f"the host name '{name}' cannot be resolved: [Errno" in str(caught.value)


def test_canonical_names_by_the_systems_resolver(broker: EmbeddedBroker) -> None:
    """`resolve_canonical_bootstrap_servers_only`, with what this system calls loopback."""
    with KafkaConsumer(
        bootstrap_servers=f"localhost:{broker.ports[0]}",
        client_dns_lookup="resolve_canonical_bootstrap_servers_only",
    ) as consumer:
        assert "orders" in consumer.list_topics(timeout=20)
