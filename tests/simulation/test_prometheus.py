"""The collector, asked by a registry of `prometheus_client`, over clients in virtual time."""

import gc
import logging

import pytest
from prometheus_client import CollectorRegistry, Counter, generate_latest

import prokurist.metrics
from prokurist.consumer.consumer import KafkaConsumer
from prokurist.metrics import prometheus
from prokurist.metrics.catalogue import every_metric
from prokurist.metrics.prometheus import ClientsCollector
from prokurist.types import TopicPartition
from tests.simulation.reading import A, reader, written
from tests.simulation.world import World

pytestmark = pytest.mark.usefixtures("closed_at_the_end")


def registry_of(**consumers: KafkaConsumer) -> CollectorRegistry:
    """A registry that reads these."""
    registry = CollectorRegistry()
    clients = [(name, consumer._counted) for name, consumer in consumers.items()]
    registry.register(ClientsCollector(clients=lambda: clients))
    return registry


def test_both_readers_tell_the_same() -> None:
    """Every number of the mapping is a line of the exposition, beside the client's label."""
    consumer = reader(written(5))
    consumer.poll(1.0)
    consumer.committed(A)
    exposed = {
        (sample.name, frozenset(sample.labels.items()))
        for family in registry_of(mine=consumer).collect()
        for sample in family.samples
        if family.name != "prokurist_close_phase_seconds"
    }
    assert all(("client_id", "mine") in labels for _, labels in exposed)
    assert len(exposed) == len(consumer.metrics())
    registry = registry_of(mine=consumer)
    labels = {"client_id": "mine", "topic": "orders"}
    assert registry.get_sample_value("prokurist_consumer_records_total", labels) == 5
    below = {"client_id": "mine", "api": "Fetch", "le": "+Inf"}
    fetches = consumer.metrics()['prokurist_request_seconds_count{api="Fetch"}']
    assert registry.get_sample_value("prokurist_request_seconds_bucket", below) == fetches > 0


def test_it_describes_itself_without_collecting() -> None:
    """Every name of the catalogue, and none other, whether or not there are clients."""
    described = {each.name for each in ClientsCollector().describe()}
    assert described == {each.name.removesuffix("_total") for each in every_metric()}


def test_the_exposition_is_text_that_prometheus_reads() -> None:
    """Type, help and samples, for two clients at once."""
    world = written(2)
    text = generate_latest(registry_of(a=reader(world), b=reader(world))).decode()
    assert "# TYPE prokurist_consumer_records_total counter" in text
    assert "# TYPE prokurist_call_seconds histogram" in text
    for name in ("a", "b"):
        assert f'prokurist_consumer_partitions{{client_id="{name}"}} 1.0' in text


def test_register_covers_clients_that_come_and_go() -> None:
    """B190: series are there from a consumer's making to its close, by names that differ."""
    registry = CollectorRegistry()
    prokurist.metrics.register(registry)
    configured = {"bootstrap.servers": "127.0.0.1:1", "client.id": "come and go"}

    def seen() -> set[str]:
        return {
            sample.labels["client_id"]
            for family in registry.collect()
            for sample in family.samples
            if "come and go" in sample.labels.get("client_id", "")
        }

    assert seen() == set()
    with KafkaConsumer(configured) as first:
        with KafkaConsumer(configured) as second:
            assert seen() == {"come and go", "come and go (2)"}
        assert seen() == {"come and go"}
    assert seen() == set()
    assert all("closed" in repr(each) or "ended" in repr(each) for each in (first, second))
    phases = {"phase": "network thread"}
    count = registry.get_sample_value("prokurist_close_phase_seconds_count", phases)
    assert count is not None
    assert count >= 2


def test_to_register_twice_is_to_register_once() -> None:
    """The second time sets the bound again."""
    registry = CollectorRegistry()
    prokurist.metrics.register(registry)
    prokurist.metrics.register(registry, most_partitions=7)
    collector = prometheus.REGISTERED[registry]
    assert collector.most_partitions == 7
    assert repr(collector) == "ClientsCollector(most_partitions=7)"
    del registry, collector
    gc.collect()


def test_a_registry_that_holds_our_names_is_refused() -> None:
    """The text says which, and what to do; nothing is registered by halves."""
    registry = CollectorRegistry()
    theirs = Counter("prokurist_late_answers", "Of another program.", registry=registry)
    with pytest.raises(ValueError, match=r"prokurist_late_answers.*another registry"):
        prokurist.metrics.register(registry)
    registry.unregister(theirs)
    prokurist.metrics.register(registry)


def test_a_negative_bound_is_refused() -> None:
    """It says what is allowed."""
    with pytest.raises(ValueError, match="0 or more, not -1"):
        prokurist.metrics.register(CollectorRegistry(), most_partitions=-1)


def test_without_the_library_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    """And what there is without it."""
    monkeypatch.setitem(__import__("sys").modules, "prometheus_client", None)
    with pytest.raises(ImportError, match=r"prokurist\[prometheus\].*consumer\.metrics\(\)"):
        prokurist.metrics.register()


def test_a_label_bomb_is_bounded_and_told_of_once(caplog: pytest.LogCaptureFixture) -> None:
    """A hundred thousand partitions make a thousand series each, and one line of the log."""
    wide = 100_000
    consumer = World().consumer(fetches=False)
    consumer.assign([TopicPartition("wide", number) for number in range(wide)])
    registry = registry_of(mine=consumer)
    with caplog.at_level(logging.WARNING):
        text = generate_latest(registry).decode()
        generate_latest(registry)
    assert f'prokurist_consumer_partitions_unlisted{{client_id="mine"}} {wide - 1000}' in text
    assert len(text.splitlines()) < 4000
    (told,) = (each.message for each in caplog.records)
    assert told == (
        "mine reads 100000 partitions: 1000 of them have series of their own, the sums cover "
        "all; pass most_partitions to prokurist.metrics.register for more"
    )
    consumer.assign([])


def test_partitions_can_be_left_out_altogether(caplog: pytest.LogCaptureFixture) -> None:
    """The user has asked for it, so there is no warning."""
    consumer = reader(written(5))
    consumer.poll(1.0)
    collector = ClientsCollector(0, lambda: [("mine", consumer._counted)])
    names = {sample.name for family in collector.collect() for sample in family.samples}
    assert "prokurist_consumer_records_lag" not in names
    assert "prokurist_consumer_records_lag_max" in names
    assert not caplog.records
