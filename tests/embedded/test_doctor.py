"""`prokurist doctor`, where all is well and where it is not."""

import socket
import subprocess
import sys
from collections.abc import Callable

import pytest

from prokurist import KafkaShareConsumer
from prokurist.cli.entry import DONE, FAILURE
from prokurist.network_thread.wire.versions import RELEASES
from prokurist.testing.broker import EmbeddedBroker
from prokurist.types import TopicPartition
from tests.embedded.commands import LATE, STARTING, TIMEOUT, Command, Ended, commit
from tests.embedded.hostile import Hostile
from tests.stopwatch import undisturbed

PATIENCE = 20
"""For a walk that comes to its end by itself, before a closed port, say."""
TLS_ALERT = bytes.fromhex("15030300020246")


def verdicts(done: Ended) -> dict[str, object]:
    """What became of each step; of the last one where there are several of a name."""
    return {str(each["step"]): each["verdict"] for each in done.objects}


def advice(done: Ended) -> str:
    """What is to be done."""
    return " ".join(str(each["advice"]) for each in done.objects if each["advice"])


def test_the_doctor_finds_nothing_where_all_is_well(at: Command, kafka: EmbeddedBroker) -> None:
    """Every step, each with its time."""
    commit(kafka, "billing", p0=1)
    done = at("doctor", "-G", "billing", "-t", "orders", "-J")
    assert (done.code, done.err) == (DONE, "no fault found\n")
    assert [each["step"] for each in done.objects] == [
        *("DNS", "TCP", "TLS", "ApiVersions") * 2,
        *("Metadata", "Kind", "Coordinator", "Committed", "Records", "Transactions", "Rights"),
    ]
    assert all(each["verdict"] in {"ok", "skipped"} for each in done.objects)
    assert all(
        isinstance(each["seconds"], float) for each in done.objects if each["verdict"] == "ok"
    )
    assert not advice(done)


def test_the_coordinator_is_asked_for_without_a_topic_that_is_seen(at: Command) -> None:
    """It serves the group all the same, whose offsets cannot be asked for."""
    done = at("doctor", "-G", "billing", "-t", "hidden", "-J")
    assert verdicts(done)["Coordinator"] == "ok"
    assert verdicts(done)["Committed"] == "skipped"
    (committed,) = (each for each in done.objects if each["step"] == "Committed")
    assert committed["finding"] == "no topic of it can be seen"


def test_a_share_group_and_its_configuration(at: Command, kafka: EmbeddedBroker) -> None:
    """B835: its members and keys in place of committed offsets; where it begins."""
    reset = "share.auto.offset.reset"
    with KafkaShareConsumer(bootstrap_servers=kafka.bootstrap, group_id="queue") as consumer:
        consumer.subscribe("orders")
        while not consumer.assignment():
            consumer.poll(0.2)
        done = at("doctor", "-G", "queue", "-t", "orders", "-J")
        assert (done.code, verdicts(done)["Share group"]) == (DONE, "warning")
        assert "Committed" not in verdicts(done)
        (step,) = (each for each in done.objects if each["step"] == "Share group")
        assert str(step["finding"]).startswith(
            f"queue is a share group with 1 member; {reset}=latest, share.isolation.level="
        )
        assert f"`prokurist configs set group:queue {reset}=earliest`" in advice(done)
        assert at("configs", "set", "group:queue", f"{reset}=earliest").code == DONE
        done = at("doctor", "-G", "queue", "-t", "orders", "-J")
        assert verdicts(done)["Share group"] == "ok"
        assert not advice(done)


def test_an_open_transaction_is_not_blamed_on_the_coordinator(
    at: Command, kafka: EmbeddedBroker
) -> None:
    """B425: and it leaves time for the steps that follow."""
    commit(kafka, "billing", p0=1)
    with kafka.unstable_offsets("billing", TopicPartition("orders", 0)):
        done = at("doctor", "-G", "billing", "-t", "orders", "-J")
    told = verdicts(done)
    assert [told[step] for step in ("Coordinator", "Committed", "Records", "Rights")] == [
        *("ok", "failed", "ok", "ok")
    ]
    assert advice(done).startswith("A producer's transaction that is open commits offsets")


