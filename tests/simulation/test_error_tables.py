"""CONTRACT 4 through the real consumer, in virtual time: what each code comes to.

The tables are written out here by rule, and not read from `verdicts`: codes that the
contract names, and for the others what their class says of itself.
"""

from collections.abc import Callable
from typing import Final, NamedTuple

import pytest

from prokurist import errors
from prokurist.consumer.consumer import KafkaConsumer
from prokurist.errors.codes import by_code
from prokurist.testing.cluster.apis import ApiName
from prokurist.types import OffsetAndMetadata
from tests.simulation.looking_up import TP
from tests.simulation.world import World

UNHEARD_OF: Final = 32000
CODES: Final = (*sorted(by_code()), UNHEARD_OF)

RETRIED, REFRESHED, REDISCOVERED, FATAL, NONE = (
    "retry",
    "refresh",
    "rediscover",
    "fatal",
    "none",
)

OF_LEADERS: Final = {**dict.fromkeys((3, 5, 6, 9, 56, 74, 75, 78), REFRESHED), 29: FATAL}


class Table(NamedTuple):
    """What the contract says of one API.

    Attributes:
        api: The API.
        call: A call that asks by it, and what it returns.
        rows: The codes that the contract names.
    """

    api: ApiName
    call: Callable[[KafkaConsumer], object]
    answer: object
    rows: dict[int, str]


def position(consumer: KafkaConsumer) -> object:
    """Have a position confirmed."""
    consumer.assign(TP)
    consumer.seek(TP, OffsetAndMetadata(1, "", 0))
    return consumer.position(TP, timeout=60.0)


TABLES: Final = {
    "edges": Table(
        "ListOffsets", lambda c: c.end_offsets(TP)[TP], 1, {**OF_LEADERS, 43: FATAL}
    ),
    "times": Table(
        "ListOffsets",
        lambda c: c.offsets_for_times({TP: 9})[TP],
        None,
        {**OF_LEADERS, 43: NONE},
    ),
    "epochs": Table("OffsetForLeaderEpoch", position, 1, OF_LEADERS),
    "committed": Table(
        "OffsetFetch",
        lambda c: c.committed(TP)[TP],
        None,
        {
            14: RETRIED,
            88: RETRIED,
            100: REFRESHED,
            **dict.fromkeys((7, 15, 16), REDISCOVERED),
            **dict.fromkeys((25, 29, 30, 113), FATAL),
        },
    ),
    "metadata": Table(
        "Metadata",
        lambda c: c.end_offsets(TP)[TP],
        1,
        {
            **dict.fromkeys((3, 5, 7, 100, 129), RETRIED),
            17: FATAL,
            29: FATAL,
        },
    ),
}


def expected(rows: dict[int, str], code: int) -> str:
    """What a code comes to by the contract."""
    if code in rows:
        return rows[code]
    cls = by_code().get(code)
    if cls is None or not cls.retriable:
        return FATAL
    return REFRESHED if cls.refreshes_metadata else RETRIED


def check(world: World, consumer: KafkaConsumer, table: Table, code: int) -> None:
    """See what a code comes to; twice, where it is tried again."""
    outcome = expected(table.rows, code)
    world.control.forget_requests()
    with world.control.fail(table.api, code, times=2, whole=False) as fault:
        began = world.clock.time
        if outcome == FATAL:
            with pytest.raises(errors.KafkaException) as caught:
                table.call(consumer)
            assert caught.value.error_code == code
            assert fault.used == 1, code
        else:
            assert table.call(consumer) == table.answer, code
            assert fault.used == (1 if outcome == NONE else 2), code
        # Whether it is raised or tried again: no call waits for a deadline.
        assert world.clock.time - began < 0.5, code
    if table.api != "Metadata":
        assert bool(world.control.requests("Metadata")) is (outcome == REFRESHED), code
        rediscovered = bool(world.control.requests("FindCoordinator"))
        assert rediscovered is (outcome == REDISCOVERED), code


def one_record() -> World:
    """A world with something to ask about."""
    world = World()
    world.control.append(TP, b"v", timestamp=1)
    return world


@pytest.mark.parametrize("name", [name for name in TABLES if name != "metadata"])
def test_every_code(name: str) -> None:
    """B6, B70, B83, B86: tried again, with what has to be learnt before; or raised at once."""
    world = one_record()
    with world.consumer(retry_backoff_ms=10, retry_backoff_max_ms=20) as consumer:
        consumer.end_offsets(TP)
        consumer.committed(TP)
        for code in CODES:
            check(world, consumer, TABLES[name], code)


@pytest.mark.parametrize("code", [*TABLES["metadata"].rows, -1, 42, UNHEARD_OF])
def test_codes_of_metadata(code: int) -> None:
    """B6, B195, B199: of a topic that a call asks about; by a client that knows nothing yet."""
    world = one_record()
    with world.consumer(retry_backoff_ms=10, retry_backoff_max_ms=20) as consumer:
        check(world, consumer, TABLES["metadata"], code)


@pytest.mark.parametrize("name", TABLES)
def test_what_never_mends_is_told_at_the_deadline(name: str) -> None:
    """B5: the last error is the cause, for each request."""
    table = TABLES[name]
    code = 14 if name == "committed" else 5
    world = World()
    world.control.append(TP, b"v", timestamp=1)
    with world.consumer(default_api_timeout_ms=2000) as consumer:
        world.control.fail(table.api, code, times=None)
        if name == "epochs":
            consumer.assign(TP)
            consumer.seek(TP, OffsetAndMetadata(1, "", 0))
        with pytest.raises(errors.TimeoutException) as caught:
            consumer.position(TP) if name == "epochs" else table.call(consumer)
        assert type(caught.value.last_error) is by_code()[code]
        assert caught.value.elapsed == pytest.approx(2.0, abs=0.05)
