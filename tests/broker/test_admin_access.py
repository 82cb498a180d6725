"""ACLs, users, quotas and tokens by the admin client, on real brokers with an authorizer."""

import base64
import json
import time
from collections.abc import Callable, Iterator
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from prokurist import TopicPartition
from prokurist.admin import (
    DEFAULT,
    Acl,
    AclFilter,
    AclOperation,
    AclPattern,
    AclPermission,
    AclResource,
    DeletePassword,
    KafkaAdmin,
    NewTopic,
    QuotaEntity,
    QuotaFilter,
    ScramMechanism,
    SetPassword,
)
from prokurist.errors import (
    AuthorizationException,
    ClusterAuthorizationException,
    DelegationTokenNotFoundException,
    IllegalStateException,
    InvalidRequestException,
    ResourceNotFoundException,
    SaslAuthenticationException,
    TopicAuthorizationException,
    UnacceptableCredentialException,
)
from prokurist.testing.kafka import RealKafka, SecuredListener
from tests.broker.java_programs import java
from tests.broker.test_admin import RELEASES, started
from tests.broker.test_admin_faces import command, rows

pytestmark = pytest.mark.kafka

PASSWORD = "s3cret"  # noqa: S105 - of the test's Kafka
SHA_256, SHA_512 = ScramMechanism.SCRAM_SHA_256, ScramMechanism.SCRAM_SHA_512
NAMES = count()


@pytest.fixture(scope="module", params=RELEASES)
def kafka(request: pytest.FixtureRequest) -> Iterator[RealKafka]:
    """A node of each release with an authorizer, tokens, and a user anna."""
    kafka = RealKafka(
        version=request.param,
        security=SecuredListener(
            mechanisms=("SCRAM-SHA-256", "SCRAM-SHA-512"), users={"anna": PASSWORD}
        ),
        properties={
            "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
            "super.users": "User:anna;User:ANONYMOUS",
            "delegation.token.secret.key": "a secret of the brokers",
        },
    )
    with started(kafka) as kafka:
        yield kafka


def logged_in(
    kafka: RealKafka, user: str, password: str, mechanism: str = "SCRAM-SHA-256"
) -> KafkaAdmin:
    """An admin client of a user."""
    keys: dict[str, Any] = {
        "bootstrap.servers": kafka.bootstrap,
        "security.protocol": "SASL_PLAINTEXT",
        "sasl.mechanism": mechanism,
        "sasl.username": user,
        "sasl.password": password,
    }
    return KafkaAdmin(keys)


@pytest.fixture
def admin(kafka: RealKafka) -> Iterator[KafkaAdmin]:
    """The admin client of a super user."""
    with logged_in(kafka, "anna", PASSWORD) as admin:
        yield admin


@pytest.fixture
def name() -> str:
    """A name for a user and its topics."""
    return f"access-{next(NAMES)}"


def shows(look: Callable[[], object], wanted: object) -> bool:
    """Return True once the broker shows what its controller has decided."""
    until = time.monotonic() + 10
    while look() != wanted:
        if time.monotonic() > until:
            return False
        time.sleep(0.05)
    return True


def test_acls(admin: KafkaAdmin, name: str) -> None:
    """B628, B629: created, found by filter, and deleted in the expected number."""
    user = f"User:{name}"
    read = Acl(AclResource.TOPIC, name, user, AclOperation.READ)
    prefix = Acl(
        AclResource.GROUP,
        name,
        user,
        AclOperation.READ,
        AclPermission.DENY,
        pattern=AclPattern.PREFIXED,
    )
    many = Acl.allow([user], [AclOperation.WRITE, AclOperation.DESCRIBE], topics=[name])
    admin.create_acls([read, prefix, *many], timeout=30).check()
    admin.create_acls([read], timeout=30).check()
    mine = AclFilter(principal=user)
    assert shows(lambda: set(admin.acls(mine, timeout=30)), {read, prefix, *many})
    matched = AclFilter(AclResource.GROUP, f"{name}-more", pattern=AclPattern.MATCH)
    assert prefix in admin.acls(matched, timeout=30)
    error = admin.delete_acls([mine], expect=1, timeout=30).errors[mine]
    assert isinstance(error, IllegalStateException)
    assert admin.delete_acls([read], expect=1, timeout=30).check()
    deleted = admin.delete_acls([mine], expect=3, timeout=30)[mine]
    assert set(deleted.acls) == {prefix, *many}
    assert not deleted.earlier_attempt
    assert shows(lambda: admin.acls(mine, timeout=30), ())


