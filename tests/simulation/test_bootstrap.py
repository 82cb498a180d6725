"""The bootstrap list: bad names in it, black holes, and names that stand for others."""

import re

import pytest

from prokurist.errors import NetworkException, SslAuthenticationException, TimeoutException
from prokurist.network_thread.io.network import Lost, SocketAddress
from prokurist.testing.virtual_time.network import ModelNetwork
from prokurist.types import OffsetAndMetadata, TopicPartition
from tests.simulation.world import World

TP = TopicPartition("orders", 0)
OFFSETS = {TP: OffsetAndMetadata(1)}
CANONICAL = "resolve_canonical_bootstrap_servers_only"
BROKERS = {"kafka-1": ("10.0.0.1",), "kafka-2": ("10.0.0.2",)}
LISTED = {**BROKERS, "cluster": ("10.0.0.1", "10.0.0.2")}


@pytest.mark.parametrize("seed", range(6))
def test_one_bad_name_in_the_list_costs_nothing_much(seed: int) -> None:
    """B204: whichever of the list is asked first, the good ones are asked soon."""
    world = World(nodes=2, seed=seed)
    servers = ["nowhere:9092", world.address(1), world.address(2)]
    with world.consumer(bootstrap_servers=servers) as consumer:
        began = world.clock.time
        consumer.commit_sync(OFFSETS, timeout=5.0)
        assert world.clock.time - began < 0.5


def test_a_list_of_bad_names_alone_is_told_name_by_name() -> None:
    """B204, B3: each name, and what the resolver said of it, not of the last one alone."""
    world = World()
    servers = ["nowhere:9092", "elsewhere:9093", "10.0.0.77:9094"]
    with (
        world.consumer(bootstrap_servers=servers) as consumer,
        pytest.raises(TimeoutException) as caught,
    ):
        consumer.list_topics(timeout=3.0)
    text = str(caught.value)
    assert type(caught.value.last_error) is NetworkException
    assert "none of the 3 addresses in bootstrap.servers can be used" in text
    assert "nowhere:9092: nowhere is not a known name" in text
    assert "elsewhere:9093: elsewhere is not a known name" in text
    assert re.search(r"10\.0\.0\.77:9094: .*refuses connections", text)


def test_the_search_for_a_coordinator_tells_of_all_addresses_too() -> None:
    """B204: a commit never gets further than that search, and its error says why."""
    world = World()
    with (
        world.consumer(bootstrap_servers=["nowhere:9092", "elsewhere:9093"]) as consumer,
        pytest.raises(TimeoutException, match=r"nowhere:9092: .* elsewhere:9093: "),
    ):
        consumer.commit_sync(OFFSETS, timeout=3.0)


def test_one_bad_name_alone_is_told_as_it_is() -> None:
    """The resolver's own words, with no list around them."""
    world = World()
    with (
        world.consumer(bootstrap_servers="nowhere:9092") as consumer,
        pytest.raises(TimeoutException, match="NetworkException: nowhere is not a known name"),
    ):
        consumer.list_topics(timeout=1.0)


def test_failures_before_an_answer_are_not_given_as_later_causes() -> None:
    """One of two fails, the other answers and goes away: only then both have failed."""
    world = World()
    servers = ["nowhere:9092", world.address(1)]
    with world.consumer(bootstrap_servers=servers) as consumer:
        consumer.list_topics(timeout=5.0)
        consumer.end_offsets(TP, timeout=5.0)
        metadata = world.members[-1].side.metadata
        assert not metadata._bootstrap._failures


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("call", ["commit_sync", "list_topics", "end_offsets"])
def test_a_black_hole_in_the_list_costs_a_second_and_not_its_setup(
    call: str, seed: int
) -> None:
    """B205, B210: three bootstrap addresses, one of which swallows everything."""
    world = World(nodes=3, seed=seed)
    with world.consumer() as consumer:
        world.members[-1].network.block("10.0.0.1", 9092)
        world.control.move_coordinator("g", 2)
        world.control.move_leader(TP, 2)
        began = world.clock.time
        if call == "commit_sync":
            consumer.commit_sync(OFFSETS, timeout=5.0)
        elif call == "list_topics":
            consumer.list_topics(timeout=5.0)
        else:
            consumer.end_offsets(TP, timeout=5.0)
        assert world.clock.time - began < 3.0


