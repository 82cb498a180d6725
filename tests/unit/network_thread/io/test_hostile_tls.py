"""TLS peers that mean harm: storms, garbage, cut streams and records that bring nothing.

Each has a certificate that is trusted: what others do ends in the handshake.
"""

import _ssl
import ctypes
import os
import select
import ssl
import sys
import threading
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from time import monotonic, sleep
from typing import Any

import pytest

from prokurist.errors import DisconnectException, SslAuthenticationException
from prokurist.network_thread.io.network import Connected, Happening, Securing
from prokurist.network_thread.io.tls import (
    LONGEST_HANDSHAKE,
    MOST_WITHOUT_DATA,
    Pump,
    TlsFilter,
)
from prokurist.security.context import built
from prokurist.testing.kafka.pki import Authority
from tests.soak.lateness import starved
from tests.unit.network_thread.io.conftest import Driver, Peer
from tests.unit.network_thread.io.tls_peers import (
    Drive,
    framed,
    keys_of,
    server_context,
    serving,
)

LONGEST_TURN = 0.5
"""Seconds that one turn may take, on a machine with much else to do."""

STORM = 30_000


class Far:
    """The other side of a connection, whose records are made in memory.

    Attributes:
        connection: Its TLS.
        outgoing: What it wants to send.
    """

    def __init__(self, context: ssl.SSLContext) -> None:
        self.incoming, self.outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
        self.connection = context.wrap_bio(self.incoming, self.outgoing, server_side=True)

    def meet(self, driver: Driver, peer: Peer, number: int = 1) -> None:
        """Have a handshake with a connection of a network."""
        driver.network.connect(number, peer.address, "localhost")
        self.socket = peer.accept()
        self.socket.settimeout(0.05)
        while True:
            driver.told += driver.network.poll(0.01)
            try:
                self.connection.do_handshake()
                break
            except ssl.SSLWantReadError:
                self.socket.sendall(self.outgoing.read())
                with suppress(TimeoutError):
                    self.incoming.write(self.socket.recv(1 << 16))
        self.socket.sendall(self.outgoing.read())
        driver.until(lambda: Connected(number) in driver.told)
        self.say(b"first")
        driver.until_frames(number, 1)
        driver.network.trust(number)

    def say(self, body: bytes) -> None:
        """Send a frame."""
        self.connection.write(framed(body))
        self.socket.sendall(self.outgoing.read())

    def flood(self, data: bytes) -> threading.Thread:
        """Send bytes for as long as they are taken."""

        def send() -> None:
            self.socket.settimeout(10)
            with suppress(OSError):
                self.socket.sendall(data)

        thread = threading.Thread(target=send)
        thread.start()
        return thread

    def storm(self, name: str, count: int, *between: bytes) -> bytes:
        """So many records of a kind that Python has no method for.

        Args:
            name: `SSL_key_update` or `SSL_renegotiate`.
            count: How many.
            between: Data that is sent behind each.
        """
        known = {(3, 10), (3, 11), (3, 12), (3, 13)}
        if sys.version_info[:2] not in known or not getattr(_ssl, "__file__", None):
            pytest.skip("the layout of this Python's ssl objects is not known")
        library = ctypes.CDLL(_ssl.__file__)
        session = ctypes.c_void_p.from_address(id(self.connection._sslobj) + 24)  # type: ignore[attr-defined]
        arguments = (session, 1) if name == "SSL_key_update" else (session,)
        for _ in range(count):
            getattr(library, name)(*arguments)
            library.SSL_do_handshake(session)
            for each in between:
                self.connection.write(each)
        return self.outgoing.read()


def longest_turn(driver: Driver, until: Callable[[], bool]) -> float:
    """Poll until it is so, and say how long the longest turn took.

    Whether it computes or blocks; what the machine gave to others meanwhile is taken off.
    """
    me = threading.current_thread()
    longest, give_up = 0.0, monotonic() + 20
    while not until():
        began = monotonic() - starved(me)
        driver.told += driver.network.poll(0.05)
        longest = max(longest, monotonic() - starved(me) - began)
        assert monotonic() < give_up, driver.network
    return longest