def test_the_doctor_walks_to_a_broker_that_is_only_advertised(
    run: Command, kafka: EmbeddedBroker
) -> None:
    """Its address comes from the cluster; where that is of no use, clients are sent astray."""
    first = f"127.0.0.1:{kafka.ports[0]}"
    assert verdicts(run("doctor", "-b", first, "-J"))["Broker 2"] == "ok"
    kafka.kill(2, missed=False)
    done = run("doctor", "-b", first, "-J", "--timeout", PATIENCE)
    assert verdicts(done)["Broker 2"] == "failed"
    assert "advertised.listeners" in advice(done)
    assert done.code == FAILURE


@pytest.mark.parametrize(
    ("reply", "step", "said"),
    [
        (lambda _: TLS_ALERT, "ApiVersions", "PLAINTEXT listeners"),
        (lambda _: None, "ApiVersions", "PLAINTEXT listeners"),
        (lambda _: b"HTTP/1.1 400 Bad Request\r\n\r\n", "ApiVersions", "web server"),
        (lambda _: b"<!DOCTYPE HTML>\n<html>", "ApiVersions", "web server"),
        (lambda _: b"220 mail.example.org ESMTP\r\n", "ApiVersions", "no Kafka broker"),
        (lambda _: b"", "ApiVersions", "accepted and not answered"),
    ],
    ids=["tls", "hang-up", "http", "html", "smtp", "silence"],
)
def test_the_doctor_says_what_listens_there_instead(
    run: Command, reply: Callable[[bytes], bytes | None], step: str, said: str
) -> None:
    """In words, and what to do."""

    def walk() -> None:
        done = run("doctor", "-b", stranger.bootstrap, "-J", "--timeout", TIMEOUT)
        assert verdicts(done).get(step) == "failed"
        assert verdicts(done).get("Metadata") == "skipped"
        assert said in advice(done)
        assert (done.code, done.err) == (FAILURE, "1 fault found\n")
        assert done.seconds < TIMEOUT + LATE

    with Hostile(reply) as stranger:
        undisturbed(walk)


def test_the_doctor_tells_a_closed_port_from_a_black_hole(run: Command) -> None:
    """The one refuses at once, the other never; neither hides the other."""

    def walk() -> None:
        done = run("doctor", "-b", servers, "-J", "--timeout", TIMEOUT)
        taken = [each["verdict"] for each in done.objects if each["step"] == "TCP"]
        assert taken == ["failed"] * 2
        assert "Packets vanish" in advice(done)
        assert "nothing listens on this port" in advice(done)
        assert done.seconds < TIMEOUT + LATE

    with (
        socket.create_server(("127.0.0.1", 0), backlog=0) as hole,
        # Bound and not listening: it refuses, and no other process gets the port.
        socket.socket() as closed,
    ):
        closed.bind(("127.0.0.1", 0))
        address = hole.getsockname()
        # The kernel drops what it has no room for: no thread accepts here.
        filling = [socket.socket() for _ in range(4)]
        try:
            for each in filling:
                each.setblocking(False)
                each.connect_ex(address)
            servers = f"127.0.0.1:{address[1]},127.0.0.1:{closed.getsockname()[1]}"
            undisturbed(walk)
        finally:
            for each in filling:
                each.close()


def test_the_doctor_reports_an_unknown_host_name(run: Command) -> None:
    """`.invalid` is never assigned, by RFC 2606."""
    done = run("doctor", "-b", "kafka.invalid:9092", "-J", "--timeout", 5)
    assert verdicts(done)["DNS"] == "failed"
    assert done.code == FAILURE
    assert advice(done)


@pytest.mark.parametrize(
    ("api", "step", "said"),
    [
        ("Metadata", "Metadata", "does not tell of its cluster"),
        ("FindCoordinator", "Coordinator", "who coordinates the group"),
        ("OffsetFetch", "Committed", "known and does not answer"),
    ],
)
def test_the_doctor_tells_which_request_stays_unanswered(
    at: Command, kafka: EmbeddedBroker, api: str, step: str, said: str
) -> None:
    """What comes before it is well, what comes after it is left out."""
    kafka.hold(api)  # type: ignore[arg-type]

    def walk() -> None:
        done = at("doctor", "-G", "billing", "-J", "--timeout", TIMEOUT)
        names = ["ApiVersions", "Metadata", "Coordinator", "Committed"]
        before, after = names[: names.index(step)], names[names.index(step) + 1 :]
        assert all(verdicts(done).get(name) == "ok" for name in before)
        assert verdicts(done).get(step) == "failed"
        assert all(verdicts(done).get(name) == "skipped" for name in after)
        assert said in advice(done)
        assert done.seconds < TIMEOUT + LATE

    undisturbed(walk)


