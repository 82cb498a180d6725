"""Topics and their partitions, as kafka-python administers them."""

from collections.abc import Iterable, Mapping
from typing import Any, Final
from uuid import UUID

from prokurist.admin import CreatedTopic, TopicDescription
from prokurist.admin import NewPartitions as OurPartitions
from prokurist.admin import NewTopic as OurTopic
from prokurist.compat.kafka.admin.base import (
    AdminBase,
    code_of,
    names_of,
    raise_first,
    text_of,
)
from prokurist.compat.kafka.admin.configs import entry_of
from prokurist.compat.kafka.admin.values import Answer, NewPartitions, NewTopic
from prokurist.compat.kafka.errors import KafkaTimeoutError, for_code
from prokurist.errors import KafkaException
from prokurist.types import PartitionInfo

_SHORT: Final = 0.1
"""Seconds between two looks at topics that are not ready."""


class TopicCalls(AdminBase):
    """Calls of a KafkaAdminClient about topics."""

    def list_topics(self) -> list[str]:
        """The names of all topics that this user may describe."""
        with self._converted():
            return list(self._admin.list_topics(internal=True, timeout=self._wait))

    def describe_topics(
        self, topics: Iterable[str | UUID] | None = None
    ) -> list[dict[str, Any]]:
        """Describe topics and their partitions; one that does not exist has an `error_code`.

        Args:
            topics: Names and ids; None for all.

        Raises:
            KafkaError: They cannot be looked up.
        """
        until = self._until()
        with self._converted():
            if topics is None:
                topics = list(self._admin.list_topics(internal=True, timeout=self._left(until)))
            found = self._admin.describe_topics(
                topics, operations=True, timeout=self._left(until)
            )
            return [
                _described(item, found.succeeded.get(item), found.errors.get(item))
                for item in found
            ]

    def create_topics(
        self,
        new_topics: Mapping[str, Mapping[str, Any]] | Iterable[str] | Iterable[NewTopic],
        timeout_ms: float | None = None,
        validate_only: bool = False,
        raise_errors: bool = True,
        wait_for_metadata: bool = False,
    ) -> dict[str, Any]:
        """Create topics.

        Args:
            new_topics: Names; or a dict of names to `num_partitions`, `replication_factor`,
                `assignments` and `configs`; or NewTopic objects.
            timeout_ms: Milliseconds.
            validate_only: True to check the request, and create nothing.
            raise_errors: False to have errors in the answer.
            wait_for_metadata: True to wait until all live brokers know them, with leaders.

        Raises:
            KafkaError: A topic was not created.
            ValueError: There are no topics, or a topic contradicts itself.
        """
        if validate_only and wait_for_metadata:
            raise ValueError("validate_only creates no topic to wait for")
        items = _topics_of(new_topics)
        with self._converted():
            found = self._admin.create_topics(
                items,
                validate_only=validate_only,
                wait=wait_for_metadata,
                timeout=self._left(self._until(timeout_ms)),
            )
            if raise_errors:
                raise_first(found)
            topics = [
                _created(name, found.succeeded.get(name), found.errors.get(name))
                for name in found
            ]
        if wait_for_metadata and not all(each.visible for each in found.succeeded.values()):
            raise KafkaTimeoutError(f"not all live brokers know the topics yet: {list(items)}")
        return {"topics": topics}

    def wait_for_topics(self, topic_names: Iterable[str], timeout_ms: float = 10_000) -> None:
        """Wait until topics can be used: each partition has a leader.

        Args:
            topic_names: The topics.
            timeout_ms: Milliseconds.

        Raises:
            KafkaTimeoutError: A topic is not ready by then.
        """
        names, until = list(topic_names), self._until(timeout_ms)
        while names:
            with self._converted():
                found = self._admin.describe_topics(names, timeout=self._left(until))
                missing = {
                    str(name): for_code(code_of(error)).__name__
                    for name, error in found.errors.items()
                }
            missing.update(
                (str(name), f"no leader of {', '.join(map(str, each.leaderless))}")
                for name, each in found.succeeded.items()
                if each.leaderless
            )
            if not missing:
                return
            if (left := self._left(until)) <= _SHORT:
                raise KafkaTimeoutError(
                    f"topics are not ready after {timeout_ms} ms: {missing}"
                )
            self._clock.sleep(min(_SHORT, left))

    def delete_topics(
        self,
        topics: Iterable[str | UUID],
        timeout_ms: float | None = None,
        raise_errors: bool = True,
    ) -> dict[str, Any]:
        """Delete topics.

        Args:
            topics: Names and ids.
            timeout_ms: Milliseconds.
            raise_errors: False to have errors in the answer.

        Raises:
            KafkaError: A topic was not deleted.
        """
        with self._converted():
            found = self._admin.delete_topics(
                topics, timeout=self._left(self._until(timeout_ms))
            )
            if raise_errors:
                raise_first(found)
            deleted = []
            for item in found:
                done, error = found.succeeded.get(item), found.errors.get(item)
                topic_id = None if done is None else done.topic_id
                deleted.append(
                    {
                        "name": None if isinstance(item, UUID) else item,
                        "topic_id": _text(item if isinstance(item, UUID) else topic_id),
                        "error_code": code_of(error),
                        "error_message": text_of(error),
                    }
                )
        return {"topics": deleted}

    def create_partitions(
        self,
        topic_partitions: Mapping[str, int | Mapping[str, Any] | NewPartitions],
        timeout_ms: float | None = None,
        validate_only: bool = False,
        raise_errors: bool = True,
    ) -> Answer:
        """Add partitions to topics.

        Args:
            topic_partitions: The number that each topic is to have; or a dict of `count` and
                `assignments`, or NewPartitions.
            timeout_ms: Milliseconds.
            validate_only: True to check the request, and create nothing.
            raise_errors: False to have errors in the answer.

        Raises:
            KafkaError: A topic was not given its partitions.
        """
        items = {name: _partitions_of(each) for name, each in topic_partitions.items()}
        with self._converted():
            found = self._admin.create_partitions(
                items,
                validate_only=validate_only,
                timeout=self._left(self._until(timeout_ms)),
            )
            if raise_errors:
                raise_first(found)
            rows = [
                Answer(
                    name=name,
                    error_code=code_of(found.errors.get(name)),
                    error_message=text_of(found.errors.get(name)),
                )
                for name in found
            ]
        return Answer(throttle_time_ms=0, results=rows)


