"""What administrators ask about ACLs, users, quotas, tokens, transactions and offsets."""

import base64
from datetime import UTC, datetime

from prokurist.config import Secret
from prokurist.events.admin.access import SaltedPassword
from prokurist.events.admin.work import WHOLE
from prokurist.network_thread.wire.admin.acls import CreateAcls, DeleteAcls, DescribeAcls
from prokurist.network_thread.wire.admin.answers import ItemAnswer, ItemsAnswer
from prokurist.network_thread.wire.admin.groups import DeleteOffsets
from prokurist.network_thread.wire.admin.quotas import AlterQuotas, DescribeQuotas
from prokurist.network_thread.wire.admin.tokens import (
    CreateToken,
    DescribeTokens,
    ExpireToken,
    RenewToken,
)
from prokurist.network_thread.wire.admin.transactions import (
    DescribeProducers,
    DescribeTransactions,
    ListTransactions,
)
from prokurist.network_thread.wire.admin.users import AlterUsers, DescribeUsers
from prokurist.types import TopicPartition
from prokurist.types.access import (
    Acl,
    AclFilter,
    AclResource,
    AlteredUser,
    DelegationToken,
    DeletedAcls,
    DeletePassword,
    QuotaEntity,
    QuotaFilter,
    QuotaName,
    ScramMechanism,
)
from prokurist.types.operations import AclOperation
from prokurist.types.transactions import (
    ActiveProducer,
    TransactionDescription,
    TransactionListing,
)
from tests.unit.network_thread.wire.exchange import THROTTLED, Exchange, since

TP = TopicPartition("orders", 0)
FINE = {"error_code": 0, "error_message": None}
WRONG = {"error_code": 42, "error_message": "no"}
ACL = Acl(AclResource.TOPIC, "orders", "User:a", AclOperation.READ)
ENTRY = {"principal": "User:a", "host": "*", "operation": 3, "permission_type": 3}
RESOURCE = {"resource_type": 2, "resource_name": "orders", "pattern_type": 3}
FILTER = {
    "resource_type_filter": 2,
    "resource_name_filter": "orders",
    "pattern_type_filter": 1,
    "principal_filter": None,
    "host_filter": None,
    "operation": 1,
    "permission_type": 1,
}
ASKED = AclFilter(AclResource.TOPIC, "orders")
OTHER = AclFilter(principal="User:b")
ALICE, BOB = (
    {"principal_type": "User", "principal_name": "alice"},
    {"principal_type": "User", "principal_name": "bob"},
)
REQUESTER = {
    "token_requester_principal_type": "User",
    "token_requester_principal_name": "admin",
}
SECOND = datetime(1970, 1, 1, 0, 0, 1, tzinfo=UTC)
TOKEN_FIELDS = {
    **ALICE,
    **REQUESTER,
    "issue_timestamp": 1000,
    "expiry_timestamp": 1000,
    "max_timestamp": 1000,
    "token_id": "t",
    "hmac": b"code",
}


class Known(Secret):
    """A secret that is compared by its text."""

    __slots__ = ()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Secret) and self.reveal() == other.reveal()

    __hash__ = None  # type: ignore[assignment]  # nothing hashes it


def token(version: int) -> DelegationToken:
    """The same in our words."""
    requester = since(3, version, "User:admin")
    hmac = Known(base64.b64encode(b"code").decode())
    return DelegationToken(
        "t", hmac, "User:alice", requester, ("User:bob",), SECOND, SECOND, SECOND
    )


ENDS = {**THROTTLED, "error_code": 0, "expiry_timestamp": 1000}
ENDED = ItemsAnswer({WHOLE: ItemAnswer(value=SECOND)}, throttle=0.25)
ENTITY = QuotaEntity(user="alice", client_id=QuotaName.DEFAULT)
PARTS = (
    {"entity_type": "user", "entity_name": "alice"},
    {"entity_type": "client-id", "entity_name": None},
)
SALTED = SaltedPassword(ScramMechanism.SCRAM_SHA_256, 4096, b"salt", b"salted")

