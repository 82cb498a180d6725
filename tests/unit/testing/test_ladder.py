"""The ladder: which rung serves, and what is said when none does."""

import socket
from collections.abc import Callable
from contextlib import ExitStack

import pytest

from prokurist.testing.kafka import (
    ControlRefused,
    DockerUnavailable,
    JavaMissing,
    KafkaFailed,
    KafkaUnavailable,
    PortTaken,
    RealKafka,
    is_required,
    ladder,
    ports,
    survey,
)
from prokurist.testing.kafka.ports import Address, check_free, free_ports, is_free


@pytest.fixture
def nowhere(monkeypatch: pytest.MonkeyPatch) -> None:
    """A machine with nothing on it."""
    monkeypatch.delenv("PROKURIST_TEST_BOOTSTRAP", raising=False)

    def no_docker(timeout: int = 0) -> str:
        del timeout
        raise DockerUnavailable("no Docker engine answers", way_out="start one")

    def no_java(version: str) -> None:
        raise JavaMissing("no Java on the path", way_out=f"install one for {version}")

    monkeypatch.setattr(ladder, "ask_docker", no_docker)
    monkeypatch.setattr(ladder, "find_java", no_java)


@pytest.mark.usefixtures("nowhere")
def test_nothing_at_all_has_a_reason_for_each_rung() -> None:
    """One line for a skip; the way out of each in the text."""
    with pytest.raises(KafkaUnavailable) as none:
        RealKafka().start()
    assert none.value.reason == "no Kafka: no Docker engine answers; no Java on the path"
    text = str(none.value)
    assert "given: PROKURIST_TEST_BOOTSTRAP is not set" in text
    assert "docker: no Docker engine answers; start one" in text
    assert "jars: no Java on the path; install one for 4.3.1" in text
    assert survey() == none.value.reason


@pytest.mark.usefixtures("nowhere")
@pytest.mark.parametrize(
    ("make", "why"),
    [
        (lambda: RealKafka(3), "3 nodes are wanted"),
        (lambda: RealKafka(controls=True), "the test freezes, kills or reconfigures it"),
        (lambda: RealKafka(version="3.9.2"), "version 3.9.2 is wanted"),
        (lambda: RealKafka(num_partitions=2), "with properties of its own"),
    ],
    ids=["nodes", "controls", "version", "properties"],
)
def test_a_given_kafka_serves_only_what_needs_no_nodes_of_ones_own(
    monkeypatch: pytest.MonkeyPatch, make: Callable[[], RealKafka], why: str
) -> None:
    """The others go down the ladder, and say why."""
    monkeypatch.setenv("PROKURIST_TEST_BOOTSTRAP", "127.0.0.1:9")
    with pytest.raises(KafkaUnavailable, match=why):
        make().start()


def test_a_given_kafka_that_cannot_be_read_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    """A typing mistake must not quietly start another Kafka."""
    monkeypatch.setenv("PROKURIST_TEST_BOOTSTRAP", "nonsense")
    with pytest.raises(KafkaFailed, match="expected host:port, not 'nonsense'"):
        RealKafka().start()


