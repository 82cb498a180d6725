"""Frames: hostile bytes, refused versions, values without room, and no early imports."""

import struct
import subprocess
import sys
import tracemalloc
from typing import TYPE_CHECKING

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from prokurist.errors import UnsupportedVersionException
from prokurist.network_thread.wire.api_versions import ApiVersions, ApiVersionsAnswer
from prokurist.network_thread.wire.classic_group import Heartbeat, JoinGroup, LeaveGroup
from prokurist.network_thread.wire.codec import correlation_id, decode, encode
from prokurist.network_thread.wire.committed_offsets import OffsetCommit, OffsetFetch
from prokurist.network_thread.wire.consumer_group import ConsumerGroupHeartbeat
from prokurist.network_thread.wire.failures import MalformedAnswer, UnsendableRequest
from prokurist.network_thread.wire.metadata import FindCoordinator, Metadata
from prokurist.network_thread.wire.versions import Range, Versions
from prokurist.types import OffsetAndMetadata, TopicPartition

if TYPE_CHECKING:
    from tests.unit.network_thread.wire.conftest import Case

HEADER = b"\0\0\0\7"
ASK = ApiVersions("prokurist", "1")
ALL = Metadata()
FLIPS = st.lists(
    st.tuples(st.integers(0, 1 << 16), st.integers(1, 255)), min_size=1, max_size=4
)


# --- hostile bytes ------------------------------------------------------------


@settings(deadline=None)  # an example may be the first to load its version
@given(which=st.integers(0, 1 << 16), flips=FLIPS, cut=st.integers(0, 8))
def test_flipped_bytes_are_read_or_malformed(
    cases: "tuple[Case, ...]", which: int, flips: list[tuple[int, int]], cut: int
) -> None:
    """A damaged answer is an answer or malformed, and nothing else is ever raised."""
    case = cases[which % len(cases)]
    damaged = bytearray(case.frame())
    for at, mask in flips:
        damaged[4 + at % (len(damaged) - 4)] ^= mask
    try:
        decode(case.request, case.version, damaged[: len(damaged) - cut])
    except MalformedAnswer as error:
        assert str(case.request.api) in str(error)  # noqa: PT017 - both ends are right


@settings(deadline=None)  # an example may be the first to load its version
@given(which=st.integers(0, 1 << 16), garbage=st.binary(max_size=200))
def test_any_bytes_are_read_or_malformed(
    cases: "tuple[Case, ...]", which: int, garbage: bytes
) -> None:
    """So is what never was an answer."""
    case = cases[which % len(cases)]
    try:
        decode(case.request, case.version, garbage)
    except MalformedAnswer as error:
        assert str(case.request.api) in str(error)  # noqa: PT017


@pytest.mark.parametrize(
    ("version", "claim"),
    [
        (1, b"\x7f\xff\xff\xff"),
        (1, b"\x00\xff\xff\xff"),
        (12, b"\0" * 5 + b"\xff\xff\xff\xff\x07"),
        (12, b"\0" * 5 + b"\xff\xff\xff\xff\x7f"),
    ],
)
def test_a_length_is_believed_as_far_as_the_bytes_go(version: int, claim: bytes) -> None:
    """Memory is not reserved for what a frame only claims to hold.

    kio's own reader aborts the process on the first and the third.
    """
    tracemalloc.start()
    try:
        with pytest.raises(MalformedAnswer, match="brokers claims"):
            decode(ALL, version, HEADER + claim + b"\0\0\0\0")
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 1 << 20


@pytest.mark.parametrize(
    ("version", "body", "why"),
    [
        (12, b"\0" * 5 + b"\xff" * 6, "varint"),
        (12, b"\0" * 5 + b"\0", "brokers has a length of -1"),
        (1, b"\xff\xff\xff\xfe", "brokers has a length of -2"),
        (1, b"\0\0\0\1" + b"\0\0\0\1" + b"\0\2\xc3\x28" + b"\0" * 20, "host is no UTF-8"),
        (
            1,
            b"\0\0\0\1" + b"\0\0\0\1" + b"\0\1h" + b"\0\1\0\0" + b"\xff\xff" + b"\0" * 8,
            "65536",
        ),
        (
            1,
            b"\0\0\0\1" + b"\xff\xff\xff\xff" + b"\0\1h" + b"\0" * 4 + b"\xff\xff" + b"\0" * 8,
            "-1",
        ),
        (1, b"\0\0\0\1" + b"\0\0\0\1" + b"\0\0" + b"\0" * 4 + b"\xff\xff" + b"\0" * 8, "''"),
        (12, b"\1\0\x7f" + b"\0" * 9, "tagged field 0 claims 127 bytes"),
        (12, b"\1\0", "ends too early"),
    ],
)
def test_malformed_metadata_says_what_is_wrong(version: int, body: bytes, why: str) -> None:
    """Lengths, encodings and addresses that cannot be are named."""
    with pytest.raises(MalformedAnswer, match=f"Metadata {version}.*{why}"):
        decode(ALL, version, HEADER + body)


