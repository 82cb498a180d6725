"""Brokers that send what is no answer: one connection ends, and everything else goes on."""

import logging
from typing import Literal

import pytest

from prokurist.consumer.buffered_entries import LEEWAY
from prokurist.errors import SslAuthenticationException, TimeoutException
from prokurist.records.columns import Columns
from prokurist.records.headers import BatchHeader
from prokurist.records.reader import PartitionReader
from prokurist.types import OffsetAndMetadata, TopicPartition
from tests.simulation.reading import reader, written
from tests.simulation.world import World

TP = TopicPartition("orders", 0)

ALERT = b"\x15\x03\x03\0\2\2\x50"
"""As Kafka's listener with TLS answers what is not TLS."""

STRANGE = {
    "a web page": (b"HTTP/1.1 400 Bad Request\r\n\r\n", "an answer in HTTP"),
    "a TLS handshake": (b"\x16\x03\x03\0\x7a", "set security.protocol to SSL or SASL_SSL"),
    "a negative length": (b"\xff\xff\xff\xff", "a frame of -1 bytes"),
    "a huge length": (b"\x7f\xff\xff\xff", "a frame of 2147483647 bytes"),
    "an empty frame": (b"\0\0\0\0", "a frame of 0 bytes, which is too short"),
}


@pytest.mark.parametrize("what", STRANGE)
def test_a_caller_is_told_what_was_seen_instead_of_a_greeting(
    what: str, caplog: pytest.LogCaptureFixture
) -> None:
    """B3, B212, B355: as the last error, in the text, at the deadline; the log says it once."""
    data, seen = STRANGE[what]
    world = World()
    with world.consumer() as consumer:
        world.control.garbage("ApiVersions", data, times=None, framed=False)
        began = world.clock.time
        with pytest.raises(TimeoutException) as caught:
            consumer.list_topics(timeout=3.0)
        assert world.clock.time == pytest.approx(began + 3.0)
        assert seen in str(caught.value.last_error)
        assert seen in str(caught.value)
    errors = [each.getMessage() for each in caplog.records if each.levelno == logging.ERROR]
    assert len(errors) == 1
    assert seen in errors[0]


def test_a_listener_with_tls_refuses_a_client_without_it_at_once(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """B381: its alert is a refusal, which no try within the deadline would change."""
    world = World()
    with world.consumer() as consumer:
        world.control.garbage("ApiVersions", ALERT, times=None, framed=False)
        began = world.clock.time
        for call in (
            lambda: consumer.list_topics(timeout=30.0),
            lambda: consumer.commit_sync({TP: OffsetAndMetadata(3)}, timeout=30.0),
        ):
            with pytest.raises(
                SslAuthenticationException, match=r"a TLS alert 80: .* set security.protocol"
            ):
                call()
        assert world.clock.time - began < 5.0
    told = [each for each in caplog.records if each.levelno == logging.ERROR]
    assert len(told) == 1


def test_an_alert_in_the_place_of_a_later_answer_is_no_refusal() -> None:
    """B381: the broker has answered on this connection, so that it speaks without TLS."""
    world = World()
    with world.consumer() as consumer:
        consumer.commit_sync({TP: OffsetAndMetadata(3)})
        world.control.garbage("OffsetFetch", ALERT, times=1, framed=False)
        assert consumer.committed(TP, timeout=5.0) == {TP: OffsetAndMetadata(3)}


@pytest.mark.parametrize("what", STRANGE)
def test_what_comes_in_the_place_of_an_answer_ends_that_connection_alone(what: str) -> None:
    """B212: the call goes round again; a call on another lane does not hear of it."""
    data, _ = STRANGE[what]
    world = World()
    with world.consumer() as consumer:
        consumer.commit_sync({TP: OffsetAndMetadata(3)})
        consumer.end_offsets(TP)
        network = world.members[-1].network
        connects = network.connects
        world.control.garbage("OffsetFetch", data, times=1, framed=False)
        assert consumer.committed(TP, timeout=5.0) == {TP: OffsetAndMetadata(3)}
        assert consumer.end_offsets(TP, timeout=0.3) == {TP: 0}
        assert network.connects == connects + 1


@pytest.mark.parametrize(
    "data", [ALERT, *(data for data, _ in STRANGE.values())], ids=["a TLS alert", *STRANGE]
)
def test_one_strange_broker_of_three_is_passed_by(data: bytes) -> None:
    """B204, B381: regardless of which broker is asked first."""
    for number in (1, 2, 3):
        world = World(nodes=3)
        with world.consumer() as consumer:
            world.control.move_coordinator("g", number % 3 + 1)
            world.control.garbage(None, data, node=number, times=None, framed=False)
            began = world.clock.time
            consumer.commit_sync({TP: OffsetAndMetadata(3)}, timeout=5.0)
            assert world.clock.time - began < 1.0


@pytest.mark.parametrize("greets", [False, True], ids=["greets so", "answers so"])
def test_what_goes_on_sending_nonsense_is_told_of_once_a_minute(
    caplog: pytest.LogCaptureFixture, *, greets: bool
) -> None:
    """B219: at once, and then no storm; of what is well again nothing is said."""

    def told() -> list[str]:
        return [
            each.getMessage() for each in caplog.records if each.name == "prokurist.connection"
        ]

    world = World()
    with world.consumer() as consumer:
        data = b"\0\0\0\4\x7f\xff\xff\xff"
        asked: Literal["ApiVersions", "Metadata"] = "Metadata" if greets else "ApiVersions"
        seen = "answered request 2147483647" if greets else "another request than ApiVersions"
        nonsense = world.control.garbage(asked, data, times=None, framed=False)
        with pytest.raises(TimeoutException):
            consumer.list_topics(timeout=2.0)
        assert len(told()) == 1
        with pytest.raises(TimeoutException):
            consumer.list_topics(timeout=200.0)
        assert 3 <= len(told()) <= 5
        assert all(seen in each for each in told())
        nonsense.undo()
        consumer.list_topics(timeout=5.0)


def test_a_poll_is_late_by_no_more_than_one_slow_batch(monkeypatch: pytest.MonkeyPatch) -> None:
    """B274: the batches that it has not opened are returned by later polls, in order."""
    decode, takes = PartitionReader._decoded, 0.3
    world = written(12)

    def slow(part: PartitionReader, header: BatchHeader) -> Columns:
        world.clock.sleep(takes)
        return decode(part, header)

    monkeypatch.setattr(PartitionReader, "_decoded", slow)
    got: list[int] = []
    with reader(world) as consumer:
        for timeout, most in ((1.0, 4), (0.0, 1), (0.5, 2), (0.0, 1)):
            began = world.clock.time
            records = consumer.poll(timeout)
            assert world.clock.time - began <= timeout + LEEWAY + takes
            assert 1 <= len(records) <= most
            got += [each.offset for each in records]
        while len(got) < 12:
            got += [each.offset for each in consumer.poll(10.0)]
    assert got == list(range(12))
