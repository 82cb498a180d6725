"""TxnOffsetCommit: offsets of a group that count once a producer's transaction is committed.

From version 5 on the request adds the group to the transaction, before the group judges it.
Without a member id and a generation nothing about the group's members is judged.
"""

from typing import Any, Final

from kio.schema.errors import ErrorCode

from prokurist.testing.cluster.answers import Context
from prokurist.testing.cluster.classic_group import ClassicGroup
from prokurist.testing.cluster.handlers import field
from prokurist.testing.cluster.handlers.offset_commit import (
    position,
    refused,
    refused_first,
)
from prokurist.testing.cluster.handlers.verification import Question
from prokurist.testing.cluster.server_assignors import Part
from prokurist.testing.cluster.state import State
from prokurist.testing.cluster.transactions import (
    NONE,
    OffsetsPartition,
    ProducerNumbers,
)
from prokurist.testing.cluster.wire import Values
from prokurist.types import TopicPartition

LOADING_FROM: Final = 2
"""First version with clients that know COORDINATOR_LOAD_IN_PROGRESS."""
ABORTABLE_FROM: Final = 4
"""First version with clients that know TRANSACTION_ABORTABLE."""
ADDS_FROM: Final = 5
"""First version that adds the group to the transaction by itself (KIP-890)."""


def handle(state: State, request: Any, context: Context) -> Values:
    """Keep the accepted offsets aside, and answer for each partition."""
    whole = refusal_of_all(state, request, context)
    codes: dict[TopicPartition, int] = {}
    welcome: list[tuple[TopicPartition, Any]] = []
    for asked in request.topics:
        for each in asked.partitions:
            tp = TopicPartition(asked.name, each.partition_index)
            codes[tp] = whole or partition_refusal(state, tp, context)
            if not codes[tp]:
                welcome.append((tp, each))
    if welcome:
        codes |= keep(state, request, context, welcome)
    topics = [
        {
            "name": asked.name,
            "partitions": refused_first(
                {
                    "partition_index": each.partition_index,
                    "error_code": codes[TopicPartition(asked.name, each.partition_index)],
                }
                for each in asked.partitions
            ),
        }
        for asked in request.topics
    ]
    return {"topics": sorted(topics, key=lambda each: not refused(each["partitions"]))}


def refusal_of_all(state: State, request: Any, context: Context) -> int:
    """Return the error code of a request that is refused before its topics are looked at."""
    code = context.refusals.whole()
    if code:
        return code
    if request.transactional_id in state.denied_transactions:
        return ErrorCode.transactional_id_authorization_failed
    if request.group_id in state.denied_groups:
        return ErrorCode.group_authorization_failed
    return ErrorCode.none


def partition_refusal(state: State, tp: TopicPartition, context: Context) -> int:
    """Return the error code for a partition by itself, which is checked before the group."""
    code = context.refusals.part(tp.topic, tp.partition)
    if code:
        return code
    if tp.topic in state.denied_topics:
        return ErrorCode.topic_authorization_failed
    topic = state.topics.get(tp.topic)
    if topic is None or topic.partition(tp.partition) is None:
        return ErrorCode.unknown_topic_or_partition
    return ErrorCode.none


def keep(
    state: State, request: Any, context: Context, welcome: list[tuple[TopicPartition, Any]]
) -> dict[TopicPartition, int]:
    """Keep offsets aside until the transaction ends; return the code of each partition."""
    code = (
        coordinators_word(state, request, context)
        or state.group_refusal(request.group_id, context.node, context.now)
        or members_word(state, request, context, [tp for tp, _ in welcome])
    )
    if code == ErrorCode.coordinator_load_in_progress and context.version < LOADING_FROM:
        code = ErrorCode.coordinator_not_available
    if code:
        return dict.fromkeys((tp for tp, _ in welcome), code)
    kept = {tp: position(state, each, context) for tp, each in welcome}
    accepted = {tp: each for tp, each in kept.items() if each is not None}
    if accepted:
        group, producer_id = state.group(request.group_id), request.producer_id
        group.pending.setdefault(producer_id, {}).update(accepted)
        offsets_of(state, request).write(producer_id, request.producer_epoch, context.now)
        state.changed(context.now)
    return {
        tp: ErrorCode.offset_metadata_too_large if each is None else ErrorCode.none
        for tp, each in kept.items()
    }


def coordinators_word(state: State, request: Any, context: Context) -> int:
    """Return the error code of the coordinators, of the group and then of the transaction."""
    if not request.group_id:
        return ErrorCode.invalid_group_id
    if state.coordinator(request.group_id) != context.node:
        return ErrorCode.not_coordinator
    numbers = ProducerNumbers(request.producer_id, request.producer_epoch)
    offsets = offsets_of(state, request)
    known = offsets.producers.epoch_of(numbers.producer_id)
    if known is not None and numbers.epoch < known:
        return ErrorCode.invalid_producer_epoch
    if offsets.in_transaction(*numbers):
        return ErrorCode.none
    tp = state.offsets_partition_of(request.group_id)
    question = Question(
        request.transactional_id,
        numbers,
        [tp],
        adds=context.version >= ADDS_FROM,
        names_abortable=context.version >= ABORTABLE_FROM,
    )
    code = question.answers(state, context.now)[tp]
    if code == ErrorCode.network_exception:
        return ErrorCode.coordinator_load_in_progress
    return code


def members_word(
    state: State, request: Any, context: Context, partitions: list[TopicPartition]
) -> int:
    """Return the error code with which the group refuses all offsets; `none` if it accepts."""
    group = state.group_now(request.group_id, context.now)
    member, instance = field(request, "member_id", ""), field(request, "group_instance_id")
    generation = field(request, "generation_id", NONE)
    if generation >= 0 and not group.known:
        return ErrorCode.illegal_generation
    group.made = True
    membership = group.membership
    if isinstance(membership, ClassicGroup):
        return membership.transactional_commit_refusal(member, instance, generation)
    parts = [Part(state.topics[tp.topic].id, tp.partition) for tp in partitions]
    return membership.transactional_commit_refusal(member, instance, generation, parts)


def offsets_of(state: State, request: Any) -> OffsetsPartition:
    """The partition of `__consumer_offsets` that holds the group."""
    index = state.offsets_partition_of(request.group_id).partition
    return state.transactions.offsets_partition(index)