def test_a_black_hole_alone_is_told_as_one() -> None:
    """B205: where the connection stands is in the text, long before its setup is over."""
    world = World()
    with world.consumer() as consumer:
        world.members[-1].network.block("10.0.0.1", 9092)
        with pytest.raises(TimeoutException) as caught:
            consumer.list_topics(timeout=3.0)
    assert "could not be written to bootstrap broker (10.0.0.1:9092)" in str(caught.value)
    assert "within 1 s: the connection is connecting" in str(caught.value)


@pytest.mark.parametrize("seed", range(6))
def test_brokers_that_accept_and_are_silent_are_passed_by_as_well(seed: int) -> None:
    """B205, B210: two of three frozen; the third answers within some seconds."""
    world = World(nodes=3, seed=seed)
    with world.consumer() as consumer:
        world.control.freeze(1)
        world.control.freeze(2)
        began = world.clock.time
        consumer.list_topics(timeout=5.0)
        assert world.clock.time - began < 3.0


def test_a_broker_that_is_slow_to_come_up_is_waited_for_where_there_is_no_other() -> None:
    """B205: its setup goes on while the question is asked again and again."""
    world = World()
    with world.consumer() as consumer, world.control.answer_late("ApiVersions", 4.0):
        began = world.clock.time
        consumer.list_topics(timeout=20.0)
        assert 4.0 < world.clock.time - began < 5.5
        assert world.members[-1].network.connects <= 2


def test_a_host_stands_for_the_names_of_its_addresses() -> None:
    """`client.dns.lookup=resolve_canonical_bootstrap_servers_only`: those are connected to."""
    world = World(hosts=BROKERS)
    world.hosts = LISTED
    with world.consumer(
        bootstrap_servers="cluster:9092", client_dns_lookup=CANONICAL
    ) as consumer:
        for number in (1, 2):
            world.control.kill(number)
        with pytest.raises(TimeoutException) as caught:
            consumer.list_topics(timeout=2.0)
        asked = [host for _, host in world.members[-1].names.asked]
        assert asked[0] == "cluster"
        assert {"kafka-1", "kafka-2"} <= set(asked)
        assert "kafka-1:9092: " in str(caught.value)
        assert "kafka-2:9092: " in str(caught.value)
        world.control.restart(2)
        consumer.list_topics(timeout=5.0)


def test_hosts_are_taken_as_they_are_written_unless_one_asks() -> None:
    """The default, `use_all_dns_ips`: no name is looked up backwards."""
    world = World(hosts=BROKERS)
    world.hosts = LISTED
    with world.consumer(bootstrap_servers="cluster:9092") as consumer:
        consumer.list_topics(timeout=5.0)
        asked = {host for _, host in world.members[-1].names.asked}
        assert asked == {"cluster"}


def test_a_host_without_canonical_names_stands_for_itself() -> None:
    """One that is unknown beside one that is known: told as it is, and not in the way."""
    world = World(hosts=BROKERS)
    world.hosts = LISTED
    with world.consumer(
        bootstrap_servers=["nowhere:9092", "cluster:9092"], client_dns_lookup=CANONICAL
    ) as consumer:
        began = world.clock.time
        consumer.list_topics(timeout=5.0)
        assert world.clock.time - began < 0.5


def test_a_name_server_that_is_silent_is_not_waited_for_without_end() -> None:
    """B205: canonical names are given up after the time of a setup; the deadline holds."""
    world = World(hosts=BROKERS)
    world.hosts = LISTED
    with world.consumer(
        bootstrap_servers="cluster:9092", client_dns_lookup=CANONICAL
    ) as consumer:
        names = world.members[-1].names
        names.silent = True
        began = world.clock.time
        with pytest.raises(TimeoutException):
            consumer.list_topics(timeout=2.0)
        assert world.clock.time == pytest.approx(began + 2.0)
        with pytest.raises(TimeoutException):
            consumer.commit_sync(OFFSETS, timeout=15.0)
        names.silent = False
        consumer.commit_sync(OFFSETS, timeout=20.0)


def test_canonical_names_are_resolved_again_when_no_broker_is_left() -> None:
    """B203: the brokers behind the name are others by now, and are found."""
    world = World(hosts=BROKERS)
    world.hosts = {**BROKERS, "cluster": ("10.0.0.8",), "old": ("10.0.0.8",)}
    with world.consumer(
        bootstrap_servers="cluster:9092", client_dns_lookup=CANONICAL
    ) as consumer:
        with pytest.raises(TimeoutException, match="old"):
            consumer.list_topics(timeout=2.0)
        world.hosts = LISTED
        consumer.list_topics(timeout=5.0)


