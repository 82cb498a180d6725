"""Operations on topics.

Thread: any; tables, and what they say of echoes.
"""

from collections.abc import Hashable, Iterable, Mapping, Sequence
from typing import Any, Final
from uuid import UUID

from prokurist.errors import (
    KafkaException,
    TopicExistsException,
    UnsupportedVersionException,
)
from prokurist.events.admin.topics import (
    PartitionsToCreate,
    TopicPageToDescribe,
    TopicsToCreate,
    TopicsToDelete,
    TopicsToDescribe,
    TopicsToList,
)
from prokurist.events.admin.work import WHOLE
from prokurist.network_thread.admin.job import AdminJob, AdminOperation, Again, Groups, Items
from prokurist.network_thread.admin.places import any_broker, controller
from prokurist.network_thread.admin.visibility import await_everywhere
from prokurist.network_thread.cluster.routes import AnyBroker
from prokurist.network_thread.error_actions import METADATA, Action, table
from prokurist.network_thread.operations.operation import Withdrawn
from prokurist.network_thread.wire.admin.answers import ItemAnswer, ItemsAnswer
from prokurist.network_thread.wire.admin.cluster import acl_operations
from prokurist.network_thread.wire.admin.configs import DescribeConfigs
from prokurist.network_thread.wire.admin.topic_pages import DescribeTopicPartitions, TopicPage
from prokurist.network_thread.wire.admin.topics import (
    CreatePartitions,
    CreateTopics,
    DeleteTopics,
)
from prokurist.network_thread.wire.metadata import Metadata, MetadataAnswer, TopicMetadata
from prokurist.types import Node, PartitionInfo
from prokurist.types.configs import ConfigResource
from prokurist.types.topics import (
    CreatedPartitions,
    CreatedTopic,
    DeletedTopic,
    NewTopic,
    TopicDescription,
    TopicListing,
)

_ELSEWHERE: Final = (Action.RETRY, "another broker is the controller")
_QUOTA: Final = (Action.RETRY, "the quota of changes is used up for now")
_POLICY: Final = (Action.FATAL, "a policy of the cluster refuses it")
_NO_RIGHTS: Final = (Action.FATAL, "no rights on the topic")
_NO_CLUSTER_RIGHTS: Final = (Action.FATAL, "no rights on the cluster")
_CROWDED: Final = (Action.RETRY, "the controller did not come to it in time")

CREATE_TOPICS: Final = table(
    "CreateTopics",
    {
        7: _CROWDED,
        17: (Action.FATAL, "not a legal name of a topic"),
        29: _NO_RIGHTS,
        31: _NO_CLUSTER_RIGHTS,
        36: (Action.ECHO, "there is a topic of this name"),
        37: (Action.FATAL, "no topic can have so many partitions"),
        38: (Action.FATAL, "fewer brokers than replicas"),
        39: (Action.FATAL, "the brokers named for the replicas cannot be"),
        40: (Action.FATAL, "a key or its value is refused"),
        41: _ELSEWHERE,
        42: (Action.FATAL, "the controller makes no sense of the request"),
        44: _POLICY,
        89: _QUOTA,
    },
)

DELETE_TOPICS: Final = table(
    "DeleteTopics",
    {
        3: (Action.ECHO, "there is no topic of this name"),
        7: _CROWDED,
        29: _NO_RIGHTS,
        31: _NO_CLUSTER_RIGHTS,
        41: _ELSEWHERE,
        73: (Action.FATAL, "delete.topic.enable is off"),
        89: _QUOTA,
        100: (Action.ECHO, "there is no topic of this id"),
    },
)

CREATE_PARTITIONS: Final = table(
    "CreatePartitions",
    {
        3: (Action.FATAL, "there is no topic of this name"),
        7: _CROWDED,
        29: _NO_RIGHTS,
        31: _NO_CLUSTER_RIGHTS,
        37: (Action.ECHO, "it has as many, or more"),
        39: (Action.FATAL, "the brokers named for the replicas cannot be"),
        41: _ELSEWHERE,
        44: _POLICY,
        60: (Action.FATAL, "its partitions are being moved"),
        89: _QUOTA,
    },
)

DESCRIBE_TOPICS: Final = table(
    "Metadata",
    {
        3: (Action.FATAL, "there is no topic of this name"),
        17: (Action.FATAL, "not a legal name of a topic"),
        29: _NO_RIGHTS,
        100: (Action.FATAL, "there is no topic of this id"),
        129: (Action.RETRY, "the broker is not of our cluster any more (KIP-1102)"),
    },
)


# --- questions -------------------------------------------------------------------------


def listings_of(job: AdminJob, answer: MetadataAnswer) -> ItemsAnswer:
    """Read the list of all topics."""
    topics = {
        each.name: TopicListing(each.name, each.topic_id, each.internal, len(each.partitions))
        for each in sorted(answer.topics, key=lambda topic: topic.name or "")
        if each.name is not None and (job.work.internal or not each.internal)
    }
    return ItemsAnswer(
        {WHOLE: ItemAnswer(value=topics)} if not answer.error else {}, answer.error
    )


