"""A Kafka that asks its authorizer about everything, and rules for all clients of it."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import confluent_kafka.admin
import pytest

from prokurist.testing.kafka import KafkaUnavailable, RealKafka, is_required
from tests.broker.conftest import Asking

admin: Any = confluent_kafka.admin
"""Whose stubs know nothing of rules."""

Right = tuple[str, str, str]
"""Resource, name and operation."""


@contextmanager
def ruled_kafka() -> Iterator[RealKafka]:
    """One node of these tests' own; the tests are skipped where none can be had."""
    own = RealKafka(
        controls=True,
        properties={
            "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
            "allow.everyone.if.no.acl.found": True,
        },
    )
    try:
        own.start()
    except KafkaUnavailable as error:
        if is_required():
            raise
        pytest.skip(error.reason)
    try:
        yield own
    finally:
        own.close()


def rule(kafka: RealKafka, permission: str, *rights: Right) -> None:
    """Make rules for every client, who are all one principal here."""
    rules = [
        admin.AclBinding(
            admin.ResourceType[kind], name, admin.ResourcePatternType.LITERAL,
            "User:ANONYMOUS", "*", admin.AclOperation[operation],
            admin.AclPermissionType[permission],
        )
        for kind, name, operation in rights
    ]  # fmt: skip
    client = _ruling(kafka)  # It has to outlive its calls.
    for done in client.create_acls(rules).values():
        done.result(20)


def forget_rules(kafka: RealKafka, eventually: Asking) -> None:
    """Let any client do everything again; on return the node has heard so."""
    every = admin.AclBindingFilter(
        admin.ResourceType.ANY, None, admin.ResourcePatternType.ANY,
        None, None, admin.AclOperation.ANY, admin.AclPermissionType.ANY,
    )  # fmt: skip
    client = _ruling(kafka)
    for done in client.delete_acls([every]).values():
        done.result(20)
    eventually(lambda: not client.describe_acls(every).result(20))


def _ruling(kafka: RealKafka) -> Any:
    return admin.AdminClient({"bootstrap.servers": kafka.direct_bootstrap, "log_level": 0})