def test_unknown_tagged_fields_are_passed_over(cases: "tuple[Case, ...]") -> None:
    """What a newer broker adds in tags, in the header too, changes nothing."""
    case = next(c for c in cases if str(c) == "sync_group-5")
    frame = case.frame()
    assert frame[4:5] == frame[-1:] == b"\0"
    tags = b"\2\x09\2hi\x80\x01\0"
    assert decode(case.request, 5, frame[:4] + tags + frame[5:-1] + tags) == case.expected


def test_a_tagged_field_fills_its_size(cases: "tuple[Case, ...]") -> None:
    """A known tag that is longer than its value is malformed."""
    case = next(c for c in cases if str(c) == "api_versions-3")
    body = HEADER + b"\0\0" + b"\1" + b"\0\0\0\0"
    decode(case.request, 3, body + b"\1\3\1\1")
    with pytest.raises(MalformedAnswer, match="zk_migration_ready does not fill its 2 bytes"):
        decode(case.request, 3, body + b"\1\3\2\1\0")


@pytest.mark.parametrize("frame", [b"", b"\0\0\0"])
def test_a_frame_without_a_header_is_malformed(frame: bytes) -> None:
    """The request that it answers is not known."""
    with pytest.raises(MalformedAnswer, match=f"{len(frame)} bytes has no header"):
        correlation_id(frame)


def test_an_answer_about_something_else_is_malformed(cases: "tuple[Case, ...]") -> None:
    """Batched forms hold what was asked for once, and a topic's id is one of ours."""
    by_name = {str(case): case for case in cases}
    other = OffsetFetch("other", (TopicPartition("orders", 3),))
    with pytest.raises(MalformedAnswer, match="another group"):
        decode(other, 9, by_name["offset_fetch-9"].frame())
    stranger = OffsetCommit("g", ((TopicPartition("orders", 3), OffsetAndMetadata(1)),))
    with pytest.raises(MalformedAnswer, match=r"topic id 6ba7b810.* was not asked for"):
        decode(stranger, 10, by_name["offset_commit-10"].frame())
    with pytest.raises(MalformedAnswer, match="0 coordinators where one"):
        decode(FindCoordinator("g"), 4, HEADER + b"\0" + b"\0" * 4 + b"\1" + b"\0")
    with pytest.raises(MalformedAnswer, match="0 members where one"):
        decode(LeaveGroup("g", "m"), 4, HEADER + b"\0" + b"\0" * 6 + b"\1" + b"\0")


# --- the shapes that answers with errors have --------------------------------------


def test_a_coordinator_that_is_not_known_has_no_node() -> None:
    """With an error the address is empty and is not looked at."""
    frame = HEADER + b"\0\0\0\0" + b"\0\x0f" + b"\0\3no." + b"\xff" * 4 + b"\0\0" + b"\xff" * 4
    answer = decode(FindCoordinator("g"), 2, frame)
    assert (answer.error, answer.node, answer.message) == (15, None, "no.")


def test_the_groups_error_stands_without_members() -> None:
    """A leave that failed as a whole need not name the member."""
    frame = HEADER + b"\0" + b"\0" * 4 + b"\0\x10" + b"\1" + b"\0"
    assert decode(LeaveGroup("g", "m"), 4, frame).error == 16


def test_no_assignment_is_not_an_empty_one() -> None:
    """None means that nothing has changed; nothing to own is another matter."""
    request = ConsumerGroupHeartbeat("g", "m", 0)
    before = HEADER + b"\0" + b"\0" * 6 + b"\0" + b"\2m" + b"\0\0\0\1" + b"\0\0\1\0"
    assert decode(request, 0, before + b"\xff" + b"\0").assignment is None
    assert decode(request, 0, before + b"\1" + b"\1\0" + b"\0").assignment == ()
    with pytest.raises(MalformedAnswer, match="without its id"):
        decode(request, 0, before + b"\1" + b"\2" + b"\0" * 16 + b"\1\0" + b"\0" + b"\0")


def test_a_failed_join_names_no_protocol() -> None:
    """Old brokers answer an error with an empty protocol, new ones with null."""
    old = HEADER + b"\0\0\0\0" + b"\0\x4f" + b"\xff" * 4 + b"\0\0" * 2 + b"\0\3m-1" + b"\0" * 4
    request = JoinGroup("g", (("range", b""),), 45.0, 300.0)
    answer = decode(request, 4, old)
    assert (answer.error, answer.generation, answer.protocol) == (79, -1, None)
    assert answer.member_id == "m-1"


def test_a_negative_throttle_waits_for_nothing() -> None:
    """Nonsense in a duration never makes a time in the past."""
    assert decode(Heartbeat("g", 1, "m"), 1, HEADER + b"\xff" * 4 + b"\0\0").throttle == 0.0