async def names_and_ids(job: AdminJob, items: Sequence[Hashable]) -> Groups:
    """Ask any broker, for names and for ids in requests of their own."""
    names = [each for each in items if isinstance(each, str)]
    ids = [each for each in items if not isinstance(each, str)]
    return [*await any_broker(job, names), *await any_broker(job, ids)]


def metadata_of(items: Iterable[Hashable], *, operations: bool = False) -> Metadata:
    """Ask about topics, all by name or all by id."""
    names = tuple(each for each in items if isinstance(each, str))
    ids = tuple(each for each in items if isinstance(each, UUID))
    return Metadata(names if not ids else None, ids, with_operations=operations)


def descriptions_of(job: AdminJob, answer: MetadataAnswer) -> ItemsAnswer:
    """Read the descriptions of topics, by name and by id."""
    del job
    nodes = {each.id: each for each in answer.brokers}
    rows: dict[Hashable, ItemAnswer] = {}
    for each in answer.topics:
        # With unknown leaders the rest of the topic is there.
        fault = each.error if each.name is None or not each.partitions else 0
        row = ItemAnswer(fault) if fault else ItemAnswer(value=description(each, nodes))
        rows |= {each.name: row, each.topic_id: row}
    return ItemsAnswer(rows, answer.error)


def description(topic: TopicMetadata, nodes: dict[int, Node]) -> TopicDescription:
    """Describe a topic of a Metadata answer."""
    name = topic.name or ""

    def named(numbers: Sequence[int]) -> tuple[Node, ...]:
        # A broker that is down is in no list, and known by its id alone.
        return tuple(nodes.get(each, Node(each, "", 0)) for each in numbers)

    partitions = tuple(
        PartitionInfo(
            name,
            each.partition,
            None if each.leader_id is None else nodes.get(each.leader_id),
            named(each.replicas),
            named(each.in_sync_replicas),
            named(each.offline_replicas),
            each.leader_epoch,
            topic.topic_id,
        )
        for each in sorted(topic.partitions, key=lambda partition: partition.partition)
    )
    bits = None
    if topic.operations is not None:
        bits = sum(1 << each for each in topic.operations)
    return TopicDescription(
        name,
        topic.topic_id,
        topic.internal,
        partitions,
        None if bits is None else acl_operations(bits),
    )


def page_of(job: AdminJob, answer: TopicPage) -> ItemsAnswer:
    """Read a page of partitions, and the cursor of the next one."""
    nodes = dict(job.tools.metadata.cluster.nodes)
    # A topic that was deleted between two pages has nothing more to show.
    found = tuple(description(each, nodes) for each in answer.topics if each.partitions)
    return ItemsAnswer({WHOLE: ItemAnswer(value=(found, answer.cursor))})


# --- echoes ----------------------------------------------------------------------------


async def seen(job: AdminJob, name: str) -> TopicMetadata:
    """Look at a topic that is known to exist, once a broker knows it."""
    retries = job.tools.attempts.retries(job.call)
    while True:
        route = AnyBroker(job.tools.metadata.brokers)
        answer = await job.ask(route, Metadata((name,)), DESCRIBE_TOPICS)
        topic = answer.topics[0] if answer.topics else None
        if topic is not None and topic.partitions:
            return topic
        code = 0 if topic is None else topic.error
        if code and DESCRIBE_TOPICS.of(code) is Action.FATAL and code != 3:
            raise job.error(name, code, table=DESCRIBE_TOPICS)
        await retries.pause()


async def check_created(job: AdminJob, name: str, error: KafkaException) -> CreatedTopic:
    """Compare a topic that is there with the one that was asked for.

    Raises:
        KafkaException: It is another one.
    """
    wanted: NewTopic = job.work.items[name]
    if job.work.validate_only:
        raise error
    topic = await seen(job, name)
    count, copies = len(topic.partitions), len(topic.partitions[0].replicas)
    differences = []
    partitions = len(wanted.replicas) or wanted.partitions
    factor = len(wanted.replicas[0]) if wanted.replicas else wanted.replication_factor
    if partitions not in (None, count):
        differences.append(f"{count} partitions where {partitions} were asked for")
    if factor not in (None, copies):
        differences.append(f"{copies} replicas where {factor} were asked for")
    if wanted.configs and not differences:
        resource = ConfigResource.topic(name)
        request = DescribeConfigs({resource: tuple(wanted.configs)})
        answer = await job.ask(AnyBroker(job.tools.metadata.brokers), request, DESCRIBE_TOPICS)
        row = answer.items.get(resource)
        entries = {} if row is None or row.error else row.value
        for key, value in wanted.configs.items():
            entry = entries.get(key)
            if entry is not None and value is not None and entry.value != value:
                differences.append(f"{key}={entry.value} where {value} was asked for")
    if differences:
        job.call.disprove(name)
        raise TopicExistsException(
            f"{error}; it is not the one of this call, whose first attempt had no answer: it "
            f"has {' and '.join(differences)}"
        )
    return CreatedTopic(topic.topic_id, count, copies, earlier_attempt=True)


