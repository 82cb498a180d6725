"""SASL in virtual time: who gets in, who is told why not, and sessions that are renewed."""

from collections.abc import Callable
from itertools import pairwise
from typing import Any

import pytest

from prokurist import KafkaConsumer, OffsetAndMetadata, TopicPartition
from prokurist.errors import (
    IllegalSaslStateException,
    KafkaException,
    SaslAuthenticationException,
    TimeoutException,
    UnsupportedSaslMechanismException,
)
from prokurist.testing.cluster.sasl import Sasl
from tests.simulation.direct_requests import Asked, node, warm
from tests.simulation.world import World

ANNA = {"anna": "right", "o,t=to": "p,=ß"}
PARTITION = TopicPartition("orders", 0)


def secured(**settings: Any) -> World:
    """Brokers that want to know who is there."""
    world = World()
    world.cluster.sasl = Sasl(dict(ANNA), **settings)
    return world


def consumer(
    world: World,
    mechanism: str = "PLAIN",
    name: str = "anna",
    password: str = "right",  # noqa: S107 - of the model
    **more: Any,
) -> KafkaConsumer:
    """A consumer with a name and a password."""
    keys = {"sasl_username": name, "sasl_password": password, **more}
    if mechanism == "OAUTHBEARER":
        keys = more
    return world.consumer(security_protocol="SASL_PLAINTEXT", sasl_mechanism=mechanism, **keys)


@pytest.mark.parametrize("mechanism", ["PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512"])
@pytest.mark.parametrize("name", ANNA)
def test_who_has_a_password_gets_in(mechanism: str, name: str) -> None:
    """B255: with each mechanism, names and passwords with special characters too."""
    world = secured()
    with consumer(world, mechanism, name, ANNA[name]) as ours:
        assert len(ours.partitions_for("orders", 5)) == 3
        ours.commit_sync({PARTITION: OffsetAndMetadata(1)}, timeout=5)


def calls(ours: KafkaConsumer) -> dict[str, Callable[[], object]]:
    """Calls that need a broker, each with ten seconds."""
    return {
        "partitions_for": lambda: ours.partitions_for("orders", 10),
        "end_offsets": lambda: ours.end_offsets([PARTITION], 10),
        "committed": lambda: ours.committed([PARTITION], 10),
        "commit_sync": lambda: ours.commit_sync({PARTITION: OffsetAndMetadata(1)}, timeout=10),
        "position": lambda: ours.position(PARTITION, 10),
        "poll": lambda: ours.poll(10),
    }


@pytest.mark.parametrize("mechanism", ["PLAIN", "SCRAM-SHA-256"])
def test_a_wrong_password_is_told_at_once(mechanism: str) -> None:
    """B250, B251: each call ends with the refusal, and works when the password is mended."""
    world = secured()
    with consumer(world, mechanism, password="wrong") as ours:  # noqa: S106
        ours.assign([PARTITION])
        ours.seek(PARTITION, 0)
        for name, call in calls(ours).items():
            if name == "position":
                continue  # it is known
            began = world.clock.time
            with pytest.raises(SaslAuthenticationException) as refused:
                call()
            assert world.clock.time - began < 2, name
            assert "sasl.password" in str(refused.value), name
            assert "wrong" not in str(refused.value)
        assert world.cluster.sasl is not None
        world.cluster.sasl.users["anna"] = "wrong"
        for name, call in calls(ours).items():
            if name != "poll":
                call()


def test_a_locked_account_sees_a_try_a_second() -> None:
    """A consumer that is refused and polls on asks each broker once a second at the most."""
    world = secured()
    with consumer(world, password="wrong") as ours:  # noqa: S106
        ours.subscribe(["orders"])
        raised = 0
        until = world.clock.time + 60
        while world.clock.time < until:
            try:
                ours.poll(1)
            except SaslAuthenticationException:
                raised += 1
        tries = [each for each in world.cluster.journal.entries() if each.request.key == 36]
        assert 20 <= raised <= 130
        assert 20 <= len(tries) <= 130


