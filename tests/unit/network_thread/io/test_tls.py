"""Connections with TLS, against a peer of the standard library's."""

import os
import socket
import ssl
import subprocess
import sys
import threading
from contextlib import ExitStack, suppress
from pathlib import Path

import pytest

from prokurist.errors import DisconnectException, SslAuthenticationException
from prokurist.network_thread.io import pure_tls
from prokurist.network_thread.io.network import Arrived, Connected, Securing
from prokurist.network_thread.io.tls import PATIENCE, PUMPS, TlsFilter, TlsWatch
from prokurist.network_thread.io.watch import READING
from prokurist.security.context import built
from prokurist.testing.kafka.pki import Authority
from prokurist.twins import chosen
from tests.unit.network_thread.io.conftest import Peer
from tests.unit.network_thread.io.tls_peers import (
    Drive,
    ends,
    framed,
    keys_of,
    server_context,
    serving,
    taken,
)


def test_frames_go_both_ways(
    driven: Drive, peer: Peer, authority: Authority, certificate: Path
) -> None:
    """Frames of any size arrive whole and in their order; Securing is told before Connected."""
    sizes = [4, 100, 16_384, 1 << 20, (5 << 20) + 3]
    driver = driven(keys_of(authority))

    def act(secured: ssl.SSLSocket) -> None:
        for size in sizes:
            assert taken(secured, size + 4) == framed(bytes(size))
        secured.sendall(b"".join(framed(bytes([1]) * size) for size in sizes))
        secured.recv(1)

    serving(peer, server_context(certificate), act)
    driver.network.connect(1, peer.address, "localhost")
    driver.until(lambda: Connected(1) in driver.told)
    assert driver.told.index(Securing(1)) < driver.told.index(Connected(1))
    driver.network.trust(1)
    for size in sizes:
        driver.until(lambda: driver.network.writable(1))
        driver.network.write(1, framed(bytes(size)))
    assert driver.until_frames(1, len(sizes)) == [bytes([1]) * size for size in sizes]


@pytest.mark.parametrize(
    ("hosts", "name", "text"),
    [
        (("elsewhere.example", "10.0.0.1"), "localhost", "elsewhere.example, 10.0.0.1"),
        (("localhost",), "", "'127.0.0.1'"),
    ],
)
def test_another_name_is_refused(
    driven: Drive,
    peer: Peer,
    authority: Authority,
    hosts: tuple[str, ...],
    name: str,
    text: str,
) -> None:
    """S4, S6, B252: the error names the expected host, and those of the certificate."""
    elsewhere = authority.issue("elsewhere", hosts)
    driver = driven(keys_of(authority))
    serving(peer, server_context(elsewhere), lambda _: None)
    driver.network.connect(1, peer.address, name)
    lost = driver.lost(1).error
    assert isinstance(lost, SslAuthenticationException)
    assert text in str(lost)
    assert "issued by 'authority'" in str(lost)
    assert str(peer.address) in str(lost)
    assert Connected(1) not in driver.told


def test_a_common_name_is_no_name(driven: Drive, peer: Peer, authority: Authority) -> None:
    """Only subjectAltName counts, as RFC 9525 says, and the error says so."""
    driver = driven(keys_of(authority))
    serving(peer, server_context(authority.issue("localhost", ())), lambda _: None)
    driver.network.connect(1, peer.address, "localhost")
    lost = driver.lost(1).error
    assert isinstance(lost, SslAuthenticationException)
    assert "its common name 'localhost' does not count" in str(lost)


def test_an_absolute_name(
    driven: Drive, peer: Peer, authority: Authority, certificate: Path
) -> None:
    """The dot that ends an absolute name is left out of SNI, and of what is compared (S7)."""
    driver = driven(keys_of(authority))
    asked: list[str] = []
    context = server_context(certificate)
    context.sni_callback = lambda _connection, name, _context: asked.append(name)

    def act(secured: ssl.SSLSocket) -> None:
        secured.recv(1)

    serving(peer, context, act)
    driver.network.connect(1, peer.address, "localhost.")
    driver.until(lambda: Connected(1) in driver.told)
    assert asked == ["localhost"]