async def check_partitions(
    job: AdminJob, name: str, error: KafkaException
) -> CreatedPartitions:
    """Compare the partitions that there are with those that were asked for.

    Raises:
        KafkaException: There are more.
    """
    if job.work.validate_only:
        raise error
    wanted = job.work.items[name].total
    retries = job.tools.attempts.retries(job.call)
    while len((await seen(job, name)).partitions) < wanted:
        await retries.pause()
    count = len((await seen(job, name)).partitions)
    if count != wanted:
        raise error
    return CreatedPartitions(wanted, earlier_attempt=True)


async def look_up_ids(job: AdminJob) -> None:
    """Find the ids of topics that are to be deleted by name, and the names of ids.

    So a repetition cannot delete a topic of the same name that was made again meanwhile. A
    topic that the asked broker does not know is left to the controller.
    """
    job.notes["ids"] = ids = {}
    job.notes["names"] = names = {}
    for route, part in await names_and_ids(job, list(job.work.items)):
        try:
            answer = await job.ask(route, metadata_of(part), METADATA)
        except Withdrawn:
            raise
        except UnsupportedVersionException:
            continue  # It knows no ids, and will refuse to delete by one.
        except KafkaException as error:
            job.give_up(job.work.items, error)
            return
        for topic in answer.topics:
            if topic.name is not None and topic.topic_id is not None:
                ids[topic.name] = topic.topic_id
                names[topic.topic_id] = topic.name


def topics_to_delete(job: AdminJob, items: Items, seconds: float) -> DeleteTopics:
    """Delete topics by their ids, where these are known."""
    topics: Any = tuple(items)
    ids = {name: found for name, found in job.notes["ids"].items() if name in items}
    return DeleteTopics(topics, seconds, ids)


def deleted(job: AdminJob, topic: str | UUID) -> DeletedTopic:
    """The value of a topic that is gone, as an earlier attempt has left it."""
    topic_id = topic if isinstance(topic, UUID) else job.notes["ids"].get(topic)
    return DeletedTopic(topic_id, earlier_attempt=True)


# --- waiting ---------------------------------------------------------------------------


async def await_created(job: AdminJob) -> None:
    """Wait until all live brokers know the new topics, with leaders."""
    if not job.work.wait or job.work.validate_only:
        return
    values = job.call.values()

    def is_there(name: str, topic: TopicMetadata | None) -> bool:
        value = values[name]
        least = value.partitions if isinstance(value, CreatedTopic) else value.total
        return (
            topic is not None
            and len(topic.partitions) >= (least or 1)
            and all(each.leader_id is not None and not each.error for each in topic.partitions)
        )

    await await_everywhere(job, is_there)


async def await_deleted(job: AdminJob) -> None:
    """Wait until no live broker knows the topics."""
    if not job.work.wait:
        return
    # A topic that was made again under the name has another id.
    deleted_ids = frozenset(job.notes["ids"].values())

    def is_gone(name: str, topic: TopicMetadata | None) -> bool:
        del name
        return topic is None or topic.topic_id not in deleted_ids

    await await_everywhere(job, is_gone, job.notes["names"])


OPERATIONS: Final[Mapping[type[Any], AdminOperation]] = {
    TopicsToCreate: AdminOperation(
        table=CREATE_TOPICS,
        again=Again.ECHO,
        place=controller,
        message=lambda job, items, seconds: CreateTopics(
            items, seconds, job.work.validate_only
        ),
        check=check_created,
        finish=await_created,
    ),
    TopicsToDelete: AdminOperation(
        table=DELETE_TOPICS,
        again=Again.ECHO,
        place=controller,
        prepare=look_up_ids,
        message=topics_to_delete,
        echoed=deleted,
        finish=await_deleted,
    ),
    PartitionsToCreate: AdminOperation(
        table=CREATE_PARTITIONS,
        again=Again.ECHO,
        place=controller,
        message=lambda job, items, seconds: CreatePartitions(
            items, seconds, job.work.validate_only
        ),
        check=check_partitions,
        finish=await_created,
    ),
    TopicsToList: AdminOperation(
        table=METADATA,
        again=Again.QUESTION,
        place=any_broker,
        message=lambda _job, _items, _seconds: Metadata(None),
        rows=listings_of,
    ),
    TopicPageToDescribe: AdminOperation(
        table=DESCRIBE_TOPICS,
        again=Again.QUESTION,
        place=any_broker,
        message=lambda job, _items, _seconds: DescribeTopicPartitions(
            job.work.names, job.work.page, job.work.cursor
        ),
        rows=page_of,
    ),
    TopicsToDescribe: AdminOperation(
        table=DESCRIBE_TOPICS,
        again=Again.QUESTION,
        place=names_and_ids,
        message=lambda job, items, _seconds: metadata_of(items, operations=job.work.operations),
        rows=descriptions_of,
    ),
}
