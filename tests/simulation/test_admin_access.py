"""ACLs, SCRAM users, quotas and tokens as the admin client changes them, on the model."""

import hashlib
from typing import Any

import pytest

from prokurist.admin import (
    ANY,
    DEFAULT,
    Acl,
    AclFilter,
    AclOperation,
    AclPattern,
    AclPermission,
    AclResource,
    DeletePassword,
    KafkaAdmin,
    QuotaEntity,
    QuotaFilter,
    ScramMechanism,
    SetPassword,
)
from prokurist.admin.access import salted
from prokurist.config import Secret
from prokurist.errors import (
    IllegalStateException,
    InvalidRequestException,
    ResourceNotFoundException,
    TimeoutException,
    UnacceptableCredentialException,
    UnsupportedByAuthenticationException,
)
from tests.simulation.test_admin_engine import error_of
from tests.simulation.world import World

pytestmark = pytest.mark.usefixtures("closed_at_the_end")

READ = Acl(AclResource.TOPIC, "orders", "User:alice", AclOperation.READ)
PREFIX = Acl(
    AclResource.GROUP,
    "bill",
    "User:alice",
    AclOperation.READ,
    AclPermission.DENY,
    pattern=AclPattern.PREFIXED,
)
SHA_256, SHA_512 = ScramMechanism.SCRAM_SHA_256, ScramMechanism.SCRAM_SHA_512


def number(value: int) -> Any:
    """A number in place of an enumeration's member."""
    return value


@pytest.fixture
def world() -> World:
    """Three brokers."""
    return World(nodes=3)


@pytest.fixture
def admin(world: World) -> KafkaAdmin:
    """An admin client that knows them."""
    admin = world.admin()
    admin.describe_cluster()
    world.control.forget_requests()
    return admin


def test_acls_are_created_found_and_deleted(admin: KafkaAdmin) -> None:
    """B628: each by itself; found by filter; creating one again is no failure."""
    admin.create_acls([READ, PREFIX]).check()
    admin.create_acls([READ]).check()
    assert set(admin.acls()) == {READ, PREFIX}
    assert admin.acls(AclFilter(resource=AclResource.TOPIC)) == (READ,)
    matched = AclFilter(AclResource.GROUP, "billing", pattern=AclPattern.MATCH)
    assert admin.acls(matched) == (PREFIX,)
    assert admin.acls(AclFilter(principal="User:bob")) == ()
    mine, none = AclFilter(principal="User:alice"), AclFilter(principal="User:bob")
    results = admin.delete_acls([mine, none]).check()
    assert set(results[mine].acls) == {READ, PREFIX}
    assert not results[mine].earlier_attempt
    assert results[none].acls == ()
    assert admin.acls() == ()


def test_many_acls_are_built_at_once() -> None:
    """B628: users by hosts by operations by resources."""
    made = Acl.allow(
        ["User:a", "User:b"],
        [AclOperation.READ, AclOperation.DESCRIBE],
        topics=["orders"],
        groups=["g"],
        cluster=True,
        prefixed=True,
    )
    assert len(made) == len(set(made)) == 12
    assert {each.pattern for each in made if each.resource is not AclResource.CLUSTER} == {
        AclPattern.PREFIXED
    }
    assert str(PREFIX) == "DENY User:alice from * READ on GROUP bill*"


def test_an_unexpected_number_of_acls_is_not_deleted(world: World, admin: KafkaAdmin) -> None:
    """B629: the filter fits two where one was expected: none is deleted."""
    admin.create_acls([READ, PREFIX]).check()
    mine = AclFilter(principal="User:alice")
    error = admin.delete_acls([mine], expect=1).errors[mine]
    assert isinstance(error, IllegalStateException)
    assert "fit 2 ACLs where 1 were expected" in str(error)
    assert not world.control.requests("DeleteAcls")
    assert len(admin.delete_acls([READ], expect=1)[AclFilter.of(READ)].acls) == 1


def test_a_lost_answer_to_a_deletion_of_acls(world: World, admin: KafkaAdmin) -> None:
    """B629: the repetition fits none: the ones that a look has found were deleted."""
    admin.create_acls([READ, PREFIX]).check()
    world.control.cut("DeleteAcls", times=1, applied=True)
    mine = AclFilter(principal="User:alice")
    deleted = admin.delete_acls([mine], timeout=10)[mine]
    assert deleted.earlier_attempt
    assert set(deleted.acls) == {READ, PREFIX}


def test_users_and_their_passwords(world: World, admin: KafkaAdmin) -> None:
    """B630: created, described and deleted; a user with nothing to delete is an error."""
    results = admin.alter_users(
        {
            "alice": SetPassword("secret", SHA_256, 4096),
            "bob": SetPassword(Secret("secret")),
            "carol": DeletePassword(SHA_512),
            "dave": SetPassword("secret", SHA_512, 100),
        }
    )
    assert isinstance(results.errors["carol"], ResourceNotFoundException)
    assert isinstance(results.errors["dave"], UnacceptableCredentialException)
    assert dict(admin.users()) == {"alice": {SHA_256: 4096}, "bob": {SHA_512: 8192}}
    found = admin.users(["alice", "nope"])
    assert found["alice"] == {SHA_256: 4096}
    assert isinstance(found.errors["nope"], ResourceNotFoundException)
    world.control.cut("AlterUserScramCredentials", times=1, applied=True)
    deleted = admin.alter_users({"alice": DeletePassword(SHA_256)}, timeout=10)["alice"]
    assert deleted.earlier_attempt
    assert not admin.users([])