def test_an_unknown_issuer_is_refused(
    driven: Drive, peer: Peer, authority: Authority, tmp_path: Path
) -> None:
    """S2: the error says which key names the authority, and who has issued the certificate."""
    stranger = Authority(tmp_path, "stranger").issue("broker")
    driver = driven(keys_of(authority))
    serving(peer, server_context(stranger), lambda _: None)
    driver.network.connect(1, peer.address, "localhost")
    lost = driver.lost(1).error
    assert isinstance(lost, SslAuthenticationException)
    assert "ssl.ca.location" in str(lost)
    assert "issued by 'stranger'" in str(lost)


def test_a_missing_client_certificate_is_told_late(
    driven: Drive, peer: Peer, authority: Authority, certificate: Path
) -> None:
    """S8: with TLS 1.3 the alert comes after our handshake; it is a refusal all the same."""
    context = server_context(certificate, verify_mode=ssl.CERT_REQUIRED)
    context.load_verify_locations(authority.location)
    driver = driven(keys_of(authority))
    serving(peer, context, lambda _: None)
    driver.network.connect(1, peer.address, "localhost")
    lost = driver.lost(1).error
    assert isinstance(lost, SslAuthenticationException)
    assert "ssl.certificate.location" in str(lost)


def test_the_end_of_the_stream_is_no_refusal(
    driven: Drive, peer: Peer, authority: Authority, certificate: Path
) -> None:
    """S9, B253: EOF in the handshake, and after it, ends a connection that is tried again."""
    driver = driven(keys_of(authority))
    driver.network.connect(1, peer.address, "localhost")
    accepted = peer.accept()
    driver.until(lambda: Securing(1) in driver.told)
    accepted.close()
    lost = driver.lost(1).error
    assert isinstance(lost, DisconnectException)
    assert "in the TLS handshake" in str(lost)
    assert "security.protocol" in str(lost)
    serving(peer, server_context(certificate), lambda secured: secured.close())
    driver.network.connect(2, peer.address, "localhost")
    assert isinstance(driver.lost(2).error, DisconnectException)


def test_a_peer_in_plain_text(driven: Drive, peer: Peer, authority: Authority) -> None:
    """What answers without TLS is told so."""
    driver = driven(keys_of(authority))
    driver.network.connect(1, peer.address, "localhost")
    peer.accept().sendall(b"HTTP/1.1 400 Bad Request\r\n\r\n")
    lost = driver.lost(1).error
    assert isinstance(lost, SslAuthenticationException)
    assert "does not speak TLS" in str(lost)


def test_old_protocols_are_refused(
    driven: Drive, peer: Peer, authority: Authority, certificate: Path
) -> None:
    """S11: nothing in common is told at once, with the key."""
    driver = driven(keys_of(authority, **{"ssl.enabled.protocols": "TLSv1.3"}))
    context = server_context(certificate, maximum_version=ssl.TLSVersion.TLSv1_2)
    serving(peer, context, lambda _: None)
    driver.network.connect(1, peer.address, "localhost")
    lost = driver.lost(1).error
    assert isinstance(lost, SslAuthenticationException)
    assert "ssl.enabled.protocols" in str(lost)


def test_a_name_that_cannot_be_one(driven: Drive, peer: Peer, authority: Authority) -> None:
    """A host that TLS has no form for ends its connection, and not the network thread."""
    driver = driven(keys_of(authority))
    driver.network.connect(1, peer.address, ".wrong")
    assert isinstance(driver.lost(1).error, SslAuthenticationException)


def test_a_handshake_in_single_bytes(
    driven: Drive, peer: Peer, authority: Authority, certificate: Path
) -> None:
    """However the ciphertext is cut, the same frames come out, and nothing waits unread."""
    incoming, outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
    far = server_context(certificate).wrap_bio(incoming, outgoing, server_side=True)
    driver = driven(keys_of(authority))
    driver.network.connect(1, peer.address, "localhost")
    accepted = peer.accept()
    accepted.settimeout(0.05)

    def exchange() -> None:
        with suppress(TimeoutError):
            incoming.write(accepted.recv(1 << 16))
        for each in outgoing.read():
            accepted.sendall(bytes([each]))
            driver.told += driver.network.poll(0)

    done = False
    while not done:
        driver.told += driver.network.poll(0.05)
        with suppress(ssl.SSLWantReadError):
            far.do_handshake()
            done = True
        exchange()
    driver.until(lambda: Connected(1) in driver.told)
    far.write(framed(b"first") + framed(b"second"))
    exchange()
    assert driver.until_frames(1, 2) == [b"first", b"second"]