# --- within ----------------------------------------------------------------------------------


def _topics_of(new_topics: Any) -> dict[str, OurTopic]:
    if isinstance(new_topics, Mapping):
        given = [
            NewTopic(
                name,
                each.get("num_partitions", -1),
                each.get("replication_factor", -1),
                each.get("assignments"),
                each.get("configs"),
            )
            for name, each in new_topics.items()
        ]
    else:
        given = [NewTopic(each) if isinstance(each, str) else each for each in new_topics]
    if not given or not all(isinstance(each, NewTopic) for each in given):
        raise ValueError(
            "topics are names, a dict of names to options, or NewTopic objects, and one at "
            f"least, not {new_topics!r}"
        )
    return {each.name: _topic_of(each) for each in given}


def _topic_of(new: NewTopic) -> OurTopic:
    configs = {
        key: None if value is None else str(value) for key, value in new.topic_configs.items()
    }
    if new.replica_assignments:
        return OurTopic(configs=configs, replicas=new.replica_assignments)
    return OurTopic(
        None if new.num_partitions == -1 else new.num_partitions,
        None if new.replication_factor == -1 else new.replication_factor,
        configs,
    )


def _partitions_of(given: Any) -> OurPartitions:
    if isinstance(given, int):
        return OurPartitions(given)
    if isinstance(given, Mapping):
        total, brokers = given["count"], given.get("assignments")
    else:
        total, brokers = given.total_count, given.new_assignments
    brokers = brokers or []
    return OurPartitions(total, dict(enumerate(brokers, total - len(brokers))))


def _created(
    name: str, done: CreatedTopic | None, error: KafkaException | None
) -> dict[str, Any]:
    found: dict[str, Any] = {
        "name": name,
        "topic_id": None if done is None else _text(done.topic_id),
        "error_code": code_of(error),
        "error_message": text_of(error),
        "topic_config_error_code": 0,
        "num_partitions": _or_unknown(None if done is None else done.partitions),
        "replication_factor": _or_unknown(None if done is None else done.replication_factor),
    }
    if done is not None and done.configs:
        found["configs"] = {key: entry_of(each) for key, each in done.configs.items()}
    return found


def _described(
    item: str | UUID, found: TopicDescription | None, error: KafkaException | None
) -> dict[str, Any]:
    if found is None:
        by_id = isinstance(item, UUID)
        return {
            "error_code": code_of(error),
            "name": None if by_id else item,
            "topic_id": _text(item if isinstance(item, UUID) else None),
            "is_internal": False,
            "partitions": [],
            "authorized_operations": [],
        }
    return {
        "error_code": 0,
        "name": found.name,
        "topic_id": _text(found.topic_id),
        "is_internal": found.internal,
        "partitions": [partition_of(each) for each in found.partitions],
        "authorized_operations": names_of(found.operations),
    }


def partition_of(info: PartitionInfo) -> dict[str, Any]:
    """A partition, with its brokers by id."""
    return {
        "error_code": 0,
        "partition_index": info.partition,
        "leader_id": -1 if info.leader is None else info.leader.id,
        "leader_epoch": _or_unknown(info.leader_epoch),
        "replica_nodes": [node.id for node in info.replicas],
        "isr_nodes": [node.id for node in info.in_sync_replicas],
        "offline_replicas": [node.id for node in info.offline_replicas],
    }


def _or_unknown(number: int | None) -> int:
    return -1 if number is None else number


def _text(topic_id: UUID | None) -> str | None:
    return None if topic_id is None else str(topic_id)
