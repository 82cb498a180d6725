"""Groups that read while all is replaced below them: the brokers, or their own protocol."""

import secrets
import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import Any, Final

import pytest

from prokurist.testing.kafka import RealKafka
from tests.broker.grouping import Member, live, shared
from tests.broker.watching import LATE
from tests.soak.writing import Writer

pytestmark = [
    pytest.mark.kafka,
    pytest.mark.slow,
    pytest.mark.minutes,
    pytest.mark.timeout(900),
]

PARTITIONS: Final = 6

# With the consumer protocol it is the brokers who say how long a session is.
KEYS: Final[dict[str, dict[str, Any]]] = {
    "classic": {"group_protocol": "classic"},
    "consumer": {
        "group_protocol": "consumer",
        "session_timeout_ms": None,
        "heartbeat_interval_ms": None,
    },
}


@contextmanager
def written(kafka: RealKafka, topic: str) -> Iterator[Writer]:
    """Records are written all the time."""
    writer = Writer(kafka.bootstrap, topic, PARTITIONS, seed=1)
    writer.start()
    try:
        yield writer
    finally:
        writer.stop(60.0)


def read_by(members: list[Member]) -> Counter[tuple[int, int]]:
    """How often each record was read, by its partition and offset."""
    read: Counter[tuple[int, int]] = Counter()
    for each in members:
        for (tp, offset), times in each.read.items():
            read[tp.partition, offset] += times
    return read


def everything(writer: Writer) -> set[tuple[int, int]]:
    """What is written for good."""
    ends = writer.acknowledged.items()
    return {(partition, offset) for partition, end in ends for offset in range(end)}


@pytest.mark.parametrize("protocol", ["classic", "consumer"])
def test_a_rolling_restart_under_load(prokurist_own_cluster: RealKafka, protocol: str) -> None:
    """B27, B134: node after node goes and comes; polls are on time, and nothing is lost."""
    kafka, group = prokurist_own_cluster, f"g-{secrets.token_hex(6)}"
    topic = kafka.unique_topic(
        partitions=PARTITIONS, replication_factor=3, configs={"min.insync.replicas": 2}
    )
    failed: list[BaseException] = []

    def roll() -> None:
        try:
            for node in range(3):
                kafka.restart(node, timeout=120.0)
        except BaseException as error:  # noqa: BLE001 - told below, by the test's own thread
            failed.append(error)

    with ExitStack() as stack:
        writer = stack.enter_context(written(kafka, topic))
        members = [
            stack.enter_context(Member(kafka, group, topic, **KEYS[protocol])) for _ in "abc"
        ]
        live(*members, until=shared(PARTITIONS, *members), within=120)
        before = len(read_by(members))
        rolling = threading.Thread(target=roll, daemon=True)
        rolling.start()
        live(*members, until=lambda: not rolling.is_alive(), within=400)
        assert not failed
        assert len(read_by(members)) > before
        live(*members, until=shared(PARTITIONS, *members), within=120)
        writer.stop(60.0)
        assert not writer.failures
        wanted = everything(writer)
        live(*members, until=lambda: read_by(members).keys() >= wanted, within=120)
    assert read_by(members).keys() == wanted
    assert max(each.slowest for each in members) < LATE


@pytest.mark.prokurist_broker(
    properties={"group.consumer.migration.policy": "bidirectional"},
)
@pytest.mark.parametrize("strategy", ["range", "cooperative-sticky"])
def test_a_group_upgraded_member_by_member_and_back(
    prokurist_own_kafka: RealKafka, strategy: str
) -> None:
    """ADR 8: in every mixture of protocols each record is read once, and polls are on time."""
    kafka, group = prokurist_own_kafka, f"g-{secrets.token_hex(6)}"
    topic = kafka.unique_topic(partitions=PARTITIONS)
    all_members: list[Member] = []

    def member(protocol: str) -> Member:
        keys = dict(KEYS[protocol])
        if protocol == "classic":
            keys["partition_assignment_strategy"] = strategy
        all_members.append(Member(kafka, group, topic, **keys))
        return all_members[-1]

    def settled(*members: Member) -> None:
        live(*members, until=shared(PARTITIONS, *members), within=120)

    with ExitStack() as stack:
        stack.callback(lambda: [each.consumer.close() for each in all_members])
        writer = stack.enter_context(written(kafka, topic))
        members = [member("classic"), member("classic")]
        settled(*members)
        for protocol in ("consumer", "classic"):
            for place in range(2):
                members[place].consumer.close()
                members[place] = member(protocol)
                settled(*members)
            assert kafka.describe_group(group).protocol == protocol
        writer.stop(60.0)
        assert not writer.failures
        wanted = everything(writer)
        live(*members, until=lambda: read_by(all_members).keys() >= wanted, within=120)
    assert read_by(all_members) == dict.fromkeys(wanted, 1)
    assert not any("lost" in each.said for each in all_members)
    assert max(each.slowest for each in all_members) < LATE
