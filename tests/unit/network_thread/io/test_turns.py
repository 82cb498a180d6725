"""A turn of the network: fair to each connection, asleep with nothing to do, woken."""

import select
import signal
import socket
import threading
from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING, cast

import pytest

from prokurist.network_thread.io.framing import SCRATCH_BYTES
from prokurist.network_thread.io.pure_watch import PureWatch
from prokurist.network_thread.io.watch import READING, Seen, Watch

PATIENCE = 10.0
TURN = (5 << 20) + (1 << 16)
"""Bytes that either twin reads of one socket in a turn, at the most."""

if TYPE_CHECKING:
    from tests.unit.network_thread.io.conftest import Driver, Peer


def framed(*frames: bytes) -> bytes:
    """The frames as they go over the wire."""
    return b"".join(len(each).to_bytes(4, "big") + each for each in frames)


def crammed(sender: socket.socket, stream: bytes, reader: socket.socket) -> int:
    """Have more wait to be read than a turn takes, if the system lets it.

    Returns:
        How many bytes wait; one more than a turn takes stands for all there are.
    """
    reader.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, TURN + (1 << 20))
    sender.setblocking(False)
    left, there = memoryview(stream), 0
    while left and there <= TURN and select.select([], [sender], [], 1.0)[1]:
        with suppress(BlockingIOError):
            left = left[sender.send(left) :]
        with suppress(BlockingIOError):
            there = len(reader.recv(TURN + 1, socket.MSG_PEEK))
    return there


def in_thread(work: Callable[[], object]) -> threading.Thread:
    """Work that goes on beside the test; joined by it."""
    thread = threading.Thread(target=work)
    thread.start()
    return thread


def test_many_frames_in_one_segment(driver: "Driver", peer: "Peer") -> None:
    """All of them in order, and in few turns."""
    other = driver.connected(1, peer)
    frames = [b"%04d" % each * (1 + each % 3) for each in range(1000)]
    before = driver.network.turns
    other.sendall(framed(*frames))
    driver.until_frames(1, 1000)
    assert driver.frames(1) == frames
    assert driver.network.turns - before < 20


def test_a_frame_cut_at_each_position(driver: "Driver", peer: "Peer") -> None:
    """For any segments, the frame that arrives is the one that was sent."""
    other = driver.connected(1, peer)
    stream = framed(b"an answer")
    for cut in range(1, len(stream)):
        seen = driver.network.bytes_received
        other.sendall(stream[:cut])
        driver.until_received(seen + cut)
        other.sendall(stream[cut:])
        driver.until_frames(1, cut)
    assert set(driver.frames(1)) == {b"an answer"}


def test_a_huge_frame(driver: "Driver", peer: "Peer") -> None:
    """Larger than any buffer on the way, it arrives whole, and the next one after it."""
    other = driver.connected(1, peer)
    huge = bytes(range(256)) * (20 << 12)
    sender = in_thread(lambda: other.sendall(framed(huge, b"next")))
    driver.until_frames(1, 2)
    sender.join()
    assert driver.frames(1) == [huge, b"next"]


@pytest.mark.parametrize(
    ("size", "count"),
    [
        # With its length it is a part of what either twin reads at a time, so that each read
        # ends with a frame: in the midst of one a twin may have another reason to stop.
        pytest.param(1020, 16 << 10, id="small frames"),
        pytest.param(16 << 20, 1, id="a large frame"),
    ],
)
def test_a_peer_that_never_stops_delays_no_other(
    driver: "Driver", peer: "Peer", size: int, count: int
) -> None:
    """B217's ground: one connection has megabytes waiting, the other gets its turn."""
    loud, quiet = driver.connected(1, peer), driver.connected(2, peer)
    of_loud, of_quiet = (driver.network._connections[each].socket for each in (1, 2))
    there = crammed(loud, framed(bytes(size)) * count, of_loud)
    driver.told.clear()
    quiet.sendall(framed(b"me too"))
    # Even on loopback that may be a little later.
    assert select.select([of_quiet], [], [], PATIENCE)[0]
    received, turns = driver.network.bytes_received, driver.network.turns
    driver.until_frames(2, 1)
    assert driver.network.turns - turns == 1
    assert 0 < driver.network.bytes_received - received - len(framed(b"me too")) <= TURN
    if there <= TURN:
        pytest.skip(f"no bound was met: this system has no more than {there} bytes wait")


def test_the_pure_twin_reads_a_bounded_amount_of_a_socket(driver: "Driver") -> None:
    """Two reads a turn, even if each of them is filled to the brim."""
    made, other = socket.socketpair()
    reads: list[int] = []

    class Endless:
        """A socket that fills any buffer that it is given with one whole frame."""

        def fileno(self) -> int:
            return made.fileno()

        def recv_into(self, room: memoryview) -> int:
            reads.append(len(room))
            assert len(reads) < 10
            room[:4] = (len(room) - 4).to_bytes(4, "big")
            return len(room)

    wakeup = driver.network._wakeup
    assert wakeup is not None
    watch = PureWatch(wakeup.fileno(), 64 << 20)
    with made, other:
        watch.add(1, cast("socket.socket", Endless()), READING)
        other.sendall(b"there is something to read")
        (seen,) = watch.wait(None)
        watch.close()
    assert reads == [SCRATCH_BYTES] * 2
    assert len(seen.frames) == 2


