"""A member's part as it comes from another client's leader: believed if it can be read."""

import pytest

from prokurist.assignors import encoding
from prokurist.errors import InconsistentGroupProtocolException, KafkaException
from prokurist.network_thread.membership.classic.round import part_in
from prokurist.network_thread.wire.classic_group import JoinGroupAnswer
from prokurist.types import TopicPartition

JOINED = JoinGroupAnswer(0, 3, "range", "leader", "me")
PART = (TopicPartition("orders", 1), TopicPartition("orders", 2))


@pytest.mark.parametrize("protocol", ["range", None])
def test_a_part_is_read(protocol: str | None) -> None:
    """KIP-559: the coordinator names the assignor, or is too old to."""
    assert part_in(encoding.assignment(PART), protocol, JOINED) == PART
    assert part_in(b"", protocol, JOINED) == ()


def test_a_part_by_another_assignor_is_none() -> None:
    """KIP-559: we have joined a group that works otherwise."""
    with pytest.raises(InconsistentGroupProtocolException, match=r"'range'.*'sticky'"):
        part_in(encoding.assignment(PART), "sticky", JOINED)


def test_a_part_that_cannot_be_read_names_who_has_sent_it() -> None:
    """The leader is another client, and nothing here can mend it."""
    with pytest.raises(KafkaException, match="leader"):
        part_in(b"\x00\x00\x00\x00\x00\x09", "range", JOINED)