EXCHANGES = (
    Exchange(
        "describe_acls",
        range(1, 4),
        lambda _: DescribeAcls(ASKED),
        FILTER,
        {**THROTTLED, **FINE, "resources": ({**RESOURCE, "acls": (ENTRY,)},)},
        lambda _: ItemsAnswer({WHOLE: ItemAnswer(value=(ACL,))}, throttle=0.25),
    ),
    Exchange(
        "create_acls",
        range(1, 4),
        lambda _: CreateAcls((ACL,)),
        {
            "creations": (
                {
                    "resource_type": 2,
                    "resource_name": "orders",
                    "resource_pattern_type": 3,
                    **ENTRY,
                },
            )
        },
        {**THROTTLED, "results": (WRONG,)},
        lambda _: ItemsAnswer({ACL: ItemAnswer(42, "no")}, throttle=0.25),
    ),
    Exchange(
        "delete_acls",
        range(1, 4),
        lambda _: DeleteAcls((ASKED, OTHER)),
        {
            "filters": (
                FILTER,
                {
                    **FILTER,
                    "resource_type_filter": 1,
                    "resource_name_filter": None,
                    "principal_filter": "User:b",
                },
            )
        },
        {
            **THROTTLED,
            "filter_results": (
                {**FINE, "matching_acls": ({**FINE, **RESOURCE, **ENTRY},)},
                {**WRONG, "matching_acls": ()},
            ),
        },
        lambda _: ItemsAnswer(
            {
                ASKED: ItemAnswer(value=DeletedAcls((ACL,))),
                OTHER: ItemAnswer(42, "no"),
            },
            throttle=0.25,
        ),
    ),
    Exchange(
        "describe_user_scram_credentials",
        range(1),
        lambda _: DescribeUsers(("alice", "bob")),
        {"users": ({"name": "alice"}, {"name": "bob"})},
        {
            **THROTTLED,
            **FINE,
            "results": (
                {
                    **FINE,
                    "user": "alice",
                    "credential_infos": ({"mechanism": 1, "iterations": 4096},),
                },
                {**WRONG, "user": "bob", "credential_infos": ()},
            ),
        },
        lambda _: ItemsAnswer(
            {
                "alice": ItemAnswer(value={ScramMechanism.SCRAM_SHA_256: 4096}),
                "bob": ItemAnswer(42, "no"),
            },
            throttle=0.25,
        ),
    ),
    Exchange(
        "alter_user_scram_credentials",
        range(1),
        lambda _: AlterUsers(
            {"alice": SALTED, "bob": DeletePassword(ScramMechanism.SCRAM_SHA_512)}
        ),
        {
            "deletions": ({"name": "bob", "mechanism": 2},),
            "upsertions": (
                {
                    "name": "alice",
                    "mechanism": 1,
                    "iterations": 4096,
                    "salt": b"salt",
                    "salted_password": b"salted",
                },
            ),
        },
        {**THROTTLED, "results": ({**FINE, "user": "alice"}, {**WRONG, "user": "bob"})},
        lambda _: ItemsAnswer(
            {"alice": ItemAnswer(value=AlteredUser()), "bob": ItemAnswer(42, "no")},
            throttle=0.25,
        ),
    ),
    Exchange(
        "describe_client_quotas",
        range(2),
        lambda _: DescribeQuotas(
            QuotaFilter("alice", QuotaName.DEFAULT, QuotaName.ANY, strict=True)
        ),
        {
            "components": (
                {"entity_type": "user", "match_type": 0, "match": "alice"},
                {"entity_type": "client-id", "match_type": 1, "match": None},
                {"entity_type": "ip", "match_type": 2, "match": None},
            ),
            "strict": True,
        },
        {
            **THROTTLED,
            **FINE,
            "entries": ({"entity": PARTS, "values": ({"key": "rate", "value": 2.0},)},),
        },
        lambda _: ItemsAnswer(
            {WHOLE: ItemAnswer(value={ENTITY: {"rate": 2.0}})}, throttle=0.25
        ),
    ),
    Exchange(
        "alter_client_quotas",
        range(2),
        lambda _: AlterQuotas({ENTITY: {"rate": 1.5, "other": None}}, True),
        {
            "entries": (
                {
                    "entity": PARTS,
                    "ops": (
                        {"key": "rate", "value": 1.5, "remove": False},
                        {"key": "other", "value": 0.0, "remove": True},
                    ),
                },
            ),
            "validate_only": True,
        },
        {**THROTTLED, "entries": ({**WRONG, "entity": PARTS},)},
        lambda _: ItemsAnswer({ENTITY: ItemAnswer(42, "no")}, throttle=0.25),
    ),
    Exchange(
        "create_delegation_token",
        range(1, 4),
        lambda v: CreateToken(since(3, v, "User:alice"), ("User:bob",), -1),
        {
            "owner_principal_type": "User",
            "owner_principal_name": "alice",
            "renewers": (BOB,),
            "max_lifetime": -1,
        },
        {**THROTTLED, "error_code": 0, **TOKEN_FIELDS},
        lambda v: ItemsAnswer({WHOLE: ItemAnswer(value=token(v))}, throttle=0.25),
    ),
    Exchange(
        "renew_delegation_token",
        range(1, 3),
        lambda _: RenewToken(b"code", 60_000),
        {"hmac": b"code", "renew_period": 60_000},
        ENDS,
        lambda _: ENDED,
    ),
    Exchange(
        "expire_delegation_token",
        range(1, 3),
        lambda _: ExpireToken(b"code", -1),
        {"hmac": b"code", "expiry_time_period": -1},
        ENDS,
        lambda _: ENDED,
    ),
    Exchange(
        "describe_delegation_token",
        range(1, 4),
        lambda _: DescribeTokens(("User:alice",)),
        {"owners": (ALICE,)},
        {**THROTTLED, "error_code": 0, "tokens": ({**TOKEN_FIELDS, "renewers": (BOB,)},)},
        lambda v: ItemsAnswer({WHOLE: ItemAnswer(value=(token(v),))}, throttle=0.25),
    ),
    Exchange(
        "offset_delete",
        range(1),
        lambda _: DeleteOffsets("g", (TP,)),
        {
            "group_id": "g",
            "topics": ({"name": "orders", "partitions": ({"partition_index": 0},)},),
        },
        {
            **THROTTLED,
            "error_code": 0,
            "topics": (
                {"name": "orders", "partitions": ({"partition_index": 0, "error_code": 86},)},
            ),
        },
        lambda _: ItemsAnswer({TP: ItemAnswer(86)}, throttle=0.25),
    ),
    Exchange(
        "list_transactions",
        range(3),
        lambda v: ListTransactions(3, ("Ongoing",), (7,), since(1, v, 1000), "a.*"),
        {
            "state_filters": ("Ongoing",),
            "producer_id_filters": (7,),
            "duration_filter": 1000,
            "transactional_id_pattern": "a.*",
        },
        {
            **THROTTLED,
            "error_code": 0,
            "unknown_state_filters": (),
            "transaction_states": (
                {
                    "transactional_id": "a",
                    "producer_id": 7,
                    "transaction_state": "Ongoing",
                },
            ),
        },
        lambda _: ItemsAnswer(
            {3: ItemAnswer(value=(TransactionListing("a", 7, "Ongoing", 3),))}, throttle=0.25
        ),
    ),
    Exchange(
        "describe_transactions",
        range(1),
        lambda _: DescribeTransactions(("a",)),
        {"transactional_ids": ("a",)},
        {
            **THROTTLED,
            "transaction_states": (
                {
                    "error_code": 0,
                    "transactional_id": "a",
                    "transaction_state": "Ongoing",
                    "transaction_timeout": 60_000,
                    "transaction_start_time": 1000,
                    "producer_id": 7,
                    "producer_epoch": 2,
                    "topics": ({"topic": "orders", "partitions": (0,)},),
                },
            ),
        },
        lambda _: ItemsAnswer(
            {
                "a": ItemAnswer(
                    value=TransactionDescription(
                        "a", "Ongoing", 7, 2, 60.0, SECOND, frozenset({TP})
                    )
                )
            },
            throttle=0.25,
        ),
    ),
    Exchange(
        "describe_producers",
        range(1),
        lambda _: DescribeProducers((TP,)),
        {"topics": ({"name": "orders", "partition_indexes": (0,)},)},
        {
            **THROTTLED,
            "topics": (
                {
                    "name": "orders",
                    "partitions": (
                        {
                            **FINE,
                            "partition_index": 0,
                            "active_producers": (
                                {
                                    "producer_id": 7,
                                    "producer_epoch": 2,
                                    "last_sequence": 4,
                                    "last_timestamp": 1000,
                                    "coordinator_epoch": -1,
                                    "current_txn_start_offset": -1,
                                },
                            ),
                        },
                    ),
                },
            ),
        },
        lambda _: ItemsAnswer(
            {TP: ItemAnswer(value=(ActiveProducer(7, 2, 4, SECOND, None, None),))},
            throttle=0.25,
        ),
    ),
)
