"""Scenarios of ACLs, SCRAM credentials and quotas, on a node with an authorizer."""

from collections.abc import Sequence
from typing import Any, Final

from tests.conformance.stage import Stage

ANY, MATCH, LITERAL, PREFIXED = range(1, 5)
READ, WRITE, DESCRIBE = 3, 4, 8
SALT: Final = b"0123456789abcdef"
Entity = Sequence[tuple[str, str | None]]


def acl(stage: Stage, name: str = "t", **more: Any) -> dict[str, Any]:
    """An entry: a user of this scenario may read a topic."""
    return {
        "resource_type": 2,
        "resource_name": name,
        "resource_pattern_type": LITERAL,
        "principal": f"User:{stage.name}",
        "host": "*",
        "operation": READ,
        "permission_type": 3,
        **more,
    }


def fitting(stage: Stage, name: str | None = None, **more: Any) -> dict[str, Any]:
    """A filter: by default all entries of this scenario's user."""
    return {
        "resource_type_filter": 1,
        "resource_name_filter": name,
        "pattern_type_filter": ANY,
        "principal_filter": f"User:{stage.name}",
        "host_filter": None,
        "operation": ANY,
        "permission_type": ANY,
        **more,
    }


def create(stage: Stage, *acls: dict[str, Any]) -> None:
    """Make entries."""
    stage.ask("a", "CreateAcls", creations=list(acls))


def describe(stage: Stage, asked: dict[str, Any]) -> None:
    """List entries."""
    stage.side.settle_metadata()
    stage.ask("a", "DescribeAcls", **asked)


def delete(stage: Stage, *filters: dict[str, Any]) -> None:
    """Delete entries."""
    stage.ask("a", "DeleteAcls", filters=list(filters))


def acls_made(stage: Stage) -> None:
    """Entries that can be, that are there, and that cannot be; listed and deleted."""
    describe(stage, fitting(stage))
    create(stage, acl(stage), acl(stage))
    create(stage, acl(stage))
    describe(stage, fitting(stage))
    for more in (
        {"resource_type": 4, "resource_name": "kafka-cluster", "operation": DESCRIBE},
        {"resource_type": 4},
        {"resource_type": 3, "resource_name": "g"},
        {"resource_type": 5, "resource_name": "tx", "operation": WRITE},
        {"resource_type": 6, "resource_name": "tok", "operation": DESCRIBE},
        {"resource_type": 1},
        {"resource_type": 0},
        {"resource_type": 99},
        {"operation": 1},
        {"operation": 0},
        {"operation": 99},
        {"permission_type": 1},
        {"permission_type": 0},
        {"permission_type": 2},
        {"principal": "a"},
        {"principal": ""},
        {"host": ""},
        {"host": "not an address"},
        {"resource_name": ""},
        {"resource_name": "*", "operation": DESCRIBE},
    ):
        create(stage, {**acl(stage), **more})
    for kind in (PREFIXED, MATCH, ANY, 0, 99):
        if stage.version("CreateAcls") >= 1:
            create(stage, acl(stage, resource_pattern_type=kind))
    create(stage, acl(stage, "good"), acl(stage, "bad", operation=1))
    create(stage, acl(stage, "good"), acl(stage, "bad", operation=99))
    create(stage)
    describe(stage, fitting(stage))
    delete(stage, fitting(stage))
    describe(stage, fitting(stage))


def acls_filtered(stage: Stage) -> None:
    """Filters by name, pattern, operation, host; those that fit nothing; deletions by them."""
    create(stage, acl(stage), acl(stage, "pre", resource_pattern_type=PREFIXED))
    create(stage, acl(stage, "*", operation=DESCRIBE), acl(stage, operation=WRITE))
    for more in (
        {"resource_name_filter": "prefix", "pattern_type_filter": MATCH},
        {"resource_name_filter": "prefix"},
        {"resource_name_filter": "pre"},
        {"resource_name_filter": "t", "pattern_type_filter": LITERAL},
        {"resource_name_filter": "t", "pattern_type_filter": MATCH},
        {"resource_name_filter": "pre", "pattern_type_filter": PREFIXED},
        {"resource_name_filter": ""},
        {"pattern_type_filter": LITERAL},
        {"resource_type_filter": 2},
        {"resource_type_filter": 3},
        {"resource_type_filter": 0},
        {"resource_type_filter": 99},
        {"operation": WRITE},
        {"operation": 0},
        {"permission_type": 2},
        {"permission_type": 3},
        {"permission_type": 0},
        {"host_filter": "*"},
        {"host_filter": "1.2.3.4"},
        {"principal_filter": "User:nobody"},
    ):
        describe(stage, {**fitting(stage), **more})
    delete(stage, fitting(stage, operation=0))
    delete(stage, fitting(stage, "prefix", pattern_type_filter=MATCH), fitting(stage, "nosuch"))
    delete(stage, fitting(stage, "t"), fitting(stage, "t"), fitting(stage))
    delete(stage, fitting(stage))
    delete(stage)
    describe(stage, fitting(stage))