@pytest.mark.parametrize("protocol", ["classic", "consumer"])
def test_a_password_that_changes_under_a_group(protocol: str) -> None:
    """S50, B346: a try a second for each broker, in all; mended, the group goes on."""
    world = secured(lifetime=4.0)
    assert world.cluster.sasl is not None
    with consumer(world, group_protocol=protocol) as ours:
        ours.subscribe(["orders"])
        for _ in range(20):
            ours.poll(0.5)
        assert len(ours.assignment()) == 3
        world.cluster.sasl.users["anna"] = "changed"
        changed, raised = world.clock.time, 0
        while world.clock.time < changed + 60:
            try:
                ours.poll(0.5)
            except SaslAuthenticationException:
                raised += 1
        assert raised >= 20
        journal = world.cluster.journal.entries("SaslAuthenticate")
        by_node: dict[int, list[float]] = {}
        for each in journal:
            if each.at > changed + 6:  # All sessions are over.
                by_node.setdefault(each.node, []).append(each.at)
        assert by_node
        for moments in by_node.values():
            assert min(b - a for a, b in pairwise(moments)) > 0.9
        world.cluster.sasl.users["anna"] = "right"
        mended = world.clock.time
        while world.clock.time < mended + 20:
            try:
                ours.poll(0.5)
            except SaslAuthenticationException:
                assert world.clock.time < mended + 2
        assert len(ours.assignment()) == 3
        ours.commit_sync(timeout=5)


@pytest.mark.parametrize("protocol", ["classic", "consumer"])
def test_a_membership_outlives_a_refusal(protocol: str) -> None:
    """B251: refused for less than its session, a member stays who it is and keeps its part."""
    world = secured(lifetime=4.0)
    assert world.cluster.sasl is not None
    with consumer(world, group_protocol=protocol) as ours:
        ours.subscribe(["orders"])
        for _ in range(20):
            ours.poll(0.5)
        was, part = ours.group_metadata(), ours.assignment()
        assert len(part) == 3
        world.cluster.sasl.users["anna"] = "changed"
        changed, raised = world.clock.time, 0
        while world.clock.time < changed + 20:
            try:
                ours.poll(0.5)
            except SaslAuthenticationException:
                raised += 1
            assert ours.assignment() == part
        assert raised >= 10
        world.cluster.sasl.users["anna"] = "right"
        mended = world.clock.time
        while world.clock.time < mended + 10:
            try:
                ours.poll(0.5)
            except SaslAuthenticationException:
                assert world.clock.time < mended + 2
        assert ours.group_metadata() == was
        assert ours.assignment() == part
        ours.commit_sync(timeout=5)


def test_a_mechanism_that_is_not_enabled() -> None:
    """B254: the error lists those that are."""
    world = secured(mechanisms=("SCRAM-SHA-512", "OAUTHBEARER"))
    with consumer(world) as ours, pytest.raises(UnsupportedSaslMechanismException) as refused:
        ours.partitions_for("orders", 10)
    assert "SCRAM-SHA-512, OAUTHBEARER" in str(refused.value)


def test_a_listener_without_sasl() -> None:
    """The error says that the listener has none."""
    world = World()
    with consumer(world) as ours, pytest.raises(IllegalSaslStateException) as refused:
        ours.partitions_for("orders", 10)
    assert "security.protocol without SASL" in str(refused.value)


def test_a_broker_that_does_not_know_the_password() -> None:
    """B255: a wrong signature of the server is refused, and nothing is asked of it."""
    world = secured(is_liar=True)
    with consumer(world, "SCRAM-SHA-256") as ours:
        with pytest.raises(SaslAuthenticationException) as refused:
            ours.partitions_for("orders", 10)
        assert "signature is wrong" in str(refused.value)
    assert {each.request.name for each in world.cluster.journal.entries()} == {
        "ApiVersions",
        "SaslHandshake",
        "SaslAuthenticate",
    }


def test_tokens_of_a_callable() -> None:
    """B256: a token is asked of the callable once, and again before it runs out."""
    world = secured()
    assert world.cluster.sasl is not None
    world.cluster.sasl.tokens.add("good")
    asked: list[float] = []

    def provider(config: str) -> tuple[str, float]:
        assert config == "x"
        asked.append(world.clock.time)
        return "good", world.clock.time + 1000

    with consumer(world, "OAUTHBEARER", oauth_cb=provider, sasl_oauthbearer_config="x") as ours:
        ours.partitions_for("orders", 5)
        ours.committed([PARTITION], 5)
        assert len(asked) == 1
        world.clock.sleep(600)  # idle connections end
        world.clock.sleep(300)
        ours.partitions_for("orders", 5)
        assert len(asked) == 2


def test_a_token_that_is_refused_tells_the_reason() -> None:
    """The broker's reason, and where the token came from, stand in the error."""
    world = secured()
    with (
        consumer(
            world, "OAUTHBEARER", oauth_cb=lambda _config: ("bad", world.clock.time + 1000)
        ) as ours,
        pytest.raises(SaslAuthenticationException) as refused,
    ):
        ours.partitions_for("orders", 5)
    assert "invalid_token" in str(refused.value)
    assert "sasl.oauthbearer.token.callback" in str(refused.value)