def test_new_keys_are_answered_while_only_reading(
    authority: Authority, certificate: Path
) -> None:
    """S22: what TLS itself wants to say is sent, though no request is written."""
    client = TlsFilter(built(keys_of(authority)), "localhost")
    incoming, outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
    far = server_context(certificate).wrap_bio(incoming, outgoing, server_side=True)
    for _ in range(3):
        client.advance()
        incoming.write(client.outgoing())
        with suppress(ssl.SSLWantReadError):
            far.do_handshake()
        client.received(memoryview(outgoing.read()))
    assert client.established
    far.write(framed(b"hello"))
    data = outgoing.read()
    room = memoryview(bytearray(64))
    for at in range(len(data)):
        client.received(memoryview(data[at : at + 1]))
    assert client.read_into(room) == 9
    incoming.write(client.encrypted(framed(b"back")))
    assert far.read(64) == framed(b"back")


def test_a_peer_that_hangs_up(
    driven: Drive, peer: Peer, authority: Authority, certificate: Path
) -> None:
    """S23: a reset while we write ends the connection, and nothing else."""
    driver = driven(keys_of(authority))
    hung_up = threading.Event()

    def act(secured: ssl.SSLSocket) -> None:
        Peer.reset(secured)
        hung_up.set()

    serving(peer, server_context(certificate), act)
    driver.network.connect(1, peer.address, "localhost")
    driver.until(lambda: Connected(1) in driver.told or bool(ends(driver)))
    assert hung_up.wait(10)
    if driver.network.writable(1):
        driver.network.write(1, framed(bytes(1 << 20)))
    assert isinstance(driver.lost(1).error, DisconnectException)


def test_what_was_received_is_read_to_its_end(
    driven: Drive, peer: Peer, authority: Authority, certificate: Path
) -> None:
    """S21: many frames in one flight, more than any buffer holds, arrive without new bytes."""
    driver = driven(keys_of(authority))
    bodies = [bytes([number % 251]) * (200_000 + number) for number in range(60)]

    def act(secured: ssl.SSLSocket) -> None:
        taken(secured, 8)
        secured.sendall(framed(b"first"))
        taken(secured, 8)
        secured.sendall(b"".join(map(framed, bodies)))
        secured.recv(1)

    serving(peer, server_context(certificate), act)
    driver.network.connect(1, peer.address, "localhost")
    driver.until(lambda: Connected(1) in driver.told)
    driver.network.write(1, framed(b"hiya"))
    driver.until_frames(1, 1)
    driver.network.trust(1)
    driver.network.write(1, framed(b"hiya"))
    assert driver.until_frames(1, 61)[1:] == bodies


def test_large_frames_lie_in_pages_that_serve_the_next(
    driven: Drive, peer: Peer, authority: Authority, certificate: Path
) -> None:
    """A fresh page for each of its bytes was a third of what reading over TLS took."""
    native = pytest.importorskip("prokurist.network_thread.io._native_watch")
    if chosen(PUMPS).name != "native":
        pytest.skip("the pure twin's frames are the allocator's")
    driver = driven(keys_of(authority))

    def act(secured: ssl.SSLSocket) -> None:
        secured.sendall(framed(bytes(1 << 20)) + framed(bytes(2 << 20)))
        secured.recv(1)

    serving(peer, server_context(certificate), act)
    driver.network.connect(1, peer.address, "localhost")
    driver.until(lambda: Connected(1) in driver.told)
    driver.network.trust(1)
    driver.until_frames(1, 2)
    arrived = [each for each in driver.told if isinstance(each, Arrived)]
    assert [type(each.frame.obj) for each in arrived] == [native.Whole] * 2


