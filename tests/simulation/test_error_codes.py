"""Every error code there is, and some that are none, through the real consumer.

What is expected is written out here by rule, from the contract and Kafka's own table
of codes, and not read from the client's tables. Each code comes once; the consumer
is the same for all of them, and works in between.
"""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Final, NamedTuple

import pytest

from prokurist.consumer.consumer import KafkaConsumer
from prokurist.errors import KafkaException, TimeoutException
from prokurist.testing.cluster.apis import ApiName
from prokurist.types import OffsetAndMetadata, TopicPartition
from tests.simulation.world import World

TP = TopicPartition("orders", 0)
OFFSETS = {TP: OffsetAndMetadata(7)}
TABLE = Path(__file__).parents[1] / "unit" / "errors" / "kafka-errors.tsv"


class Code(NamedTuple):
    """A row of Kafka's table."""

    exception: str
    retriable: bool
    refreshes: bool


def codes() -> dict[int, Code]:
    """Kafka's table without success, and an unknown code."""
    rows = [line.split("\t") for line in TABLE.read_text(encoding="utf-8").splitlines()[1:]]
    known = {int(row[0]): Code(row[2], row[3] == "yes", row[4] == "yes") for row in rows}
    del known[0]
    return {**known, 32000: Code("UnknownServerException", retriable=False, refreshes=False)}


CODES: Final = codes()


def by_rule(code: int) -> str:
    """What a code means where the contract says nothing special of it."""
    row = CODES[code]
    if not row.retriable:
        return row.exception
    return "refreshed" if row.refreshes else "retried"


OFFSET_COMMIT: Final = {
    **{code: by_rule(code) for code in CODES},
    **dict.fromkeys((3, 14), "retried"),
    **dict.fromkeys((7, 15, 16), "rediscovered"),
    100: "refreshed",
    **dict.fromkeys((22, 25, 82, 113), "CommitFailedException"),
    12: "OffsetMetadataTooLarge",
    24: "InvalidGroupIdException",
    27: "RebalanceInProgressException",
    28: "InvalidCommitOffsetSizeException",
    29: "TopicAuthorizationException",
    30: "GroupAuthorizationException",
    69: "GroupIdNotFoundException",
}
"""Contract 4, the row of OffsetCommit."""

FIND_COORDINATOR: Final = {
    **{code: by_rule(code) for code in CODES},
    **dict.fromkeys((14, 15), "retried"),
    30: "GroupAuthorizationException",
}
"""The row of FindCoordinator."""


class Traffic:
    """How often each API was asked since it was last looked."""

    def __init__(self, world: World) -> None:
        self._world = world
        self._seen: dict[ApiName, int] = {}

    def __call__(self, api: ApiName) -> int:
        """How often."""
        count = len(self._world.cluster.journal.entries(api))
        new, self._seen[api] = count - self._seen.get(api, 0), count
        return new


def outcome(traffic: Traffic, api: ApiName, act: Callable[[], object]) -> str:
    """What became of a call one of whose requests was refused."""
    apis: tuple[ApiName, ...] = (api, "FindCoordinator", "Metadata")
    for each in apis:
        traffic(each)
    try:
        act()
    except KafkaException as error:
        asked = traffic(api)
        return type(error).__name__ + ("" if asked == 1 else f" after {asked} requests")
    asked, searches, refreshes = (traffic(each) for each in apis)
    if asked != 2:
        return f"asked {asked} times"
    if searches and api != "FindCoordinator":
        return "rediscovered"
    return "refreshed" if refreshes else "retried"


def commit(consumer: KafkaConsumer) -> None:
    """Commit, with time enough for one more try."""
    consumer.commit_sync(OFFSETS, timeout=5.0)


def test_every_code_for_a_synchronous_commit() -> None:
    """Contract 4: retried, found again, or raised; and the next commit is a good one."""
    world = World()
    traffic = Traffic(world)
    found: dict[int, str] = {}
    with world.consumer() as consumer:
        commit(consumer)
        for code in CODES:
            with world.control.fail("OffsetCommit", code, times=1):
                found[code] = outcome(traffic, "OffsetCommit", lambda: commit(consumer))
            commit(consumer)
    assert found == OFFSET_COMMIT