def test_a_callable_that_raises_is_told_without_its_text() -> None:
    """B256: an error of the callable is an authentication error, without what it says."""

    def provider(_config: str) -> tuple[str, float]:
        raise RuntimeError("the secret")

    with (
        consumer(secured(), "OAUTHBEARER", oauth_cb=provider) as ours,
        pytest.raises(SaslAuthenticationException) as refused,
    ):
        ours.partitions_for("orders", 5)
    assert "RuntimeError" in str(refused.value)
    assert "the secret" not in str(refused.value)


def test_a_callable_that_returns_no_text() -> None:
    """B388: a member's poll tells it at once, as it does a refusal, and is not empty."""
    password: Any = lambda: None  # noqa: E731 - what a look-up without a result comes to
    with consumer(secured(), password=password, group_id="g") as ours:
        ours.subscribe("orders")
        with pytest.raises(SaslAuthenticationException, match="must return a string"):
            ours.poll(60)


def test_a_source_that_hangs_costs_no_deadline() -> None:
    """With the helper hanging at any point, calls end by their deadline, and say what hung."""
    world = secured()
    ours = consumer(world)
    world.members[-1].helping.hangs = True
    with ours:
        began = world.clock.time
        with pytest.raises(TimeoutException):
            ours.partitions_for("orders", 5)
        assert world.clock.time - began < 5.1
        with pytest.raises(TimeoutException) as late:
            ours.partitions_for("orders", 60)
    assert "waited for Plain('anna')" in str(late.value)


@pytest.mark.parametrize("protocol", ["classic", "consumer"])
def test_sessions_are_renewed_without_losing_a_request(protocol: str) -> None:
    """B257: a hundred sessions on the same connections, reading, beating and committing."""
    world = secured(lifetime=4.0)
    member_keys: dict[str, Any] = {
        "group_protocol": protocol,
        "auto_offset_reset": "earliest",
        "connections_max_idle_ms": -1,
    }
    with consumer(world, "SCRAM-SHA-256", **member_keys) as ours:
        ours.subscribe(["orders"])
        member = world.members[-1]
        until = world.clock.time + 20
        while world.clock.time < until:
            ours.poll(0.5)
        ours.commit_sync(timeout=5)
        connects, until = member.network.connects, world.clock.time + 400
        while world.clock.time < until:
            ours.poll(0.5)
            ours.commit_sync(timeout=5)
        counters = member.side.client.counters
        assert member.network.connects == connects
        assert counters.reauthenticated.count >= 100
        assert not counters.nodes.of("1").lost
    by_session: dict[int, list[float]] = {}
    for entry in world.cluster.journal.entries():
        if entry.request.name == "SaslHandshake":
            by_session.setdefault(entry.session, []).append(entry.at)
    pauses = [
        later - earlier
        for moments in by_session.values()
        for earlier, later in pairwise(moments)
    ]
    assert min(pauses) >= 1.0
    assert max(pauses) < 400


def test_an_idle_connection_renews_nothing() -> None:
    """S42: a session that runs out while nothing is asked costs no request and no turn."""
    world = secured(lifetime=4.0)
    with consumer(world) as ours:
        ours.partitions_for("orders", 5)
        seen = len(world.cluster.journal.entries())
        turns = world.members[-1].network.turns
        world.clock.sleep(60)
        assert len(world.cluster.journal.entries()) == seen
        assert world.members[-1].network.turns - turns < 5
        ours.partitions_for("orders", 5)


def test_a_session_that_is_not_renewed() -> None:
    """S43: a refusal closes the connection, and the call whose request waited is told."""
    world = secured(lifetime=4.0)
    with consumer(world) as ours:
        ours.partitions_for("orders", 5)
        assert world.cluster.sasl is not None
        world.cluster.sasl.users["anna"] = "changed"
        world.clock.sleep(5)
        with pytest.raises(KafkaException) as refused:
            ours.partitions_for("orders", 10)
        assert isinstance(refused.value, SaslAuthenticationException)
        world.cluster.sasl.users["anna"] = "right"
        ours.partitions_for("orders", 5)


