"""What a producer asks of the cluster's metadata: as little as there is to learn."""

from prokurist import KafkaProducer
from tests.simulation.producing import TP, made
from tests.simulation.world import World

MANY = 40


def asked(world: World) -> list[set[str]]:
    """The topics of each request for metadata that reached a broker, in order."""
    requests = world.control.requests("Metadata")
    return [{each.name for each in entry.body.topics} for entry in requests]


def test_a_new_topic_is_asked_for_alone() -> None:
    """B347: one request a topic, which names no other; what is known of others stays."""
    names = [f"t{number}" for number in range(MANY)]
    world = World(topics=dict.fromkeys(names, 2))
    with world.producer() as producer:
        for name in names:
            producer.send(name, b"v")
        producer.flush(5.0)
        assert asked(world) == [{name} for name in names]
        world.control.forget_requests()
        for name in names:
            producer.send(name, b"v").result(1.0)
        assert not asked(world)


def test_new_topics_do_not_put_off_the_refresh_of_all() -> None:
    """B347: `metadata.max.age.ms` counts from the last answer about all topics."""
    names = [f"t{number}" for number in range(MANY)]
    world = World(topics=dict.fromkeys(names, 1))
    with world.producer(metadata_max_age_ms=10_000) as producer:
        for name in names:
            producer.send(name, b"v")
            world.clock.sleep(1.0)
        whole = [each for each in asked(world) if len(each) > 1]
        assert [len(each) for each in whole] == [10, 20, 30, 40], whole


def test_a_missing_topic_takes_no_others_along() -> None:
    """B347: it is asked for again and again, alone, until it is there."""
    world = World()
    producer, _ = made(world, max_block_ms=5000)
    producer.send("nowhere", b"v")
    assert 4 <= len(asked(world)) <= 12
    assert {frozenset(each) for each in asked(world)} == {frozenset({"nowhere"})}
    producer.close(1.0)


def leaderless() -> tuple[World, KafkaProducer, int]:
    """A producer that has been idle since a partition lost its leader, and the node of that."""
    world = World(nodes=2, topics={})
    world.control.create_topic("orders", 2, replication=1)
    producer, sender = made(world, linger_ms=0, max_block_ms=1000, batch_size=1)
    dead, _ = world.control.leader(TP)
    world.control.kill(dead)
    sender.side.metadata.request_update()
    sender.network.wake()
    world.clock.sleep(40.0)
    world.control.forget_requests()
    return world, producer, dead


def test_an_idle_producer_asks_for_no_leader() -> None:
    """B348: a partition of a topic that nothing was sent to lately may lack one."""
    world, producer, _ = leaderless()
    world.clock.sleep(60.0)
    assert not asked(world)
    producer.close(1.0)


def test_a_leader_that_a_batch_waits_for_is_asked_for_more_and_more_seldom() -> None:
    """B348: about once a second, and the batch goes to it when there is one."""
    world, producer, dead = leaderless()
    delivery = producer.send("orders", b"v", partition=TP.partition)
    world.clock.sleep(20.0)
    assert 15 <= len(asked(world)) <= 30, len(asked(world))
    world.control.restart(dead)
    assert delivery.result(3.0).topic == "orders"
    producer.close(1.0)


def test_a_topic_in_use_has_all_its_partitions() -> None:
    """B348: records without a key miss a partition that has no leader for a second at most."""
    world = World(nodes=2, topics={})
    world.control.create_topic("orders", 2, replication=1)
    producer, _ = made(world, linger_ms=0, batch_size=1)
    dead = world.control.leader(TP)[0]
    world.control.kill(dead)
    for _ in range(20):
        producer.send("orders", b"v", partition=None)
        world.clock.sleep(0.25)
    world.control.restart(dead)
    for _ in range(8):
        producer.send("orders", b"v")
        world.clock.sleep(0.25)
    there = {producer.send("orders", b"v").result(3.0).partition for _ in range(30)}
    assert there == {0, 1}
    producer.close(1.0)


def test_a_topic_that_is_seldom_used_has_all_its_partitions() -> None:
    """B353: the first record after a long pause has the leader looked for."""
    world, producer, dead = leaderless()
    world.control.restart(dead)
    world.clock.sleep(45.0)
    assert not asked(world)
    producer.send("orders", b"v").result(3.0)
    world.clock.sleep(0.1)
    assert len(asked(world)) == 1
    there = {producer.send("orders", b"v").result(3.0).partition for _ in range(30)}
    assert there == {0, 1}
    assert len(asked(world)) == 1
    producer.close(1.0)