# --- ApiVersions ----------------------------------------------------------------


@pytest.mark.parametrize("asked", [0, 1, 2, 3, 4])
def test_a_refused_api_versions_is_answered_in_the_oldest_form(asked: int) -> None:
    """UNSUPPORTED_VERSION always comes in version 0, with the range to use."""
    frame = HEADER + b"\0\x23" + b"\0\0\0\1" + b"\0\x12\0\0\0\2"
    answer = decode(ASK, asked, frame)
    assert answer == ApiVersionsAnswer(35, Versions({18: Range(0, 2)}))
    if asked > 0:
        assert answer.version_to_ask_again(asked) == min(asked - 1, 2)


def test_a_refusal_without_a_range_is_followed_by_the_oldest_version() -> None:
    """Brokers before 2.4 refuse and say nothing of what they know."""
    answer = decode(ASK, 3, HEADER + b"\0\x23" + b"\0\0\0\0")
    assert answer.version_to_ask_again(3) == 0


def test_a_refusal_in_the_form_asked_is_read_too() -> None:
    """Not every broker is Kafka."""
    frame = HEADER + b"\0\x23" + b"\2" + b"\0\x12\0\0\0\2\0" + b"\0\0\0\0" + b"\0"
    assert decode(ASK, 3, frame).version_to_ask_again(3) == 2


def test_asking_again_comes_to_an_end() -> None:
    """Each further try is older, and there is none below 0, or below the broker's oldest."""
    liar = ApiVersionsAnswer(35, Versions({18: Range(0, 9)}))
    assert liar.version_to_ask_again(4) == 3
    with pytest.raises(UnsupportedVersionException, match="refused version 0 and offers 0–9"):
        liar.version_to_ask_again(0)
    newer = ApiVersionsAnswer(35, Versions({18: Range(7, 9)}))
    with pytest.raises(UnsupportedVersionException, match="offers 7–9; we speak 0–4"):
        newer.version_to_ask_again(4)


# --- what cannot be sent ------------------------------------------------------------


@pytest.mark.parametrize(
    ("request_", "version", "why"),
    [
        (Heartbeat("g" * 40_000, 1, "m"), 3, "group_id has 40000 bytes"),
        (Heartbeat("ä" * 20_000, 1, "m"), 4, "group_id has 40000 bytes, and a string 32767"),
        (Heartbeat("g", 1 << 31, "m"), 3, "generation_id is 2147483648, which is no int32"),
        (Heartbeat("g", 1, None), 3, "member_id cannot be null"),  # type: ignore[arg-type]
        (Heartbeat("\ud800", 1, "m"), 4, "surrogates"),
        (JoinGroup("g", (), 1e30, 1.0), 4, r"session_timeout is 1\d+, which is no int32"),
        (JoinGroup("g", (), float("inf"), 1.0), 4, "infinity"),
        (JoinGroup("g", (), float("nan"), 1.0), 4, "NaN"),
    ],
)
def test_a_value_without_room_is_refused(request_: Heartbeat, version: int, why: str) -> None:
    """What the protocol cannot hold never ends the thread by a surprise."""
    with pytest.raises(UnsendableRequest, match=why):
        encode(request_, version, 1, None)


def test_the_client_id_has_room_for_what_it_has_room_for() -> None:
    """32 767 bytes fit in a header, one more does not; none is null."""
    assert len(encode(ASK, 0, 1, "i" * 32767)) == 4 + 8 + 2 + 32767
    with pytest.raises(UnsendableRequest, match="ApiVersions 0"):
        encode(ASK, 0, 1, "i" * 32768)
    assert encode(ASK, 0, 1, None)[-2:] == struct.pack(">h", -1)


@pytest.mark.parametrize("version", [-1, 5])
def test_a_version_that_we_do_not_speak_is_refused(version: int) -> None:
    """The range that we speak is named."""
    with pytest.raises(UnsupportedVersionException, match="we speak 0–4"):
        encode(ASK, version, 1, None)


def test_what_is_spoken_needs_nothing_of_kio() -> None:
    """It is what tests hold ours against, and is not there where prokurist is installed."""
    code = """
import importlib, pkgutil, sys
import prokurist.network_thread.wire as wire
for each in pkgutil.iter_modules(wire.__path__):
    importlib.import_module(f"{wire.__name__}.{each.name}")
from prokurist.network_thread.wire.codec import decode, encode
from prokurist.network_thread.wire.classic_group import Heartbeat
encode(Heartbeat("g", 1, "m"), 4, 1, None)
decode(Heartbeat("g", 1, "m"), 4, bytes(12))
assert not any(name.partition(".")[0] == "kio" for name in sys.modules), "kio is imported"
"""
    subprocess.run([sys.executable, "-c", code], check=True, timeout=30)