def test_authentications_are_counted() -> None:
    """Those that were accepted, with their time, and those that were refused, for readers."""
    world = secured(lifetime=4.0)
    assert world.cluster.sasl is not None
    with consumer(world) as ours:
        ours.partitions_for("orders", 5)
        world.clock.sleep(5)
        ours.partitions_for("orders", 5)
        counted = ours.metrics()
        assert counted["prokurist_connections_authentication_seconds_count"] == 1
        assert counted["prokurist_connections_authentication_seconds_sum"] > 0
        assert counted["prokurist_connections_reauthentication_seconds_count"] == 1
        assert counted["prokurist_connections_refused_total"] == 0
        world.cluster.sasl.users["anna"] = "changed"
        world.clock.sleep(5)
        with pytest.raises(SaslAuthenticationException):
            ours.partitions_for("orders", 10)
        counted = ours.metrics()
        assert counted["prokurist_connections_reauthentications_refused_total"] == 1
        assert counted["prokurist_connections_refused_total"] >= 1
        failed = counted["prokurist_connections_failed_total"]
        assert counted["prokurist_connections_refused_total"] == failed


def test_amazons_keys(monkeypatch: pytest.MonkeyPatch) -> None:
    """AWS_MSK_IAM: the broker's name is signed; a wrong key is refused in its words."""
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "AKID")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "a/secret+key")
    monkeypatch.setenv("AWS_SESSION_TOKEN", "of/a+role==")
    monkeypatch.setenv("AWS_REGION", "eu-west-1")
    world = secured(amazon_keys={"AKID": "a/secret+key"})
    keys: dict[str, Any] = {
        "security_protocol": "SASL_PLAINTEXT",
        "sasl_mechanism": "AWS_MSK_IAM",
    }
    with world.consumer(**keys) as ours:
        assert len(ours.partitions_for("orders", 5)) == 3
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "another")
    with world.consumer(**keys) as ours:
        with pytest.raises(SaslAuthenticationException, match="Access denied") as refused:
            ours.partitions_for("orders", 10)
        assert "kafka-cluster:Connect" in str(refused.value)
        assert "another" not in str(refused.value)
        monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "a/secret+key")
        assert len(ours.partitions_for("orders", 5)) == 3


def test_a_password_in_a_file_is_read_for_each_connection(tmp_path: Any) -> None:
    """B251: a rotated file serves the same client."""
    path = tmp_path / "password"
    path.write_text("wrong\n")
    world = secured()
    keys: dict[str, Any] = {
        "security_protocol": "SASL_PLAINTEXT",
        "sasl_mechanism": "PLAIN",
        "sasl_username": "anna",
        "sasl_password_location": str(path),
    }
    with world.consumer(**keys) as ours:
        with pytest.raises(SaslAuthenticationException):
            ours.partitions_for("orders", 5)
        path.write_text("right\n")
        assert len(ours.partitions_for("orders", 5)) == 3
        path.unlink()
        world.control.disconnect()
        world.clock.sleep(1)
        with pytest.raises(SaslAuthenticationException, match="cannot be read"):
            ours.end_offsets([PARTITION], 5)


@pytest.mark.parametrize("api", ["SaslHandshake", "SaslAuthenticate"])
def test_the_next_address_begins_by_itself(api: Any) -> None:
    """A connection that ends in the middle leaves nothing to the next address of the host."""
    world = World(hosts={"kafka": ("10.0.0.1", "10.0.0.2")})
    world.cluster.sasl = Sasl(dict(ANNA))
    world.control.cut(api, times=1)
    with consumer(world, "SCRAM-SHA-256") as ours:
        began = world.clock.time
        assert len(ours.partitions_for("orders", 10)) == 3
        assert world.clock.time - began < 0.1
        assert world.members[-1].network.connects == 2


def test_a_renewal_waits_behind_what_is_parked() -> None:
    """S44: a request that the broker parks for long is not lost to the renewal behind it."""
    world = secured(lifetime=4.0)
    member = world.client(
        security_protocol="SASL_PLAINTEXT",
        sasl_mechanism="PLAIN",
        sasl_username="anna",
        sasl_password="right",  # noqa: S106 - of the model
    )
    warm(world, member)
    connects = member.network.connects
    world.control.answer_late("FindCoordinator", 50.0, times=1)
    parked = Asked(world, member, node(world), patience=100.0)
    world.clock.sleep(10)
    call = world.call("committed", 100.0)
    behind = Asked(world, member, node(world), call=call, patience=100.0)
    world.clock.sleep(60)
    assert parked.answer is not None
    assert behind.answer is not None
    assert member.network.connects == connects
    assert member.side.client.counters.reauthenticated.count == 1