def test_a_slow_sender_in_the_middle_of_a_frame_delays_no_other(
    driver: "Driver", peer: "Peer"
) -> None:
    """Others come and go while one frame drips in."""
    slow, fast = driver.connected(1, peer), driver.connected(2, peer)
    stream = framed(b"slow and steady")
    for count, byte in enumerate(stream, 1):
        slow.sendall(bytes([byte]))
        fast.sendall(framed(b"fast"))
        driver.until_frames(2, count)
    driver.until(lambda: driver.frames(1) == [b"slow and steady"])


def test_a_peer_that_does_not_read_holds_up_only_itself(driver: "Driver", peer: "Peer") -> None:
    """Written comes when the rest is gone, and not before; meanwhile nothing spins."""
    deaf, other = driver.connected(1, peer), driver.connected(2, peer)
    frame = driver.stuck(1)
    for _ in range(20):
        other.sendall(framed(b"hello"))
        driver.until_frames(2, 1)
        driver.told.clear()
    turns = driver.network.turns
    assert driver.network.poll(0.01) == []
    assert driver.network.turns == turns + 1
    reader = in_thread(lambda: peer.taken(deaf, len(frame)))
    driver.until(lambda: driver.written(1) == 1)
    reader.join()
    assert driver.network.writable(1)
    assert driver.network.bytes_sent == len(frame)
    assert driver.network.poll(0) == [], "a socket that could be written to is not asked"


def test_a_broken_pipe_does_not_end_a_process_that_dies_of_it(
    driver: "Driver", peer: "Peer"
) -> None:
    """With SIGPIPE given its default back, a broker that hung up is still only Lost."""
    if not hasattr(socket, "MSG_NOSIGNAL"):
        pytest.skip("this system has no MSG_NOSIGNAL")
    handler = signal.signal(signal.SIGPIPE, signal.SIG_DFL)
    try:
        driver.connected(1, peer).close()
        while driver.network.writable(1):
            driver.network.write(1, framed(b"x"))
        driver.lost(1)
    finally:
        signal.signal(signal.SIGPIPE, handler)


def test_a_peer_leaves_with_a_rest_unwritten(driver: "Driver", peer: "Peer") -> None:
    """The rest is dropped with the connection, which is told once."""
    deaf = driver.connected(1, peer)
    driver.stuck(1)
    peer.reset(deaf)
    driver.lost(1)
    assert driver.network.poll(0) == []
    assert driver.written(1) == 0


def test_with_nothing_to_do_it_sleeps_until_it_is_woken(driver: "Driver") -> None:
    """ARCHITECTURE 9: an idle client is idle; one wake, one turn."""
    waker = in_thread(driver.network.wake)
    assert driver.network.poll(None) == []
    waker.join()
    assert (driver.network.turns, driver.network.wakes) == (1, 1)
    assert driver.network.poll(0) == []
    assert driver.network.wakes == 1


def test_many_wakes_are_one_turn(driver: "Driver") -> None:
    """They coalesce, and none is lost: the next poll returns at once."""
    for _ in range(10_000):
        driver.network.wake()
    assert driver.network.poll(None) == []
    assert driver.network.poll(0.001) == []
    assert (driver.network.turns, driver.network.wakes) == (2, 1)


def signal_until(seen: threading.Event) -> None:
    """Send the main thread signals until it has seen one.

    One that comes just before a system call is handled after it, so that another has to
    end the call.
    """
    while not seen.is_set():
        signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGUSR1)
        seen.wait(0.1)


def test_a_signal_handler_wakes(driver: "Driver", monkeypatch: pytest.MonkeyPatch) -> None:
    """In the middle of a poll that the very same thread is in."""
    handler = signal.signal(signal.SIGUSR1, lambda *_: driver.network.wake())
    waiting = threading.Event()

    class Announcing:
        """A watch that says when a wait begins."""

        def __init__(self, real: Watch) -> None:
            self.real = real

        def __getattr__(self, name: str) -> object:
            return getattr(self.real, name)

        def wait(self, seconds: float | None) -> list[Seen]:
            waiting.set()
            return self.real.wait(seconds)

    watch = cast("Watch", Announcing(driver.network._watch))
    monkeypatch.setattr(driver.network, "_watch", watch)

    over = threading.Event()

    def send() -> None:
        assert waiting.wait(10)
        signal_until(over)

    sender = in_thread(send)
    try:
        assert driver.network.poll(None) == []
    finally:
        over.set()
        sender.join()
        signal.signal(signal.SIGUSR1, handler)
    assert driver.network.wakes == 1


def test_a_signal_alone_does_not_end_the_wait(driver: "Driver") -> None:
    """EINTR is waited through: what ends it is the wake that follows."""
    seen = threading.Event()
    handler = signal.signal(signal.SIGUSR1, lambda *_: seen.set())

    def send() -> None:
        signal_until(seen)
        driver.network.wake()

    sender = in_thread(send)
    try:
        assert driver.network.poll(None) == []
    finally:
        sender.join()
        signal.signal(signal.SIGUSR1, handler)
    assert (driver.network.turns, driver.network.wakes) == (1, 1)


@pytest.mark.parametrize("seconds", [float("inf"), 1e300, 86_400_000.0])
def test_a_time_that_never_comes_is_no_error(driver: "Driver", seconds: float) -> None:
    """The top of an empty Timer may be infinitely far away."""
    driver.network.wake()
    assert driver.network.poll(seconds) == []
