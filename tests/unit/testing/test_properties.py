"""Broker properties: whose they are, and how they are written."""

import pytest

from prokurist.testing.kafka.properties import (
    environment_of,
    listener_properties,
    new_cluster_id,
    properties_file,
    property_text,
    quick_properties,
    user_properties,
)


def test_keywords_have_dots_for_underscores_and_the_mapping_wins() -> None:
    """Both ways of giving a property lead to its real name."""
    given = user_properties(
        {"num.partitions": 3}, {"num_partitions": 1, "auto_create_topics_enable": False}
    )
    assert given == {"num.partitions": "3", "auto.create.topics.enable": "false"}


@pytest.mark.parametrize("name", ["listeners", "node_id", "log_dirs", "process_roles"])
def test_where_the_nodes_are_is_the_harnesss_business(name: str) -> None:
    """It would not find them again."""
    with pytest.raises(ValueError, match=f"{name.replace('_', '.')}: the harness sets this"):
        user_properties(None, {name: "x"})


@pytest.mark.parametrize(
    ("value", "text"), [(True, "true"), (3, "3"), (["a", "b"], "a,b"), ("plain", "plain")]
)
def test_values_are_written_as_kafka_reads_them(value: object, text: str) -> None:
    """Booleans in lower case, lists with commas."""
    assert property_text(value) == text


@pytest.mark.parametrize(("nodes", "replicas", "in_sync"), [(1, 1, 1), (2, 2, 1), (3, 3, 2)])
def test_internal_topics_fit_the_cluster(nodes: int, replicas: int, in_sync: int) -> None:
    """One node could not hold three replicas; transactions need theirs in sync."""
    quick = quick_properties(nodes, "4.3.1")
    assert quick["offsets.topic.replication.factor"] == str(replicas)
    assert quick["transaction.state.log.replication.factor"] == str(replicas)
    assert quick["transaction.state.log.min.isr"] == str(in_sync)
    assert quick["share.coordinator.state.topic.replication.factor"] == str(replicas)


def test_an_old_broker_gets_no_property_that_it_does_not_know() -> None:
    """Share groups came with Kafka 4."""
    assert not [name for name in quick_properties(1, "3.9.2") if name.startswith("share.")]


def test_listeners_say_where_and_who() -> None:
    """The controllers are static; every listener speaks plaintext."""
    properties = listener_properties(
        1,
        listeners={"DIRECT": "h:1", "PROXIED": "h:2", "CONTROLLER": "h:3"},
        advertised={"DIRECT": "h:1", "PROXIED": "p:9"},
        voters=["a:3", "h:3"],
        between_brokers="DIRECT",
    )
    assert properties["node.id"] == "1"
    assert properties["listeners"] == "DIRECT://h:1,PROXIED://h:2,CONTROLLER://h:3"
    assert properties["advertised.listeners"] == "DIRECT://h:1,PROXIED://p:9"
    assert properties["controller.quorum.voters"] == "0@a:3,1@h:3"
    assert properties["listener.security.protocol.map"].count("PLAINTEXT") == 3


def test_the_file_escapes_what_java_would_eat() -> None:
    """A backslash, a line's end, a leading blank."""
    assert properties_file({"b": "x\\y\nz", "a": " v"}) == "a=\\ v\nb=x\\\\y\\nz\n"


def test_the_images_variables_follow_its_rule() -> None:
    """A dot is one underscore, an underscore two, a hyphen three."""
    assert environment_of({"a.b_c-d": "v"}) == {"KAFKA_A_B__C___D": "v"}


def test_cluster_ids_are_new_and_no_options() -> None:
    """Twenty-two characters of base64, none of them a hyphen at the front."""
    ids = {new_cluster_id() for _ in range(200)}
    assert len(ids) == 200
    assert all(len(one) == 22 and not one.startswith("-") for one in ids)
