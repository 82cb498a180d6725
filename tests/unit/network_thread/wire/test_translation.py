"""What answers have in common."""

import pytest

from prokurist.network_thread.wire.failures import Malformed
from prokurist.network_thread.wire.translation import node, said


def test_a_brokers_words_are_cut() -> None:
    """B397: to what can be read."""
    assert said("E" * 100_000) == "E" * 1000 + "…"
    assert said("E" * 1000) == "E" * 1000
    assert said(None) is None


def test_a_host_name_that_no_resolver_takes() -> None:
    """B397: it is refused, with its beginning."""
    assert node(1, "h" * 255, 9092).host == "h" * 255
    with pytest.raises(Malformed) as refused:
        node(1, "h" * 30_000, 9092)
    assert len(str(refused.value)) < 400