def with_certificates(monkeypatch: pytest.MonkeyPatch, *refused: str) -> None:
    """Have the certificates of some addresses refused, in every client of the world."""
    connect = ModelNetwork.connect

    def verified(
        self: ModelNetwork, connection: int, address: SocketAddress, server_name: str = ""
    ) -> None:
        connect(self, connection, address, server_name)
        if address.host in refused:
            self._queue = [entry for entry in self._queue if entry[1] != connection]
            error = SslAuthenticationException(f"the certificate of {address} has expired")
            at = self.world.clock.time + 0.002
            self._queue.append((at, connection, Lost(connection, error)))

    monkeypatch.setattr(ModelNetwork, "connect", verified)


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("call", ["commit_sync", "list_topics", "end_offsets"])
def test_one_bad_certificate_of_three_is_passed_by(
    monkeypatch: pytest.MonkeyPatch, call: str, seed: int
) -> None:
    """B358: what any broker can answer is asked of one whose certificate is accepted."""
    world = World(nodes=3, seed=seed)
    with_certificates(monkeypatch, "10.0.0.1")
    with world.consumer() as consumer:
        world.control.move_coordinator("g", 2)
        world.control.move_leader(TP, 2)
        began = world.clock.time
        if call == "commit_sync":
            consumer.commit_sync(OFFSETS, timeout=5.0)
        elif call == "list_topics":
            consumer.list_topics(timeout=5.0)
        else:
            consumer.end_offsets(TP, timeout=5.0)
        assert world.clock.time - began < 1.0


@pytest.mark.parametrize("others", ["refused", "frozen", "swallowing"])
@pytest.mark.parametrize("seed", range(4))
def test_bad_certificates_are_told_when_no_other_answers(
    monkeypatch: pytest.MonkeyPatch, seed: int, others: str
) -> None:
    """B250, B358: the refusal is told soon, and no time out, where no broker is left to ask."""
    world = World(nodes=3, seed=seed)
    hosts = ("10.0.0.1", "10.0.0.2", "10.0.0.3") if others == "refused" else ("10.0.0.1",)
    with_certificates(monkeypatch, *hosts)
    with world.consumer() as consumer:
        for node in (2, 3):
            if others == "frozen":
                world.control.freeze(node)
            elif others == "swallowing":
                world.members[-1].network.block(f"10.0.0.{node}", 9092)
        for call in (
            lambda: consumer.list_topics(timeout=30.0),
            lambda: consumer.commit_sync(OFFSETS, timeout=30.0),
            lambda: consumer.end_offsets(TP, timeout=30.0),
        ):
            began = world.clock.time
            with pytest.raises(SslAuthenticationException, match="has expired"):
                call()
            assert world.clock.time - began < 5.0


@pytest.mark.parametrize("seed", range(4))
def test_a_bad_certificate_of_a_former_leader_stops_no_poll(
    monkeypatch: pytest.MonkeyPatch, seed: int
) -> None:
    """B370: who leads is looked up before `poll` tells that a leader was refused."""
    world = World(nodes=3, seed=seed)
    world.control.append(TP, b"read")
    world.control.move_leader(TP, 1)
    with world.consumer(None, auto_offset_reset="earliest") as consumer:
        consumer.assign([TP])
        assert consumer.position(TP, timeout=5.0) == 0
        with_certificates(monkeypatch, "10.0.0.1")
        world.control.move_leader(TP, 2)
        began = world.clock.time
        assert [record.value for record in consumer.poll(5.0)] == [b"read"]
        assert world.clock.time - began < 1.0


@pytest.mark.parametrize("seed", range(4))
def test_a_bad_certificate_of_the_leader_is_told_by_poll(
    monkeypatch: pytest.MonkeyPatch, seed: int
) -> None:
    """B250, B370: at once, where the other brokers name no other leader."""
    world = World(nodes=3, seed=seed)
    world.control.append(TP, b"read")
    world.control.move_leader(TP, 1)
    with_certificates(monkeypatch, "10.0.0.1")
    with world.consumer(None, auto_offset_reset="earliest") as consumer:
        consumer.assign([TP])
        consumer.seek(TP, 0)
        for _ in range(3):
            began = world.clock.time
            with pytest.raises(SslAuthenticationException, match="has expired"):
                consumer.poll(30.0)
            assert world.clock.time - began < 5.0