def test_a_turn_that_blocks_is_seen(
    driven: Drive, authority: Authority, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The oracle of these tests counts a wait as it counts computing."""
    driver = driven(keys_of(authority))
    ends = iter((False, True))

    def block(_: float) -> list[Happening]:
        sleep(0.2)
        return []

    monkeypatch.setattr(driver.network, "poll", block)
    assert longest_turn(driver, lambda: next(ends)) > 0.15


def test_a_storm_of_new_keys(
    driven: Drive, peer: Peer, authority: Authority, certificate: Path
) -> None:
    """B360: records without data end their connection before they cost others their turn."""
    driver, far = driven(keys_of(authority)), Far(server_context(certificate))
    far.meet(driver, peer)
    storm = far.storm("SSL_key_update", STORM)
    thread = far.flood(storm)
    assert longest_turn(driver, lambda: bool(driver.lost_yet(1))) < LONGEST_TURN
    (lost,) = driver.lost_yet(1)
    assert isinstance(lost.error, DisconnectException)
    assert "without data" in str(lost.error)
    thread.join(10)
    assert driver.network.bytes_received < 2 << 20


def test_new_keys_that_are_never_read(
    driven: Drive, peer: Peer, authority: Authority, certificate: Path
) -> None:
    """Answers to new keys are kept for a peer that does not read, up to a bound."""
    driver, far = driven(keys_of(authority)), Far(server_context(certificate))
    far.meet(driver, peer)
    far.connection.write((1 << 20).to_bytes(4, "big"))
    storm = far.storm("SSL_key_update", STORM, b"x")
    thread = far.flood(storm)
    assert longest_turn(driver, lambda: bool(driver.lost_yet(1))) < LONGEST_TURN
    told = str(driver.lost_yet(1)[0].error)
    assert "does not read" in told or "of new keys at once" in told
    thread.join(10)


def test_a_storm_of_tickets(
    driven: Drive, peer: Peer, authority: Authority, certificate: Path
) -> None:
    """B360: session tickets for ever end their connection: none of them is of use here."""
    driver, far = driven(keys_of(authority)), Far(server_context(certificate))
    far.meet(driver, peer)
    storm = far.storm("SSL_new_session_ticket", 3_000)
    assert len(storm) > 4 * MOST_WITHOUT_DATA
    thread = far.flood(storm)
    assert longest_turn(driver, lambda: bool(driver.lost_yet(1))) < LONGEST_TURN
    assert "without data" in str(driver.lost_yet(1)[0].error)
    thread.join(10)
    assert driver.network.bytes_received < 2 << 20


@pytest.mark.parametrize("version", [ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3])
def test_a_chain_of_megabytes(
    driven: Drive,
    peer: Peer,
    authority: Authority,
    certificate: Path,
    tmp_path: Path,
    version: ssl.TLSVersion,
) -> None:
    """B360: a chain of thousands of certificates is given up at a bound, and soon."""
    long = tmp_path / "long.pem"
    long.write_bytes(certificate.read_bytes() + authority.location.read_bytes() * 4_000)
    context = server_context(long, minimum_version=version, maximum_version=version)
    driver = driven(keys_of(authority))
    driver.network.connect(1, peer.address, "localhost")
    serving(peer, context, lambda _: None)
    assert longest_turn(driver, lambda: bool(driver.lost_yet(1))) < LONGEST_TURN
    lost = driver.lost_yet(1)[0].error
    assert isinstance(lost, DisconnectException | SslAuthenticationException)
    assert Connected(1) not in driver.told
    assert driver.network.bytes_received < 2 << 20


def test_a_few_new_keys(
    driven: Drive, peer: Peer, authority: Authority, certificate: Path
) -> None:
    """S22: new keys within reason are taken and answered, and frames go on."""
    driver, far = driven(keys_of(authority)), Far(server_context(certificate))
    far.meet(driver, peer)
    far.socket.sendall(far.storm("SSL_key_update", 10))
    far.say(b"second")
    assert driver.until_frames(1, 2)[1] == b"second"
    driver.network.write(1, framed(b"back"))
    far.socket.settimeout(5)
    said = b""
    while said != framed(b"back"):
        far.incoming.write(far.socket.recv(1 << 16))
        with suppress(ssl.SSLWantReadError):
            said += far.connection.read(64)


def test_renegotiation(
    driven: Drive, peer: Peer, authority: Authority, certificate: Path
) -> None:
    """Renegotiation of TLS 1.2 is not taken up: the connection ends, or goes on as it was."""
    context = server_context(certificate, maximum_version=ssl.TLSVersion.TLSv1_2)
    driver, far = driven(keys_of(authority)), Far(context)
    far.meet(driver, peer)
    thread = far.flood(far.storm("SSL_renegotiate", STORM))
    assert longest_turn(driver, lambda: bool(driver.lost_yet(1))) < LONGEST_TURN
    assert isinstance(driver.lost_yet(1)[0].error, DisconnectException)
    thread.join(10)


def test_data_in_single_bytes(
    driven: Drive, peer: Peer, authority: Authority, certificate: Path
) -> None:
    """A record for each byte: the frame arrives, and no turn is long."""
    driver, far = driven(keys_of(authority)), Far(server_context(certificate))
    far.meet(driver, peer)
    body = os.urandom(200_000)
    for each in framed(body):
        far.connection.write(bytes([each]))
    thread = far.flood(far.outgoing.read())
    longest = longest_turn(driver, lambda: len(driver.frames(1)) == 2)
    assert longest < LONGEST_TURN
    assert driver.frames(1)[1] == body
    thread.join(10)


@pytest.mark.parametrize(
    "record",
    [
        b"\x17\x03\x03\xff\xff" + bytes(70_000),
        b"\x17\x03\x03\x00\x20" + bytes(32),
        b"\x99" * 64,
        b"\x15\x03\x03\x00\x02\x02\x28",
        b"HTTP/1.1 400 Bad Request\r\n\r\n",
    ],
    ids=["huge", "forged", "garbage", "alert in plain text", "http"],
)
def test_records_that_are_none(
    driven: Drive, peer: Peer, authority: Authority, certificate: Path, record: bytes
) -> None:
    """Behind a handshake they end the connection as a broken one, never as a refusal."""
    driver, far = driven(keys_of(authority)), Far(server_context(certificate))
    far.meet(driver, peer)
    far.say(b"second")
    far.flood(record).join(10)
    lost = driver.lost(1).error
    assert isinstance(lost, DisconnectException)
    assert driver.frames(1) == [b"first", b"second"]


def test_a_record_that_is_cut(
    driven: Drive, peer: Peer, authority: Authority, certificate: Path
) -> None:
    """EOF within a record, without close_notify: what came before is told, then the end."""
    driver, far = driven(keys_of(authority)), Far(server_context(certificate))
    far.meet(driver, peer)
    far.say(b"second")
    far.connection.write(framed(bytes(1000)))
    far.socket.sendall(far.outgoing.read()[:-1])
    far.socket.close()
    assert isinstance(driver.lost(1).error, DisconnectException)
    assert driver.frames(1) == [b"first", b"second"]


def test_a_handshake_that_never_ends(driven: Drive, peer: Peer, authority: Authority) -> None:
    """Records that a handshake ignores end it at a bound, as a broken connection."""
    driver = driven(keys_of(authority))
    driver.network.connect(1, peer.address, "localhost")
    driver.until(lambda: Securing(1) in driver.told)
    accepted = peer.accept()

    def send() -> None:
        accepted.settimeout(10)
        with suppress(OSError):
            accepted.sendall(b"\x14\x03\x03\x00\x01\x01" * STORM * 10)

    thread = threading.Thread(target=send)
    thread.start()
    assert longest_turn(driver, lambda: bool(driver.lost_yet(1))) < LONGEST_TURN
    lost = driver.lost_yet(1)[0].error
    assert isinstance(lost, DisconnectException | SslAuthenticationException)
    thread.join(10)
    assert driver.network.bytes_received < 2 << 20


def test_a_handshake_cut_after_each_byte(authority: Authority, certificate: Path) -> None:
    """However far a handshake has come, its end is no success, and no crash."""
    context = built(keys_of(authority))

    def flights() -> tuple[TlsFilter, bytes]:
        client, far = TlsFilter(context, "localhost"), Far(server_context(certificate))
        client.advance()
        far.incoming.write(client.outgoing())
        with suppress(ssl.SSLWantReadError):
            far.connection.do_handshake()
        return client, far.outgoing.read()

    client, flight = flights()
    for at in range(len(flight)):
        assert not client.established, at
        client.received(memoryview(flight[at : at + 1]))
        client.advance()
    assert client.established
    assert client.without_data == 0
    assert LONGEST_HANDSHAKE > MOST_WITHOUT_DATA > len(flight)


def test_a_long_answer_lets_others_have_their_turn(
    driven: Drive, peer: Peer, authority: Authority, certificate: Path
) -> None:
    """S24: whatever has come of an answer of 4 MiB, the next turn or two bring another's."""
    driver = driven(keys_of(authority))
    long, short = Far(server_context(certificate)), Far(server_context(certificate))
    long.meet(driver, peer, 1)
    short.meet(driver, peer, 2)
    body = os.urandom(4 << 20)
    long.connection.write(framed(body))
    ciphertext = long.outgoing.read()
    long.socket.settimeout(10)
    me = threading.current_thread()
    longest, portion = 0.0, len(ciphertext) // 64 + 1
    for nth, at in enumerate(range(0, len(ciphertext), portion)):
        long.socket.sendall(ciphertext[at : at + portion])
        short.say(b"%08d" % nth)
        # Even on loopback that may be a little later.
        assert select.select([driver.network._connections[2].socket], [], [], 10.0)[0]
        began = monotonic() - starved(me)
        for _ in range(2):
            if len(driver.frames(2)) < nth + 2:
                driver.told += driver.network.poll(0.05)
        longest = max(longest, monotonic() - starved(me) - began)
        assert len(driver.frames(2)) == nth + 2
    assert longest < LONGEST_TURN
    assert driver.until_frames(1, 2)[1] == body


class Counting:
    """A pump that counts how often it is entered."""

    def __init__(self, pump: Pump) -> None:
        self.entries = 0
        self._pump = pump

    def read(self, *arguments: Any) -> tuple[int, int, int]:
        """Pass it on."""
        self.entries += 1
        return self._pump.read(*arguments)


def test_few_entries_beside_a_busy_thread(
    driven: Drive, peer: Peer, authority: Authority, certificate: Path
) -> None:
    """S19: what gives the GIL up and has to get it back is a call, and not each record."""
    driver, far = driven(keys_of(authority)), Far(server_context(certificate))
    far.meet(driver, peer)
    watch = driver.network._tls_watch
    assert watch is not None
    if 1 not in watch._pumps:
        pytest.skip("the twin without a pump enters the library for each record")
    counting = Counting(watch._pumps[1])
    watch._pumps[1] = counting
    body, over = bytes(1 << 20), threading.Event()

    def compute() -> None:
        while not over.is_set():
            pass

    busy = threading.Thread(target=compute)
    busy.start()
    try:
        for _ in range(16):
            far.connection.write(framed(body))
        thread = far.flood(far.outgoing.read())
        longest_turn(driver, lambda: len(driver.frames(1)) == 17)
    finally:
        over.set()
        busy.join()
    thread.join(10)
    records = 16 * 64
    assert counting.entries < records / 8
