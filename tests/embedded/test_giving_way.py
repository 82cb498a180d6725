"""The network thread of a member that joins keeps still until a poll has ended; really."""

import time

import pytest

from prokurist import KafkaConsumer, TopicPartition
from prokurist.network_thread.giving_way import NEAR
from prokurist.testing.broker import EmbeddedBroker
from prokurist.testing.cluster.apis import ApiName

NOT_NOW = 14
"""COORDINATOR_LOAD_IN_PROGRESS: it is asked again and again."""

POLL = 0.2
LATE = 5.0


@pytest.mark.parametrize(
    ("protocol", "join"), [("classic", "JoinGroup"), ("consumer", "ConsumerGroupHeartbeat")]
)
def test_it_rests_until_each_poll_has_ended(
    broker: EmbeddedBroker, protocol: str, join: ApiName
) -> None:
    """And goes on then, though nothing wakes it: the group is joined all the same."""
    fault = broker.fail(join, NOT_NOW, times=None)
    with KafkaConsumer(
        bootstrap_servers=broker.bootstrap,
        client_id="gives-way",
        group_id="giving-way",
        group_protocol=protocol,
        retry_backoff_ms=1,
        retry_backoff_max_ms=1,
    ) as consumer:
        consumer.subscribe("orders")
        group = consumer._built().group
        assert group is not None
        rests = 0
        for _ in range(10):
            began = time.monotonic()
            assert not consumer.poll(POLL)
            assert POLL <= time.monotonic() - began < POLL + LATE
            rests += group.giving_way.rests > rests
        # Once for a poll, and not again and again; a poll that was late itself may miss it.
        assert 5 <= rests <= group.giving_way.rests <= 30
        fault.undo()
        until = time.monotonic() + 20.0
        while not consumer.assignment():
            assert time.monotonic() < until
            consumer.poll(POLL)


def test_a_rest_ends_when_the_application_asks_for_something(broker: EmbeddedBroker) -> None:
    """And not when its own time is over: here it would be an hour."""
    with KafkaConsumer(
        bootstrap_servers=broker.bootstrap,
        group_id="giving-way",
        retry_backoff_ms=1,
        retry_backoff_max_ms=1,
    ) as consumer:
        consumer.subscribe("orders")
        group = consumer._built().group
        assert group is not None
        rests, ended, usual = 0, 0, group.giving_way._rest

        def rest(seconds: float) -> None:
            nonlocal rests, ended
            assert seconds <= 2 * NEAR
            rests += 1
            usual(3600.0)
            ended += 1

        group.giving_way._rest = rest
        with broker.fail("JoinGroup", NOT_NOW, times=None):
            for _ in range(5):
                consumer.poll(POLL)
            until = time.monotonic() + 20.0
            while ended < rests or not rests:
                assert time.monotonic() < until
                consumer.committed({TopicPartition("orders", 0)}, timeout=20.0)
