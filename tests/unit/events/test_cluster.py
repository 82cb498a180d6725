"""The snapshot of the cluster, and how the next one comes of it."""

from dataclasses import replace
from uuid import UUID

from prokurist.events.cluster import Cluster, PartitionView, TopicView
from prokurist.types import Node, PartitionInfo, TopicPartition

ONE, TWO = Node(1, "a", 9092), Node(2, "b", 9092)
OLD, NEW = UUID(int=1), UUID(int=2)
TP = TopicPartition("orders", 0)


def topic(epoch: int | None, leader: int | None = 1, id_: UUID | None = OLD) -> TopicView:
    """One topic with one partition."""
    view = PartitionView(0, leader=leader, leader_epoch=epoch, replicas=(1, 2, 3))
    return TopicView("orders", id=id_, partitions={0: view})


def after(*views: TopicView) -> Cluster:
    """The snapshot after these answers, one after the other."""
    cluster = Cluster()
    for view in views:
        cluster = updated(cluster, view)
    return cluster


def updated(cluster: Cluster, view: TopicView) -> Cluster:
    """The snapshot after one more answer."""
    return cluster.updated(
        cluster_id="c", nodes=[ONE, TWO], controller=1, topics=[view], keep=["orders"]
    )


def test_a_leader_is_a_broker_that_is_known() -> None:
    """None for an unknown partition, one without a leader, and a leader that is gone."""
    assert after(topic(1)).leader(TP) == ONE
    assert after(topic(1, leader=None)).leader(TP) is None
    assert after(topic(1, leader=9)).leader(TP) is None
    assert Cluster().leader(TP) is None
    assert after(topic(1)).leader(TopicPartition("orders", 7)) is None


def test_an_older_epoch_changes_nothing() -> None:
    """B196: answers of several brokers overtake each other; the epoch says which is later."""
    assert after(topic(5, leader=1), topic(4, leader=2)).leader(TP) == ONE
    assert after(topic(5, leader=1), topic(5, leader=2)).leader(TP) == TWO
    assert after(topic(5, leader=1), topic(6, leader=2)).leader(TP) == TWO


def test_a_recreated_topic_starts_again() -> None:
    """B196: a new topic id is accepted although its epochs count from nothing."""
    assert after(topic(5, leader=1), topic(0, leader=2, id_=NEW)).leader(TP) == TWO


def test_brokers_that_tell_no_epochs_or_ids_are_believed() -> None:
    """B92: with old brokers the last answer counts."""
    assert after(topic(None, leader=1), topic(None, leader=2)).leader(TP) == TWO
    assert after(topic(5, leader=1), topic(None, leader=2)).leader(TP) == TWO
    assert after(topic(5, leader=1), topic(4, leader=2, id_=None)).leader(TP) == ONE


def test_a_topic_recreated_without_an_id_is_believed_when_repeated() -> None:
    """B196: by the third answer in a row; a newer epoch in between begins the count again."""
    old, new = topic(5, leader=1, id_=None), topic(0, leader=2, id_=None)
    assert after(old, new, new).leader(TP) == ONE
    assert after(old, new, new, new).leader(TP) == TWO
    assert after(old, new, new, old, new, new).leader(TP) == ONE
    # With ids it is another topic, or an answer that was overtaken, however often.
    assert after(topic(5), *[topic(0, leader=2)] * 5).leader(TP) == ONE


def test_a_snapshot_says_the_same_as_another() -> None:
    """B197: for any version of it."""
    first, second = after(topic(1)), after(topic(1), topic(1))
    assert second.says_the_same_as(first)
    assert not after(topic(2)).says_the_same_as(first)
    # Brokers of a cluster without ZooKeeper name any of them as the controller.
    assert replace(second, controller=2).says_the_same_as(first)
    assert first.leader_epoch(TP) == 1
    assert first.leader_epoch(TopicPartition("nothing", 0)) is None


def test_a_topic_is_kept_only_while_it_is_wanted() -> None:
    """B198: what is no longer asked for goes with the next answer."""
    first = after(topic(1))
    rest = {"cluster_id": None, "nodes": [ONE], "controller": None, "topics": []}
    assert "orders" in first.updated(**rest, keep=["orders"]).topics  # type: ignore[arg-type]
    assert "orders" not in first.updated(**rest, keep=[]).topics  # type: ignore[arg-type]
    kept = first.updated(**rest, keep=[])  # type: ignore[arg-type]
    assert (kept.id, kept.version) == ("c", 2)
    assert repr(kept) == "Cluster(c, 1 brokers, 0 topics, version 2)"


def test_users_see_partitions_in_order_with_brokers_by_name() -> None:
    """A replica on a broker that is down is still shown, by its id."""
    (info,) = after(topic(1)).partitions_of("orders")
    replicas = (ONE, TWO, Node(3, "", -1))
    assert info == PartitionInfo("orders", 0, ONE, replicas, leader_epoch=1, topic_id=OLD)
    (info,) = after(topic(None, id_=None)).partitions_of("orders")
    assert info == PartitionInfo("orders", 0, ONE, replicas)
    assert after(topic(1)).partitions_of("nothing") == []


def test_a_leader_that_only_an_error_answer_named() -> None:
    """B196: metadata that name another leader three times in a row are believed."""
    told = after(topic(1)).led_by({TP: (2, 1_000_000)}, [TWO])
    assert told.leader(TP) == TWO
    for leader in (TWO, TWO, ONE):
        told = updated(told, topic(1))
        assert told.leader(TP) == leader
    # What metadata have named themselves is kept.
    known = updated(told.led_by({TP: (2, 7)}, [TWO]), topic(7, leader=2))
    for _ in range(5):
        known = updated(known, topic(1))
    assert known.leader(TP) == TWO
