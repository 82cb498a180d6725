"""A consumer's life in older protocols: the client capped, or the broker old."""

from collections.abc import Callable, Mapping
from typing import Final, get_args

import pytest

from prokurist.consumer.consumer import KafkaConsumer
from prokurist.network_thread.wire import apis
from prokurist.network_thread.wire.apis import Api
from prokurist.network_thread.wire.versions import RELEASES, Versions
from prokurist.testing.cluster.apis import ApiName
from prokurist.types import OffsetAndMetadata, TopicPartition
from tests.simulation.world import World

TP = TopicPartition("orders", 0)
OFFSETS = {TP: OffsetAndMetadata(2, "done")}
NAMES: Final = frozenset(get_args(ApiName))
USED: Final[tuple[Api, ...]] = (
    apis.API_VERSIONS,
    apis.METADATA,
    apis.FIND_COORDINATOR,
    apis.OFFSET_COMMIT,
    apis.OFFSET_FETCH,
    apis.LIST_OFFSETS,
)
"""What a life without records and groups consists of."""

NEWEST_BY_NAME: Final = {apis.OFFSET_COMMIT: 9, apis.OFFSET_FETCH: 9}
"""Newer ones name topics by ids alone, which only clients know that asked for them."""

BY_ID_TOO: Final = frozenset({apis.OFFSET_COMMIT})
"""What goes by id where it is known: how far was read, and not what the user has named."""


def at(consumer: KafkaConsumer, moment: int) -> int | None:
    """Where the records of a moment begin."""
    found = consumer.offsets_for_times({TP: moment})[TP]
    return None if found is None else found.offset


def position(consumer: KafkaConsumer) -> int:
    """Where reading would begin: at what is committed."""
    consumer.assign([TP])
    return consumer.position(TP)


LIFE: Final[Mapping[str, Callable[[KafkaConsumer], object]]] = {
    "list_topics": lambda c: sorted(c.list_topics()),
    "partitions_for": lambda c: [each.partition for each in c.partitions_for("orders")],
    "unknown topic": lambda c: c.partitions_for("nothing"),
    "beginning": lambda c: c.beginning_offsets(TP),
    "end": lambda c: c.end_offsets(TP),
    "by time": lambda c: at(c, 1025),
    "commit": lambda c: c.commit_sync(OFFSETS),
    "committed": lambda c: c.committed([TP, TopicPartition("orders", 1)]),
    "position": position,
}
ANSWERS: Final = {
    "list_topics": ["orders"],
    "partitions_for": [0, 1, 2],
    "unknown topic": [],
    "beginning": {TP: 1},
    "end": {TP: 5},
    "by time": 3,
    "commit": None,
    "committed": {**OFFSETS, TopicPartition("orders", 1): None},
    "position": 2,
}


def filled() -> World:
    """Three brokers, and five records of which the first is gone."""
    world = World(nodes=3)
    for number in range(5):
        world.control.append(TP, b"value", timestamp=1000 + 10 * number)
    world.control.delete_records(TP, 1)
    return world


def spoken(world: World, api: Api) -> set[int]:
    """In which versions an API was asked."""
    return {each.version for each in world.cluster.journal.entries(api.name)}  # type: ignore[arg-type]


def expected(api: Api, newest: int) -> set[int]:
    """The same, of an API whose newest version of both sides is this one."""
    by_name = min(newest, NEWEST_BY_NAME.get(api, newest))
    return {by_name, newest} if api in BY_ID_TOO else {by_name}


def live(consumer: KafkaConsumer) -> dict[str, object]:
    """What each call answers."""
    return {name: call(consumer) for name, call in LIFE.items()}


@pytest.mark.parametrize("release", RELEASES)
def test_a_capped_client_lives_as_any_other(release: str) -> None:
    """Contract 4: each API in the newest version of that release, or older where it must be."""
    cap = Versions.of_kafka(release)
    world = filled()
    with world.consumer(cap=cap) as consumer:
        assert live(consumer) == ANSWERS
    for api in USED:
        newest = cap.ranges[api.key].newest
        versions = spoken(world, api)
        assert versions, f"{api} was not used"
        assert max(versions) <= newest
        assert versions == expected(api, newest)


@pytest.mark.parametrize("release", RELEASES)
def test_an_old_broker_serves_a_new_client(release: str) -> None:
    """Contract 4: it offers what it knows; a greeting that is too new is asked again."""
    offered = Versions.of_kafka(release).ranges
    world = filled()
    for api in USED:
        if api.name in NAMES:
            world.control.offer(api.name, api.oldest, offered[api.key].newest)  # type: ignore[arg-type]
    with world.consumer() as consumer:
        assert live(consumer) == ANSWERS
    for api in USED[1:]:
        assert max(spoken(world, api)) <= offered[api.key].newest


@pytest.mark.parametrize("api", USED[1:], ids=str)
def test_every_version_of_an_api_carries_a_life(api: Api) -> None:
    """Contract 4: each version that we speak is the newest of some broker."""
    for version in range(api.oldest, api.newest + 1):
        world = filled()
        world.control.offer(api.name, api.oldest, version)  # type: ignore[arg-type]
        # An older Metadata cannot ask for a topic without leave to create it.
        may_create = api is apis.METADATA and version < 4
        with world.consumer(allow_auto_create_topics=may_create) as consumer:
            answers = live(consumer)
        assert answers == ANSWERS, f"{api} {version}"
        assert spoken(world, api) == expected(api, version)
