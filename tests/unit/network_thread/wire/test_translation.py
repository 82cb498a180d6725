"""What answers have in common."""

import pytest

from prokurist.network_thread.wire.failures import Malformed
from prokurist.network_thread.wire.translation import node, said


def test_a_brokers_words_are_cut() -> None:
    """B397: to what can be read."""
    assert said("E" * 100_000) == "E" * 1000 + "…"
    assert said("E" * 1000) == "E" * 1000
    assert said(None) is None


def test_a_dumped_request_is_left_out_of_a_brokers_words() -> None:
    """B691: a controller that refuses one names the operation behind all of its fields."""
    dumped = (
        "Request Request(processor=0, connectionId=127.0.0.1:1-127.0.0.1:2-0-1, "
        "buffer=java.nio.HeapByteBuffer[pos=56 lim=56 cap=80], envelope=Some(Request("
        "processor=0, envelope=None))) needs ALTER permission."
    )
    assert said(dumped) == "the request needs ALTER permission."
    assert said("Request failed (again) for orders") == "Request failed (again) for orders"


def test_a_host_name_that_no_resolver_takes() -> None:
    """B397: it is refused, with its beginning."""
    assert node(1, "h" * 255, 9092).host == "h" * 255
    with pytest.raises(Malformed) as refused:
        node(1, "h" * 30_000, 9092)
    assert len(str(refused.value)) < 400
