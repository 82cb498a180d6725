"""CreateTopics, DeleteTopics and CreatePartitions.

Thread: any; frozen values.
"""

from collections.abc import Iterator, Mapping
from dataclasses import field
from types import MappingProxyType
from typing import ClassVar, Final
from uuid import UUID

from prokurist.lazy_dataclasses import dataclass
from prokurist.network_thread.wire.admin.answers import (
    ItemAnswer,
    ItemsAnswer,
    answer_of,
    item_of,
)
from prokurist.network_thread.wire.admin.configs import entry_of
from prokurist.network_thread.wire.apis import (
    CREATE_PARTITIONS,
    CREATE_TOPICS,
    DELETE_TOPICS,
    Api,
)
from prokurist.network_thread.wire.failures import Malformed
from prokurist.network_thread.wire.request import Body, Limit
from prokurist.network_thread.wire.translation import known, milliseconds, or_minus_one
from prokurist.types.topics import (
    CreatedPartitions,
    CreatedTopic,
    DeletedTopic,
    NewPartitions,
    NewTopic,
)

NO_IDS: Final[Mapping[str, UUID]] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class CreateTopics:
    """Asks the controller to create topics.

    Nothing is ever left out.

    Attributes:
        topics: The topics by name.
        timeout: Seconds that the controller may take.
        validate_only: True to check the request, and create nothing.
    """

    api: ClassVar[Api] = CREATE_TOPICS

    topics: Mapping[str, NewTopic]
    timeout: float
    validate_only: bool = False

    def limits(self) -> Iterator[Limit]:
        """The fields in use that narrow the versions."""
        for topic in self.topics.values():
            numbers = topic.partitions, topic.replication_factor
            if not topic.replicas and None in numbers:
                yield Limit("creating a topic by the brokers' defaults", oldest=4)
                return

    def body(self) -> Body:
        """The fields of every version at once."""
        return {
            "topics": tuple(
                {
                    "name": name,
                    "num_partitions": or_minus_one(topic.partitions),
                    "replication_factor": or_minus_one(topic.replication_factor),
                    "assignments": tuple(
                        {"partition_index": partition, "broker_ids": tuple(brokers)}
                        for partition, brokers in sorted(topic.replicas.items())
                    ),
                    "configs": tuple(
                        {"name": key, "value": value} for key, value in topic.configs.items()
                    ),
                }
                for name, topic in self.topics.items()
            ),
            "timeout": milliseconds(self.timeout),
            "validate_only": self.validate_only,
        }

    def answer(self, body: Body) -> ItemsAnswer:
        """Read an answer of any version."""
        return answer_of(body, ((row["name"], self._item(row)) for row in body["topics"]))

    def _item(self, row: Body) -> ItemAnswer:
        configs = row.get("configs")
        entries = None if configs is None else tuple(map(entry_of, configs))
        return item_of(
            row,
            CreatedTopic(
                topic_id=row.get("topic_id"),
                partitions=known(row.get("num_partitions", -1)),
                replication_factor=known(row.get("replication_factor", -1)),
                configs=None if entries is None else {each.name: each for each in entries},
            ),
        )


@dataclass(frozen=True, slots=True)
class DeleteTopics:
    """Asks the controller to delete topics.

    The ids that were looked up for names are left out before version 6, where topics have none
    on the wire; ids that the user has given are not.

    Attributes:
        topics: The topics, by name or by id.
        timeout: Seconds that the controller may take.
        ids: The ids of topics that are named.
    """

    api: ClassVar[Api] = DELETE_TOPICS

    topics: tuple[str | UUID, ...]
    timeout: float
    ids: Mapping[str, UUID] = field(default_factory=dict)

    def limits(self) -> Iterator[Limit]:
        """The fields in use that narrow the versions."""
        if any(isinstance(each, UUID) for each in self.topics):
            yield Limit("deleting topics by their ids", oldest=6)

    def body(self) -> Body:
        """The fields of every version at once."""
        topics = []
        for each in self.topics:
            topic_id = each if isinstance(each, UUID) else self.ids.get(each)
            name = None if topic_id is not None else each
            topics.append({"name": name, "topic_id": topic_id})
        return {
            "topics": tuple(topics),
            "topic_names": tuple(each for each in self.topics if isinstance(each, str)),
            "timeout": milliseconds(self.timeout),
        }

    def answer(self, body: Body) -> ItemsAnswer:
        """Read an answer of any version."""
        names = {topic_id: name for name, topic_id in self.ids.items()}
        rows: list[tuple[str | UUID, ItemAnswer]] = []
        for row in body["responses"]:
            topic_id, name = row.get("topic_id"), row["name"]
            key = names.get(topic_id, topic_id) if topic_id in names else name
            if topic_id in self.topics:
                key = topic_id
            if key is None:
                raise Malformed(f"topic id {topic_id} was not asked for")
            rows.append((key, item_of(row, DeletedTopic(topic_id))))
        return answer_of(body, rows)


@dataclass(frozen=True, slots=True)
class CreatePartitions:
    """Asks the controller to add partitions to topics.

    Nothing is ever left out.

    Attributes:
        topics: The partitions of each topic, by name.
        timeout: Seconds that the controller may take.
        validate_only: True to check the request, and create nothing.
    """

    api: ClassVar[Api] = CREATE_PARTITIONS

    topics: Mapping[str, NewPartitions]
    timeout: float
    validate_only: bool = False

    def limits(self) -> Iterator[Limit]:
        """Yield no limits: every version will do."""
        yield from ()

    def body(self) -> Body:
        """The fields of every version at once."""
        return {
            "topics": tuple(
                {
                    "name": name,
                    "count": new.total,
                    "assignments": tuple(
                        {"broker_ids": tuple(brokers)}
                        for _, brokers in sorted(new.replicas.items())
                    )
                    or None,
                }
                for name, new in self.topics.items()
            ),
            "timeout": milliseconds(self.timeout),
            "validate_only": self.validate_only,
        }

    def answer(self, body: Body) -> ItemsAnswer:
        """Read an answer of any version."""
        rows = []
        for row in body["results"]:
            new = self.topics.get(row["name"])
            value = None if new is None else CreatedPartitions(new.total)
            rows.append((row["name"], item_of(row, value)))
        return answer_of(body, rows)