def test_a_password_is_salted_here() -> None:
    """B630: PBKDF2 with 24 random bytes; no text shows the password, or what is sent."""
    change = SetPassword("s3cret-password", SHA_256, 4096)
    one, two = salted(change), salted(change)
    assert one.salt != two.salt
    assert len(one.salt) == 24
    expected = hashlib.pbkdf2_hmac("sha256", b"s3cret-password", one.salt, 4096)
    assert one.salted_password == expected
    assert "s3cret" not in repr(change)
    assert "salt=" not in repr(one)
    assert len(salted(SetPassword("x")).salted_password) == 64


def test_quotas_are_altered_and_described(admin: KafkaAdmin) -> None:
    """B631: by user, client id, or both; keys that are not named stay."""
    alice, everyone = QuotaEntity(user="alice"), QuotaEntity(user=DEFAULT)
    both = QuotaEntity(user="alice", client_id="app")
    results = admin.alter_quotas(
        {
            alice: {"producer_byte_rate": 1000, "consumer_byte_rate": 2000.0},
            everyone: {"producer_byte_rate": 10},
            both: {"nonsense": 1.0},
        }
    )
    assert isinstance(results.errors[both], InvalidRequestException)
    admin.alter_quotas({alice: {"producer_byte_rate": None}}).check()
    admin.alter_quotas({both: {"consumer_byte_rate": 5.0}}).check()
    assert admin.quotas() == {
        alice: {"consumer_byte_rate": 2000.0},
        everyone: {"producer_byte_rate": 10.0},
        both: {"consumer_byte_rate": 5.0},
    }
    assert admin.quotas(QuotaFilter(user=ANY)).keys() == {alice, everyone, both}
    assert admin.quotas(QuotaFilter(user=DEFAULT)).keys() == {everyone}
    assert admin.quotas(QuotaFilter(user="alice", strict=True)).keys() == {alice}
    admin.alter_quotas({alice: {"consumer_byte_rate": 1.0}}, validate_only=True).check()
    assert admin.quotas()[alice] == {"consumer_byte_rate": 2000.0}


def test_a_token_is_created_once_and_ended(world: World, admin: KafkaAdmin) -> None:
    """B632, B656: without an answer it is not repeated; an expiry is, and is judged."""
    refused = error_of(lambda: admin.create_token(timeout=5))
    assert isinstance(refused, UnsupportedByAuthenticationException)
    assert not refused.may_have_happened
    world.control.accept_tokens("User:admin")
    token = admin.create_token(renewers=["User:bob"], lifetime=3600)
    assert token.renewers == ("User:bob",)
    assert token.hmac.reveal() not in repr(token)
    assert admin.renew_token(token, 60) > token.issued
    assert [each.token_id for each in admin.describe_tokens()] == [token.token_id]
    world.control.cut("ExpireDelegationToken", times=1, applied=True)
    assert admin.expire_token(token.hmac, timeout=10) is None
    assert admin.describe_tokens() == ()
    world.control.forget_requests()
    world.control.cut("CreateDelegationToken", times=1, applied=True)
    error = error_of(lambda: admin.create_token(timeout=5))
    assert error.may_have_happened
    assert not isinstance(error, TimeoutException)
    assert len(world.control.requests("CreateDelegationToken")) == 1
    assert len(admin.describe_tokens()) == 1


@pytest.mark.parametrize(
    ("call", "text"),
    [
        (lambda admin: admin.create_acls(["a"]), "an ACL is a Acl, not 'a'"),
        (lambda admin: admin.acls("a"), "the filter is a AclFilter"),
        (lambda _: Acl(AclResource.ANY, "a", "User:a", AclOperation.READ), "AclFilter"),
        (lambda _: Acl(AclResource.TOPIC, "a", "alice", AclOperation.READ), "User:alice"),
        (
            lambda _: Acl(number(2), "a", "User:a", AclOperation.READ),
            "resource is an AclResource",
        ),
        (lambda _: Acl.allow(["User:a"], [AclOperation.READ]), "at least one of each"),
        (lambda admin: admin.alter_users({"a": "secret"}), "the change of a"),
        (lambda _: SetPassword(""), "the password is empty"),
        (lambda _: SetPassword("a", number(9)), "a ScramMechanism"),
        (lambda admin: admin.alter_quotas({"alice": {}}), "an entity is a QuotaEntity"),
        (lambda _: QuotaEntity(), "concerns someone"),
        (lambda _: QuotaEntity(user=ANY), "for a QuotaFilter"),
        (lambda admin: admin.create_token(renewers=["bob"]), "User:alice: 'bob'"),
        (lambda admin: admin.expire_token("not base64!"), "in base64"),
    ],
)
def test_bad_input_about_access_is_refused(world: World, call: Any, text: str) -> None:
    """B610: before anything is asked; no text has a password."""
    admin = world.admin()
    with pytest.raises((TypeError, ValueError), match=text) as raised:
        call(admin)
    assert "secret" not in str(raised.value)
    assert not world.control.requests()
