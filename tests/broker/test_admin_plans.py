"""Plans of the admin client on three real brokers of two releases."""

import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from itertools import count

import pytest

from prokurist import KafkaProducer, TopicPartition
from prokurist.admin import ConfigResource, KafkaAdmin, NewTopic, OffsetSpec, Shift
from prokurist.testing.kafka import RealKafka
from tests.broker.test_admin import RELEASES, started

pytestmark = pytest.mark.kafka

NAMES = count()


@pytest.fixture(scope="module", params=RELEASES)
def kafka(request: pytest.FixtureRequest) -> Iterator[RealKafka]:
    """Three nodes of each release."""
    with started(RealKafka(nodes=3, version=request.param, controls=True)) as kafka:
        yield kafka


@pytest.fixture
def admin(kafka: RealKafka) -> Iterator[KafkaAdmin]:
    """An admin client that knows the three brokers."""
    with KafkaAdmin({"bootstrap.servers": kafka.bootstrap}) as admin:
        yield admin


def test_a_reset_of_offsets(kafka: RealKafka, admin: KafkaAdmin) -> None:
    """B638: to the start, the end, a time, by a shift; kept within the log, and altered."""
    topic = f"plans-{next(NAMES)}"
    admin.create_topic(topic, 1, 3, wait=True, timeout=30)
    tp = TopicPartition(topic, 0)
    with KafkaProducer(bootstrap_servers=kafka.bootstrap) as producer:
        for each in range(10):
            producer.send(topic, b"%d" % each)
        producer.flush(30)
    group = f"{topic}-group"
    admin.alter_offsets(group, {tp: 6}, timeout=30).check()
    places: dict[OffsetSpec | Shift | timedelta | datetime, int] = {
        OffsetSpec.EARLIEST: 0,
        OffsetSpec.LATEST: 10,
        Shift(-2): 4,
        Shift(99): 10,
        timedelta(hours=1): 0,
        datetime.now(UTC) + timedelta(hours=1): 10,
    }
    for to, offset in places.items():
        plan = admin.plan_offsets(group, to, timeout=30)
        assert (plan[tp].before, plan[tp].after, plan[tp].end) == (6, offset, 10)
        assert plan[tp].clamped == (to == Shift(99))
    plan = admin.plan_offsets(group, OffsetSpec.LATEST, timeout=30)
    admin.alter_offsets(plan.group, plan.offsets, timeout=30).check()
    assert admin.lag([group], timeout=30).total(group) == 0


def test_a_throttled_reassignment(kafka: RealKafka, admin: KafkaAdmin) -> None:
    """B639: planned, started with a throttle, and verified, which removes the throttle."""
    topic = f"plans-{next(NAMES)}"
    new = NewTopic(replicas={each: [0, 1] for each in range(4)})
    admin.create_topics({topic: new}, wait=True, timeout=30).check()
    with KafkaProducer(bootstrap_servers=kafka.bootstrap, linger_ms=5) as producer:
        for each in range(200):
            producer.send(topic, b"x" * 1000, partition=each % 4)
        producer.flush(30)
    plan = admin.plan_reassignment([topic], [0, 1, 2], timeout=30)
    assert plan.copies in {2, 3}
    admin.start_reassignment(plan, throttle=10_000_000, timeout=30).check()
    throttled = ConfigResource.topic(topic)
    key = "leader.replication.throttled.replicas"
    until = time.monotonic() + 60
    while not admin.describe_configs([throttled], timeout=30)[throttled][key].value:
        assert time.monotonic() < until
        time.sleep(0.05)
    progress = admin.verify_reassignment(plan, timeout=30)
    while not progress.throttle_removed:
        assert time.monotonic() < until, progress
        time.sleep(0.2)
        progress = admin.verify_reassignment(plan, timeout=30)
    assert set(progress.done) == plan.after.keys() or progress.differing
    while set(admin.verify_reassignment(plan, timeout=30).done) != plan.after.keys():
        assert time.monotonic() < until  # Metadata follows the controller.
        time.sleep(0.2)
    resources = [throttled, *(ConfigResource.broker(each) for each in range(3))]
    found = admin.describe_configs(resources, timeout=30).check()
    assert found[throttled][key].value == ""
    for resource in resources[1:]:
        entry = found[resource].get("leader.replication.throttled.rate")
        assert entry is None or "10000000" not in str(entry.value)