class Dripping:
    """A pump whose connection brings the beginning of a frame, and then a byte at a time."""

    def __init__(self) -> None:
        self.patience: list[int] = []

    def read(
        self,
        _descriptor: int,
        _scratch: memoryview,
        room: memoryview,
        _wake: int,
        patience: int,
        _receives: bool,  # noqa: FBT001 - as the pump's
    ) -> tuple[int, int, int]:
        """One byte, or the frame's length; nothing more is here."""
        self.patience.append(patience)
        if len(self.patience) > 1:
            return 1, 1, pure_tls.DRAINED
        room[:4] = (1000).to_bytes(4, "big")
        return 4, 4, pure_tls.DRAINED


def test_slow_frames_of_many_brokers_are_waited_for_once_a_turn(authority: Authority) -> None:
    """Each 5 ms, the answers of 60 brokers over a slow link made a turn of 0.3 s."""
    context = built(keys_of(authority))
    pumps = [Dripping() for _ in range(10)]
    with ExitStack() as opened:
        made, _ = (opened.enter_context(each) for each in socket.socketpair())
        watch = TlsWatch(made.fileno(), 1 << 20)
        opened.callback(watch.close)
        for number, pump in enumerate(pumps):
            near, far = (opened.enter_context(each) for each in socket.socketpair())
            far.sendall(b"something to read")
            watch.add(number, near, READING)
            watch.secure(number, TlsFilter(context, "localhost"))
            watch._pumps[number] = pump
        for _ in range(3):
            watch.wait(0)
    turns = list(zip(*(each.patience for each in pumps), strict=True))
    assert [sum(turn) for turn in turns] == [0, PATIENCE, PATIENCE], (
        "once a turn, within a frame"
    )


def test_the_end_behind_trusted_frames(
    driven: Drive, peer: Peer, authority: Authority, certificate: Path
) -> None:
    """A close, and bytes that cannot be decrypted, end a trusted connection as disconnects."""
    driver = driven(keys_of(authority))

    def closing(secured: ssl.SSLSocket) -> None:
        taken(secured, 8)
        secured.sendall(framed(b"last"))
        secured.unwrap()

    def lying(secured: ssl.SSLSocket) -> None:
        taken(secured, 8)
        secured.sendall(framed(b"last"))
        with socket.socket(fileno=os.dup(secured.fileno())) as plain:
            plain.sendall(b"\x17\x03\x03\x00\x20" + bytes(32))
        secured.recv(1)

    for number, act in enumerate((closing, lying), 1):
        serving(peer, server_context(certificate), act)
        driver.network.connect(number, peer.address, "localhost")
        driver.until(lambda at=number: Connected(at) in driver.told)  # type: ignore[misc]
        driver.network.trust(number)
        driver.network.write(number, framed(b"hiya"))
        assert driver.until_frames(number, 1) == [b"last"]
        assert isinstance(driver.lost(number).error, DisconnectException)


def test_a_layout_that_is_not_known_has_no_pump() -> None:
    """S20: only the object of a tried version of Python, and whose library agrees, is read."""
    native = pytest.importorskip("prokurist.network_thread.io._native_tls")
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    connection = context.wrap_bio(ssl.MemoryBIO(), ssl.MemoryBIO(), server_hostname="x")
    known = sys.version_info[:2] in native.SIZES
    assert (native.pump_of(connection) is not None) is known
    assert not native.is_known(object())
    assert native.pump_of(object()) is None
    sizes, native.SIZES = native.SIZES, {}
    try:
        assert native.pump_of(connection) is None
    finally:
        native.SIZES = sizes


def test_plain_clients_do_not_import_ssl() -> None:
    """S52: a client without TLS imports neither ssl nor cryptography."""
    program = (
        "import sys, prokurist; "
        "c = prokurist.KafkaConsumer({'bootstrap.servers': 'localhost:1'}); c.close(0); "
        "print(sorted({'ssl', '_ssl', 'cryptography', 'gssapi'} & sys.modules.keys()))"
    )
    said = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True, timeout=60
    )
    assert said.stdout.strip() == "[]"