def test_every_code_for_an_asynchronous_commit() -> None:
    """Contract 3, 4: one attempt; what may pass is told as such, the rest as what it is."""
    world = World()
    traffic = Traffic(world)
    found: dict[int, str] = {}
    passing = {"retried", "refreshed", "rediscovered"}
    with world.consumer() as consumer:
        commit(consumer)
        for code in CODES:
            heard: list[Exception | None] = []
            traffic("OffsetCommit")
            with world.control.fail("OffsetCommit", code, times=1):
                consumer.commit_async(OFFSETS, lambda _, error, to=heard: to.append(error))  # type: ignore[misc]
                consumer.commit_sync({}, timeout=5.0)
            (error,) = heard
            forgotten = consumer.health().coordinator is None
            cause = type(error.__cause__).__name__ if error is not None else ""
            found[code] = f"{type(error).__name__} of {cause}, {forgotten}"
            assert traffic("OffsetCommit") == 1
            commit(consumer)
    expected = {}
    for code, meaning in OFFSET_COMMIT.items():
        if meaning in passing:
            end = f"RetriableCommitFailedException of {CODES[code].exception}"
        elif meaning == "CommitFailedException":
            end = f"CommitFailedException of {CODES[code].exception}"
        else:
            end = f"{meaning} of NoneType"
        expected[code] = f"{end}, {meaning == 'rediscovered'}"
    assert found == expected


def test_every_code_for_the_search_for_a_coordinator() -> None:
    """Contract 4, B218: retried after a backoff, or raised to waiting calls."""
    world = World()
    traffic = Traffic(world)
    found: dict[int, str] = {}
    with world.consumer() as consumer:
        commit(consumer)
        for code in CODES:
            with world.control.fail("OffsetCommit", 16, times=1):
                consumer.commit_async(OFFSETS, lambda *_: None)
                consumer.commit_sync({}, timeout=5.0)
            assert consumer.health().coordinator is None
            world.clock.sleep(1.1)  # The backoff of metadata that stays the same is over.
            with world.control.fail("FindCoordinator", code, times=1):
                found[code] = outcome(
                    traffic, "FindCoordinator", lambda: consumer.committed(TP, timeout=5.0)
                )
            commit(consumer)
    assert found == FIND_COORDINATOR


def test_every_code_for_a_greeting() -> None:
    """Contract 4: 35 names what to ask in; of any other the connection is closed."""
    world = World()
    traffic = Traffic(world)
    found: dict[int, str] = {}
    with world.consumer(metadata_max_age_ms=2**31 - 1) as consumer:
        consumer.list_topics(timeout=5.0)
        network = world.members[-1].network
        for code in CODES:
            world.control.disconnect()
            connects = network.connects
            traffic("ApiVersions")
            with world.control.fail("ApiVersions", code, times=1):
                consumer.list_topics(timeout=5.0)
            found[code] = f"{network.connects - connects}, {traffic('ApiVersions')} greetings"
    closed = dict.fromkeys(CODES, "2, 2 greetings")
    assert found == {**closed, 35: "1, 2 greetings"}


@pytest.mark.parametrize("code", [7, 33, 42, -1, 32000])
def test_a_greeting_that_is_always_refused_is_what_the_caller_is_told(code: int) -> None:
    """Contract 4: by the name of the error, at the deadline."""
    world = World()
    with (
        world.consumer() as consumer,
        world.control.fail("ApiVersions", code, times=None),
        pytest.raises(TimeoutException) as caught,
    ):
        consumer.list_topics(timeout=2.0)
    assert "refused ApiVersions" in str(caught.value)


PATIENT: Mapping[int, str] = {
    code: meaning
    for code, meaning in OFFSET_COMMIT.items()
    if meaning in {"retried", "refreshed", "rediscovered"}
}


def test_a_commit_that_is_always_refused_ends_at_its_deadline() -> None:
    """B3, B218: what may pass is tried with pauses until then, and told as the last error."""
    world = World()
    with world.consumer() as consumer:
        commit(consumer)
        for code in PATIENT:
            began = world.clock.time
            with (
                world.control.fail("OffsetCommit", code, times=None),
                pytest.raises(TimeoutException) as caught,
            ):
                consumer.commit_sync(OFFSETS, timeout=3.0)
            assert world.clock.time == pytest.approx(began + 3.0)
            assert type(caught.value.last_error).__name__ == CODES[code].exception
            assert 3 <= len(caught.value.attempts) <= 12
            # After these the coordinator's log may hold it: not replicated in time.
            assert caught.value.may_have_happened == (code in {7, 15, 20})