def scram_credentials(stage: Stage) -> None:
    """Credentials of users, made, changed, described and deleted; and those that cannot be."""
    one, two, three = (f"{stage.name}-{each}" for each in ("one", "two", "three"))

    def alter(
        made: Sequence[tuple[str, int, int]] = (), gone: Sequence[tuple[str, int]] = ()
    ) -> None:
        upserted = [
            {
                "name": name,
                "mechanism": mechanism,
                "iterations": iterations,
                "salt": SALT,
                "salted_password": b"x" * 32,
            }
            for name, mechanism, iterations in made
        ]
        deleted = [{"name": name, "mechanism": mechanism} for name, mechanism in gone]
        stage.ask("a", "AlterUserScramCredentials", 0, upsertions=upserted, deletions=deleted)

    def look(*names: str) -> None:
        stage.side.settle_metadata()
        users = [{"name": each} for each in names] or None
        stage.ask("a", "DescribeUserScramCredentials", 0, users=users)

    look()
    alter([(one, 1, 4096)])
    alter([(one, 2, 8192), (two, 1, 4096)])
    look()
    look(one, three)
    look(one, one)
    look("")
    for mechanism, iterations in ((0, 4096), (9, 4096), (1, 4095), (1, 16384), (1, 16385)):
        alter([(one, mechanism, iterations)])
    alter([("", 1, 4096)])
    alter([(one, 1, 4096), (one, 1, 4096)])
    alter([(one, 1, 4096)], [(one, 1)])
    alter([(one, 1, 4096)], [(one, 2)])
    for gone in ((one, 9), (three, 1), (two, 2), ("", 1)):
        alter((), [gone])
    alter([(three, 1, 4096), (two, 9, 4096)])
    alter()
    alter((), [(one, 1), (one, 2)])
    alter((), [(one, 1)])
    look(one)
    alter((), [(one, 2), (two, 1), (three, 1)])
    look(one, two)
    look()


RATE: Final = "producer_byte_rate"


def client_quotas(stage: Stage) -> None:
    """Quotas of users, clients and addresses; filters; and those that cannot be."""
    name = stage.name

    def alter(
        *entries: tuple[Entity, Sequence[tuple[str, float | None]]], dry: bool = False
    ) -> None:
        rows = [
            {
                "entity": [{"entity_type": kind, "entity_name": each} for kind, each in entity],
                "ops": [
                    {"key": key, "value": value or 0.0, "remove": value is None}
                    for key, value in operations
                ],
            }
            for entity, operations in entries
        ]
        stage.ask("a", "AlterClientQuotas", entries=rows, validate_only=dry)

    def look(*components: tuple[str, int, str | None], strict: bool = False) -> None:
        stage.side.settle_metadata()
        rows = [
            {"entity_type": kind, "match_type": match, "match": value}
            for kind, match, value in components
        ]
        stage.ask("a", "DescribeClientQuotas", components=rows, strict=strict)

    user, client = ("user", name), ("client-id", "c")
    look()
    alter(([user], [(RATE, 1000.0)]))
    alter(([user, client], [("consumer_byte_rate", 2.0), ("request_percentage", 50.0)]))
    alter(([("user", None)], [(RATE, 3.0)]))
    alter(([("ip", "1.2.3.4")], [("connection_creation_rate", 4.0)]))
    alter(([client], [("controller_mutation_rate", 4.5)]))
    look()
    for strict in (False, True):
        look(("user", 0, name), strict=strict)
        look(("user", 1, None), strict=strict)
        look(("user", 2, None), strict=strict)
        look(("user", 2, None), ("client-id", 2, None), strict=strict)
    for wrong in (("nosuch", 0, "a"), ("user", 9, "a"), ("user", 0, None), ("user", 1, "x")):
        look(wrong)
    look(("", 0, "a"))
    look(("user", 0, "a"), ("user", 0, "b"))
    look(("user", 2, None), ("ip", 2, None))
    look(("ip", 2, None))
    one: Sequence[tuple[str, float | None]] = [(RATE, 1.0)]
    entities: list[Entity] = [
        [("nosuch", "a")],
        [],
        [user, ("ip", "1.1.1.1")],
        [("ip", "x y")],
        [("user", "")],
    ]
    for entity in entities:
        alter((entity, one))
    for key, value in (("nosuch", 1.0), (RATE, -1.0), (RATE, 0.0), (RATE, 1.5)):
        alter(([user], [(key, value)]))
    alter(([user], [("connection_creation_rate", 7.0)]))
    alter(([user], one), ([user], [("consumer_byte_rate", 5.0)]))
    alter(([user], [(RATE, 77.0)]), dry=True)
    alter(([("user", "nobody")], [(RATE, None)]))
    alter(([user], []))
    alter()
    look()
    alter(([user], [(RATE, None)]), ([("user", None)], [(RATE, None)]))
    alter(([user, client], [("consumer_byte_rate", None), ("request_percentage", None)]))
    alter(([("ip", "1.2.3.4")], [("connection_creation_rate", None)]))
    alter(([client], [("controller_mutation_rate", None)]))
    look()


def tokens_in_the_plain(stage: Stage) -> None:
    """Delegation tokens on a connection without a user."""
    stage.ask("a", "DescribeDelegationToken", owners=None)
    alice = {"principal_type": "User", "principal_name": "alice"}
    stage.ask("a", "DescribeDelegationToken", owners=[alice])
    stage.ask("a", "DescribeDelegationToken", owners=[])