def test_a_given_kafka_that_is_not_there_is_a_failure(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The user said that there is one: a skip would hide that there is not."""
    with socket.socket() as bound:
        bound.bind(("127.0.0.1", 0))
        port = bound.getsockname()[1]
        monkeypatch.setenv("PROKURIST_TEST_BOOTSTRAP", f"127.0.0.1:{port}")
        kafka = RealKafka()
        with pytest.raises(KafkaFailed, match=r"is set, but .* cannot be reached"):
            kafka.start(timeout=0.2)
    assert kafka.rung == ""


def test_a_given_kafka_cannot_be_hurt() -> None:
    """Each control says why, and what to ask for instead."""
    kafka = RealKafka()
    kafka._given = (Address("somewhere", 9092),)
    assert kafka.bootstrap == kafka.direct_bootstrap == "somewhere:9092"
    for control in (
        kafka.freeze,
        kafka.thaw,
        kafka.kill,
        kafka.restart,
        kafka.proxy,
    ):
        with pytest.raises(ControlRefused, match=r"was given by .*; ask for your own"):
            control()
    kafka.heal()


def test_what_is_not_started_says_so() -> None:
    """And a second close, or one without a start, does nothing."""
    kafka = RealKafka()
    for use in (lambda: kafka.bootstrap, lambda: kafka.direct_bootstrap, kafka.freeze):
        with pytest.raises(RuntimeError, match="not started"):
            use()
    kafka.close()
    kafka.heal()


@pytest.mark.parametrize("version", ["4", "4.3", "latest", "4.3.x", ""])
def test_a_version_is_three_numbers(version: str) -> None:
    """A tag would mean another Kafka on each rung."""
    with pytest.raises(ValueError, match="three numbers"):
        RealKafka(version=version)


def test_there_is_at_least_one_node() -> None:
    """None is no Kafka."""
    with pytest.raises(ValueError, match="one node or more"):
        RealKafka(0)


@pytest.mark.parametrize(
    ("value", "required"), [(None, False), ("", False), ("0", False), ("1", True)]
)
def test_kafka_is_required_where_the_environment_says_so(
    monkeypatch: pytest.MonkeyPatch, value: str | None, *, required: bool
) -> None:
    """CI sets it: there a missing broker is a failure."""
    if value is None:
        monkeypatch.delenv("PROKURIST_REQUIRE_KAFKA", raising=False)
    else:
        monkeypatch.setenv("PROKURIST_REQUIRE_KAFKA", value)
    assert is_required() is required


def test_an_engine_that_does_not_answer_leaves_nothing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Neither a socket nor a warning, both of which docker-py would leave."""
    with socket.create_server(("127.0.0.1", 0)) as mute:
        host = f"tcp://127.0.0.1:{mute.getsockname()[1]}"
        monkeypatch.setenv("DOCKER_HOST", host)
        with pytest.raises(DockerUnavailable, match="no Docker engine answers"):
            ladder.ask_docker(timeout=1)
    monkeypatch.setenv("DOCKER_HOST", "unix:///no/such/socket")
    with pytest.raises(DockerUnavailable, match="no Docker engine answers"):
        ladder.ask_docker(timeout=1)


def test_without_testcontainers_the_rung_names_the_extra(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """It is optional, and its absence no error."""
    monkeypatch.setattr("importlib.util.find_spec", lambda _: None)
    with pytest.raises(DockerUnavailable, match=r"pip install 'prokurist\[testing\]'"):
        ladder.ask_docker()


def test_free_ports_differ_and_spare_the_users() -> None:
    """Chosen below the range of outgoing connections."""
    found = free_ports(30)
    assert len(set(found)) == 30
    assert all(20_000 <= port < 32_768 for port in found)
    assert free_ports(3, but=found[0]).count(found[0]) == 0


def test_a_port_that_is_held_is_no_one_elses(monkeypatch: pytest.MonkeyPatch) -> None:
    """Also while nothing listens there: its node may be down, or not have begun yet."""
    monkeypatch.setattr(ports, "_HIGHEST", ports._LOWEST + 6)
    with ExitStack() as held:
        mine = set(free_ports(3, held=held))
        others = {free_ports(1)[0] for _ in range(50)}
        assert others
        assert not mine & others
    assert {free_ports(1)[0] for _ in range(200)} > others


def test_a_port_is_free_until_a_server_listens() -> None:
    """The user's own choice is an error then."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
        assert not is_free(port)
        with pytest.raises(PortTaken, match=f"port {port} is taken; end the program"):
            check_free(port)
    check_free(port)
    check_free(None)


@pytest.mark.parametrize("text", ["host", "host:", ":1", "host:0", "host:65536", "h:x"])
def test_an_address_is_host_and_port(text: str) -> None:
    """Nothing else."""
    with pytest.raises(ValueError, match="expected host:port"):
        Address.parse(text)


def test_an_address_of_ip_6_is_read() -> None:
    """Its brackets are for the colons' sake."""
    assert Address.parse("[::1]:9092") == Address("::1", 9092)
