"""Bytes become frames, however the network cuts them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from prokurist.network_thread.io.framing import DIRECT_BYTES, FrameReader, other_protocol


def framed(*frames: bytes) -> bytes:
    """The frames as they go over the wire."""
    return b"".join(len(each).to_bytes(4, "big") + each for each in frames)


def fed(reader: FrameReader, *chunks: bytes) -> list[bytes]:
    """What a reader makes of chunks, each read with as many reads as it takes."""
    frames = []
    for chunk in chunks:
        rest = chunk
        while rest and not reader.refused:
            room, _ = reader.room()
            count = min(len(room), len(rest))
            room[:count] = rest[:count]
            rest = rest[count:]
            frames += [bytes(each) for each in reader.took(count)]
    return frames


def reader_of(scratch: int = 1000, largest: int = 10_000) -> FrameReader:
    """A reader with a scratch buffer of its own."""
    return FrameReader(memoryview(bytearray(scratch)), largest)


@pytest.mark.parametrize("scratch", [8, 16, 1000])
def test_a_stream_may_be_cut_anywhere(scratch: int) -> None:
    """Cut in three at every pair of positions, the same frames come out."""
    frames = [b"first", b"four", b"the third is longer", b"xyzw"]
    stream = framed(*frames)
    for one in range(len(stream) + 1):
        for two in range(one, len(stream) + 1):
            reader = reader_of(scratch)
            assert fed(reader, stream[:one], stream[one:two], stream[two:]) == frames
            assert reader.frames == 4


@given(
    st.lists(st.binary(min_size=4, max_size=60), max_size=8),
    st.lists(st.integers(1, 40), min_size=1, max_size=20),
    st.integers(8, 100),
)
def test_any_frames_in_any_chunks_through_any_scratch(
    frames: list[bytes], sizes: list[int], scratch: int
) -> None:
    """What was framed comes out, in order and exactly once."""
    stream, chunks = framed(*frames), []
    while stream:
        for size in sizes:
            chunks.append(stream[:size])
            stream = stream[size:]
    assert fed(reader_of(scratch), *chunks) == frames


def test_readers_share_a_scratch_buffer() -> None:
    """Two streams, interleaved byte by byte through one buffer, do not mix."""
    scratch = memoryview(bytearray(64))
    readers = [FrameReader(scratch, 1000), FrameReader(scratch, 1000)]
    streams = [framed(b"once", b"two " * 30), framed(b"unos", b"due " * 30)]
    frames: list[list[bytes]] = [[], []]
    for pair in zip(*streams, strict=True):
        for which, byte in enumerate(pair):
            frames[which] += fed(readers[which], bytes([byte]))
    assert frames == [[b"once", b"two " * 30], [b"unos", b"due " * 30]]


def test_a_frame_is_a_buffer_of_its_own() -> None:
    """Read-only, of its exact size, and untouched by what comes later."""
    reader = reader_of(64)
    room, _ = reader.room()
    stream = framed(b"first", b"second")
    room[: len(stream)] = stream
    first, second = reader.took(len(stream))
    fed(reader, framed(b"!" * 40))
    assert [bytes(first), bytes(second)] == [b"first", b"second"]
    assert first.readonly
    assert first.nbytes == 5
    with pytest.raises(TypeError):
        first[0] = 1


def test_a_large_frame_is_read_straight_into_its_own_buffer() -> None:
    """Only its beginning goes through the scratch buffer."""
    reader = reader_of(64)
    fed(reader, framed(b"x" * 500)[:64])
    room, more = reader.room()
    assert (len(room), more) == (440, False)
    assert isinstance(room.obj, bytearray)
    assert len(room.obj) == 500
    room[:] = b"y" * 440
    (frame,) = reader.took(440)
    assert bytes(frame) == b"x" * 60 + b"y" * 440
    assert frame.readonly


def test_a_huge_frame_is_read_in_pieces() -> None:
    """So that one read does not last as long as the frame is."""
    reader = reader_of(largest=DIRECT_BYTES + 100)
    fed(reader, (DIRECT_BYTES + 100).to_bytes(4, "big"))
    assert len(reader.room()[0]) == DIRECT_BYTES
    reader.took(DIRECT_BYTES)
    assert len(reader.room()[0]) == 100


@pytest.mark.parametrize(
    ("start", "says"),
    [
        (b"\xff\xff\xff\xff", "a frame of -1 bytes (it begins with"),
        (b"\x80\x00\x00\x00", "a frame of -2147483648 bytes"),
        (b"\x00\x00\x27\x11", "a frame of 10001 bytes, above the limit of 10000"),
        (b"\x7f\xff\xff\xff", "a frame of 2147483647 bytes, above the limit"),
        (b"\x00\x00\x00\x03abc", "a frame of 3 bytes, which is too short for an answer"),
        (b"\x00\x00\x00\x00", "a frame of 0 bytes, which is too short"),
        (b"SSH-2.0-OpenSSH\r\n", "it begins with b'SSH-2.0-OpenSSH"),
        (b"HTTP/1.1 400 Bad Request\r\nA: b", "an answer in HTTP ('HTTP/1.1 400 Bad Request')"),
        (b"HTTP", "this is not a Kafka listener's port"),
        (b"\x15\x03\x03\x00\x02\x02\x50", "a TLS alert 80: this listener speaks TLS"),
        (b"\x15\x03\x01\x00", "set security.protocol to SSL or SASL_SSL"),
        (b"\x16\x03\x03\x00\x7a", "a TLS handshake"),
    ],
)
def test_what_is_no_frame_is_named(start: bytes, says: str) -> None:
    """The error says what was seen; nothing was allocated for it."""
    reader = reader_of()
    assert fed(reader, start) == []
    assert says in reader.refused


def test_a_length_up_to_the_limit_is_accepted() -> None:
    """The limit itself is allowed, one more is not."""
    assert fed(reader_of(largest=500), framed(b"x" * 500)) == [b"x" * 500]
    assert "501 bytes, above the limit of 500" in refusal(framed(b"x" * 501), 500)


def refusal(stream: bytes, largest: int) -> str:
    """Why a stream is refused."""
    reader = reader_of(largest=largest)
    fed(reader, stream)
    return reader.refused


def test_another_protocol_is_recognised_below_a_high_limit_too() -> None:
    """At the first answer; a later frame may have any length that is allowed."""
    assert "TLS" in refusal(b"\x15\x03\x03\x00", 1 << 30)
    reader = reader_of(largest=1 << 30)
    alert = b"\x15\x03\x03\x00"
    assert fed(reader, framed(b"well", alert), framed(b"four")) == [b"well", alert, b"four"]
    reader.room()[0][:4] = alert
    assert not reader._objection(int.from_bytes(alert, "big"), 0, 4)
    assert not other_protocol(framed(b"any bytes"))


def test_frames_before_a_bad_one_are_kept() -> None:
    """What was whole arrives; what follows means nothing any more."""
    reader = reader_of()
    assert fed(reader, framed(b"good") + b"\xff\xff\xff\xff" + framed(b"lost")) == [b"good"]
    assert "-1 bytes" in reader.refused


def test_a_reader_says_where_it_stands() -> None:
    """The text that an error and the repr show."""
    reader = reader_of()
    assert repr(reader) == "<FrameReader before the first answer>"
    fed(reader, b"\0\0")
    assert reader.progress().place() == "in the middle of a frame's length, after 2 of 4 bytes"
    fed(reader, b"\0\x05ab")
    assert reader.progress().place() == "in the middle of a frame, after 2 of 5 bytes"
    fed(reader, b"cde")
    assert reader.progress().place() == "after 1 whole answer"