def test_a_user_of_ours_logs_in(
    kafka: RealKafka, admin: KafkaAdmin, name: str, tmp_path: Path
) -> None:
    """B630: with our client and with Kafka's own; rights are its own, item by item."""
    user = f"User:{name}"
    results = admin.alter_users(
        {
            name: SetPassword("pässword", SHA_512, 4096),
            f"{name}-none": DeletePassword(SHA_256),
            f"{name}-weak": SetPassword("x", SHA_256, 100),
        },
        timeout=30,
    )
    assert isinstance(results.errors[f"{name}-none"], ResourceNotFoundException)
    assert isinstance(results.errors[f"{name}-weak"], UnacceptableCredentialException)
    assert shows(lambda: admin.users([name], timeout=30).succeeded, {name: {SHA_512: 4096}})
    everyone = admin.users(timeout=30)
    assert SHA_256 in everyone["anna"]
    assert name in everyone
    rights = [AclOperation.CREATE, AclOperation.DESCRIBE]
    admin.create_acls(Acl.allow([user], rights, topics=[name]), timeout=30).check()
    with logged_in(kafka, name, "pässword", "SCRAM-SHA-512") as own:
        made = own.create_topics({name: NewTopic(1), f"{name}-no": NewTopic(1)}, timeout=30)
        assert made[name].topic_id is not None
        assert isinstance(made.errors[f"{name}-no"], TopicAuthorizationException)
    login = tmp_path / "login.properties"
    module = "org.apache.kafka.common.security.scram.ScramLoginModule"
    admin.alter_users({name: SetPassword("plain", SHA_256)}, timeout=30).check()
    login.write_text(
        "security.protocol=SASL_PLAINTEXT\nsasl.mechanism=SCRAM-SHA-256\n"
        f'sasl.jaas.config={module} required username="{name}" password="plain";\n'
    )
    told = java(
        *("org.apache.kafka.tools.TopicCommand", "--list"),
        *("--bootstrap-server", kafka.bootstrap, "--command-config", str(login)),
    )
    assert name in told
    admin.alter_users({name: DeletePassword(SHA_512)}, timeout=30).check()
    with (
        logged_in(kafka, name, "pässword", "SCRAM-SHA-512") as own,
        pytest.raises(SaslAuthenticationException),
    ):
        own.list_topics(timeout=10)


def test_quotas(admin: KafkaAdmin, name: str) -> None:
    """B631: by user, client id and address; keys that are not named stay."""
    one, both = QuotaEntity(user=name), QuotaEntity(user=name, client_id=DEFAULT)
    ip = QuotaEntity(ip="127.0.0.9")
    results = admin.alter_quotas(
        {
            one: {"producer_byte_rate": 1e6, "consumer_byte_rate": 2e6},
            both: {"request_percentage": 50},
            ip: {"connection_creation_rate": 10},
            QuotaEntity(client_id=name): {"nonsense": 1},
        },
        timeout=30,
    )
    assert isinstance(results.errors[QuotaEntity(client_id=name)], InvalidRequestException)
    assert len(results.succeeded) == 3
    admin.alter_quotas({one: {"producer_byte_rate": None}}, timeout=30).check()
    admin.alter_quotas(
        {both: {"request_percentage": 9}}, validate_only=True, timeout=30
    ).check()
    wanted = {one: {"consumer_byte_rate": 2e6}, both: {"request_percentage": 50.0}}
    assert shows(lambda: admin.quotas(QuotaFilter(user=name), timeout=30), wanted)
    assert admin.quotas(QuotaFilter(user=name, strict=True), timeout=30).keys() == {one}
    assert admin.quotas(QuotaFilter(ip="127.0.0.9"), timeout=30).keys() == {ip}


