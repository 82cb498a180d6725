"""What versions of the share group's messages can carry, and what they refuse to read."""

from collections.abc import Callable
from typing import Any

import pytest

from prokurist.network_thread.wire.failures import Malformed
from prokurist.network_thread.wire.share_fetch import (
    LONGEST_RANGE,
    RECORD_LIMIT,
    OffsetTypes,
    ShareAcknowledge,
    ShareFetch,
    SharePartition,
)
from tests.unit.network_thread.wire.exchange import ID
from tests.unit.network_thread.wire.share_exchanges import EXCHANGES

RENEWED = ((SharePartition(ID, 3), (OffsetTypes(10, 12, (1, 4, 1)),)),)


@pytest.mark.parametrize(
    "request_made",
    [
        lambda: ShareFetch("g", "me", 1, mode=RECORD_LIMIT),
        lambda: ShareFetch("g", "me", 1, acknowledged=RENEWED),
        lambda: ShareAcknowledge("g", "me", 1, RENEWED),
    ],
    ids=["mode", "fetch", "acknowledge"],
)
def test_acquire_modes_and_renewals_need_version_2(request_made: Callable[[], Any]) -> None:
    """A broker of Kafka 4.1 is not asked for what it does not know."""
    assert [each.oldest for each in request_made().limits()] == [2]


def test_a_renewal_is_announced() -> None:
    """Without the flag a broker refuses the type."""
    assert ShareAcknowledge("g", "me", 1, RENEWED).body()["is_renew_ack"] is True


@pytest.mark.parametrize(
    "ranges",
    [
        [(5, 4)],
        [(-1, 4)],
        [(0, 4), (4, 5)],
        [(3, 4), (1, 2)],
        [(0, LONGEST_RANGE)],
    ],
)
def test_ranges_that_no_broker_lends_are_malformed(ranges: list[tuple[int, int]]) -> None:
    """They would cost memory, or name an offset twice."""
    exchange = EXCHANGES[1]
    row = dict(exchange.answered["responses"][0]["partitions"][0])
    row["acquired_records"] = tuple(
        {"first_offset": first, "last_offset": last, "delivery_count": 1}
        for first, last in ranges
    )
    body = {**exchange.answered, "responses": ({"topic_id": ID, "partitions": (row,)},)}
    with pytest.raises(Malformed, match="cannot be acquired"):
        ShareFetch("g", "me", 1).answer(body)