def test_the_doctor_names_what_is_strange_or_forbidden(
    at: Command, kafka: EmbeddedBroker
) -> None:
    """A group without offsets, a topic that is not there, a group one may not see."""
    done = at("doctor", "-G", "new", "-J")
    assert (done.code, verdicts(done)["Committed"]) == (DONE, "warning")
    done = at("doctor", "-t", "ordres", "-J")
    assert (done.code, verdicts(done)["Topic"]) == (FAILURE, "failed")
    with kafka.deny(group="secret"):
        done = at("doctor", "-G", "secret", "-J")
    assert (done.code, verdicts(done)["Coordinator"]) == (FAILURE, "failed")
    assert "grant DESCRIBE and READ" in advice(done)


def test_the_doctor_says_what_is_allowed(at: Command, kafka: EmbeddedBroker) -> None:
    """Of what was named, and nothing where brokers do not tell."""

    def rights(*options: str) -> dict[str, object]:
        (step,) = [
            each for each in at("doctor", *options, "-J").objects if each["step"] == "Rights"
        ]
        return step

    step = rights("-t", "orders", "-G", "billing")
    assert step["finding"] == (
        "User:ANONYMOUS may read and write orders; join and commit in group billing"
    )
    assert step["verdict"] == "ok"
    assert rights("-t", "ordres")["verdict"] == "skipped"
    with kafka.deny(group="secret", topic="orders"):
        step = rights("-t", "orders", "-G", "secret")
    assert step["finding"] == "User:ANONYMOUS may not see orders; not see group secret"
    assert step["verdict"] == "failed"
    assert "READ of topic orders and READ of group secret" in str(step["advice"])
    assert "Rights" not in verdicts(at("doctor", "-J"))


def test_the_doctor_names_the_kind_of_broker(at: Command) -> None:
    """What it offers, beside Kafka's releases; and that a protocol is not finalised."""
    done = at("doctor", "-J")
    found = {str(each["step"]): str(each["finding"]) for each in done.objects}
    assert found["Kind"] == f"the APIs of Kafka {list(RELEASES)[-1]}"
    done = at("doctor", "-J", "-X", "group.protocol=consumer")
    assert (done.code, verdicts(done)["Kind"]) == (DONE, "warning")
    assert "leave it out" in advice(done)


def test_the_doctor_speaks_in_any_locale(kafka: EmbeddedBroker) -> None:
    """What the terminal has no letter for is replaced, and the rest is told."""
    kafka.kill(1)
    done = subprocess.run(
        [
            *(sys.executable, "-m", "prokurist", "doctor", "-b", kafka.bootstrap),
            *("--timeout", str(PATIENCE)),
        ],
        env={"PYTHONIOENCODING": "ascii"},
        capture_output=True,
        timeout=STARTING,
        check=False,
    )
    assert (done.returncode, done.stderr) == (FAILURE, b"1 fault found\n")
    assert b"? The machine is there and nothing listens on this port" in done.stdout


def test_the_doctor_reads_a_record_of_a_topic_that_is_named(
    at: Command, kafka: EmbeddedBroker
) -> None:
    """Without one, that is said; if none comes, why, and nothing is committed."""
    done = at("doctor", "-t", "orders", "-J")
    found = {str(each["step"]): str(each["finding"]) for each in done.objects}
    assert found["Records"] in {"orders-0 was read at 2", "orders-1 was read at 1"}
    done = at("doctor", "-t", "empty", "-J")
    found = {str(each["step"]): str(each["finding"]) for each in done.objects}
    assert found["Records"] == "there are none in empty-0"
    kafka.hold("Fetch")
    done = at("doctor", "-t", "orders", "-G", "billing", "-J", "--timeout", 4)
    assert verdicts(done)["Records"] == "failed"
    assert "no record of orders-0, orders-1 was read in time: " in done.out.decode()
    assert "send no records" in advice(done)
    assert not kafka.committed("billing")