def test_tokens(kafka: RealKafka, admin: KafkaAdmin, name: str) -> None:
    """B632: created, used to log in, renewed, ended."""
    token = admin.create_token(renewers=[f"User:{name}"], lifetime=3600, timeout=30)
    assert token.owner == "User:anna"
    assert token.renewers == (f"User:{name}",)
    assert 3500 < (token.ends - token.issued).total_seconds() <= 3600
    assert base64.b64decode(token.hmac.reveal())
    assert shows(
        lambda: [each.token_id for each in admin.describe_tokens(["User:anna"], timeout=30)],
        [token.token_id],
    )
    assert admin.describe_tokens(["User:nobody"], timeout=30) == ()
    keys: dict[str, Any] = {
        "bootstrap.servers": kafka.bootstrap,
        "security.protocol": "SASL_PLAINTEXT",
        "sasl.mechanism": "SCRAM-SHA-256",
        "sasl.jaas.config": (
            "org.apache.kafka.common.security.scram.ScramLoginModule required "
            f'tokenauth=true username="{token.token_id}" password="{token.hmac.reveal()}";'
        ),
    }
    with KafkaAdmin(keys) as own:
        assert own.describe_cluster(timeout=30).brokers
    assert admin.renew_token(token, 600, timeout=30) > token.issued
    assert admin.expire_token(token, timeout=30) is not None
    assert shows(lambda: admin.describe_tokens(timeout=30), ())
    with pytest.raises(DelegationTokenNotFoundException):
        admin.renew_token(token, timeout=30)


def test_a_user_without_rights(kafka: RealKafka, admin: KafkaAdmin, name: str) -> None:
    """B691: each call is refused by its own item, at once, in a sentence."""
    admin.create_topic(name, 1, wait=True, timeout=30)
    admin.alter_users({name: SetPassword("plain", SHA_256)}, timeout=30).check()
    assert shows(lambda: admin.users([name], timeout=30).errors, {})
    tp = TopicPartition(name, 0)
    with logged_in(kafka, name, "plain") as own:
        with pytest.raises(ClusterAuthorizationException):
            own.users(timeout=30)
        for results in (
            own.users(["anna"], timeout=30),
            own.alter_users({"x": SetPassword("y")}, timeout=30),
            own.create_acls(
                Acl.allow(["User:x"], [AclOperation.READ], topics=[name]), timeout=30
            ),
            own.elect_leaders([tp], timeout=30),
            own.delete_topics([name], timeout=30),
            own.delete_records({tp: 0}, timeout=30),
            own.alter_offsets(name, {tp: 0}, timeout=30),
        ):
            [error] = results.errors.values()
            assert isinstance(error, AuthorizationException)
            assert not error.may_have_happened
            assert "Request(" not in str(error)


def test_tokens_by_hand(kafka: RealKafka, name: str, tmp_path: Path) -> None:
    """B685, B686: a command logs in by the file that another has written."""
    keys, made = tmp_path / "keys", tmp_path / "made"
    keys.write_text(
        f"security.protocol=SASL_PLAINTEXT\nsasl.mechanism=SCRAM-SHA-256\n"
        f"sasl.username=anna\nsasl.password={PASSWORD}\n",
        "utf-8",
    )
    as_anna = ("-F", keys)
    words = ("tokens", "create", "--to", made, "--renewer", f"User:{name}", *as_anna)
    [row] = rows(kafka, *words)
    assert shows(lambda: len(rows(kafka, "tokens", "describe", "User:anna", *as_anna)), 1)
    with_token = ("-F", made, "-X", "security.protocol=SASL_PLAINTEXT")
    assert rows(kafka, "brokers", *with_token)
    assert rows(kafka, "tokens", "renew", made, "--period", "10m", *as_anna)[0]["ok"]
    [ended] = rows(kafka, "tokens", "expire", made, "--yes", *as_anna)
    assert (ended["ok"], ended["item"]) == (True, row["item"])
    assert shows(lambda: rows(kafka, "tokens", *as_anna), [])
    needed = ("acls", "for", "consumer", "--principal", f"User:{name}", "-t", name, *as_anna)
    code, out, _told = command(kafka, *needed, "-J")
    assert (code, json.loads(out)["state"]) == (1, "missing")
