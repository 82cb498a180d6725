"""aiokafka's admin client over ours.

Thread: the event loop's.
"""

import asyncio
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from types import MappingProxyType
from typing import Any, ClassVar

from prokurist.admin import ConfigResource as OurResource
from prokurist.admin import ConfigSource, Delete, ResourceKind, Set
from prokurist.admin import NewPartitions as OurPartitions
from prokurist.admin import NewTopic as OurTopic
from prokurist.aio import KafkaAdmin
from prokurist.compat.absent import Face
from prokurist.compat.aiokafka.admin.values import (
    AlteredConfigs,
    AlteredResource,
    ConfigResource,
    ConfigResourceType,
    ConfigValue,
    DescribedConfigs,
    DescribedResource,
    NewPartitions,
    NewTopic,
    RecordsToDelete,
    TopicError,
    TopicErrorCode,
    TopicErrorCodes,
    TopicErrors,
)
from prokurist.compat.aiokafka.bootstrapping import answered
from prokurist.compat.aiokafka.errors import as_theirs, for_code
from prokurist.compat.aiokafka.settings import TokensOfLoop, admin_settings
from prokurist.errors import KafkaException
from prokurist.errors.local_variables import without_locals
from prokurist.types import TopicPartition

_GROUPS = "`prokurist groups`, on the command line"
_KINDS = {
    ConfigResourceType.TOPIC: ResourceKind.TOPIC,
    ConfigResourceType.BROKER: ResourceKind.BROKER,
}
_SET = {ConfigSource.TOPIC, ConfigSource.BROKER}
"""Sources of the keys of a resource itself."""


class AIOKafkaAdminClient(Face):
    """An admin client with the calls of aiokafka's.

    Calls end by `timeout_ms`, or by `request_timeout_ms`. Answers have aiokafka's fields.

    Args:
        configs: Keys of aiokafka, or ours.

    Raises:
        KafkaConfigurationError: The configuration cannot be used.
    """

    _left_out: ClassVar[MappingProxyType[str, str]] = MappingProxyType(
        {
            "describe_consumer_groups": _GROUPS,
            "find_coordinator": _GROUPS,
            "list_consumer_group_offsets": "committed(…) of an AIOKafkaConsumer in the group",
            "list_consumer_groups": _GROUPS,
        }
    )

    @without_locals
    def __init__(self, **configs: Any) -> None:
        keys, found = admin_settings(configs)
        self._tokens = keys.get("sasl_oauth_token_provider")
        self._wait = found.request_timeout_ms / 1000
        self._admin = KafkaAdmin(keys)

    async def start(self) -> None:
        """Connect.

        Raises:
            KafkaConnectionError: No broker can be reached.
        """
        if isinstance(self._tokens, TokensOfLoop):
            self._tokens.loop = asyncio.get_running_loop()
        with converted():
            asked = self._admin.describe_cluster(timeout=self._wait)
            await answered(asked, self._admin._inner.reachability)

    async def close(self) -> None:
        """Close it."""
        await self._admin.close()

    # --- topics --------------------------------------------------------------------------

    async def create_topics(
        self,
        new_topics: list[NewTopic],
        timeout_ms: int | None = None,
        validate_only: bool = False,
    ) -> TopicErrors:
        """Create topics; the answer has an error code for each."""
        with converted():
            made = await self._admin.create_topics(
                {each.name: as_topic(each) for each in new_topics},
                validate_only=validate_only,
                timeout=self._seconds(timeout_ms),
            )
        return TopicErrors([TopicError(name, *told(made.errors, name)) for name in made])

    async def delete_topics(
        self, topics: list[str], timeout_ms: int | None = None
    ) -> TopicErrorCodes:
        """Delete topics; the answer has an error code for each."""
        with converted():
            gone = await self._admin.delete_topics(topics, timeout=self._seconds(timeout_ms))
        found = [TopicErrorCode(str(name), told(gone.errors, name)[0]) for name in gone]
        return TopicErrorCodes(found)

    async def list_topics(self) -> list[str]:
        """The names of all topics."""
        with converted():
            return list(await self._admin.list_topics(internal=True, timeout=self._wait))

    async def describe_topics(self, topics: list[str] | None = None) -> list[Any]:
        """Topics and their partitions, as dicts; of none, all topics."""
        names = await self.list_topics() if topics is None else topics
        with converted():
            found = await self._admin.describe_topics(names, timeout=self._wait)
        return [
            {
                "error_code": told(found.errors, name)[0],
                "topic": name,
                "is_internal": name in found.succeeded and found[name].internal,
                "partitions": [
                    {
                        "error_code": 0,
                        "partition": each.partition,
                        "leader": -1 if each.leader is None else each.leader.id,
                        "replicas": [node.id for node in each.replicas],
                        "isr": [node.id for node in each.in_sync_replicas],
                        "offline_replicas": [node.id for node in each.offline_replicas],
                    }
                    for each in (found[name].partitions if name in found.succeeded else ())
                ],
            }
            for name in names
        ]

    async def create_partitions(
        self,
        topic_partitions: dict[str, NewPartitions],
        timeout_ms: int | None = None,
        validate_only: bool = False,
    ) -> TopicErrors:
        """Add partitions.

        Raises:
            KafkaError: A topic could not be given them.
        """
        wanted = {
            name: OurPartitions(each.total_count, numbered(each))
            for name, each in topic_partitions.items()
        }
        with converted():
            made = await self._admin.create_partitions(
                wanted, validate_only=validate_only, timeout=self._seconds(timeout_ms)
            )
        for name, error in made.errors.items():
            code, text = error.error_code or -1, f"Could not create partitions for {name}"
            raise for_code(code)(f"{text}: {error}") from error
        return TopicErrors([TopicError(name, 0, None) for name in made])

    # --- the cluster ---------------------------------------------------------------------

    async def describe_cluster(self) -> dict[str, Any]:
        """The cluster and its brokers, as a dict."""
        with converted():
            found = await self._admin.describe_cluster(timeout=self._wait)
        return {
            "throttle_time_ms": 0,
            "brokers": [
                {"node_id": each.id, "host": each.host, "port": each.port, "rack": each.rack}
                for each in found.brokers
            ],
            "cluster_id": found.cluster_id,
            "controller_id": -1 if found.controller is None else found.controller.id,
        }

    # --- configurations ------------------------------------------------------------------

    async def describe_configs(
        self, config_resources: list[ConfigResource], include_synonyms: bool = False
    ) -> list[DescribedConfigs]:
        """Configurations: an answer for each broker, and one for all topics."""
        wanted = {
            our_resource(each): list(each.configs) if each.configs else None
            for each in config_resources
        }
        with converted():
            found = await self._admin.describe_configs(
                wanted, synonyms=include_synonyms, timeout=self._wait
            )
        answers = []
        for group in by_answer(config_resources):
            rows = []
            for each in group:
                ours = our_resource(each)
                entries = found[ours].values() if ours in found.succeeded else ()
                values = [
                    ConfigValue(
                        entry.name,
                        entry.value,
                        entry.read_only,
                        entry.source.value,
                        entry.sensitive,
                        [(s.name, s.value, s.source.value) for s in entry.synonyms],
                    )
                    for entry in entries
                ]
                code, text = told(found.errors, ours)
                rows.append(
                    DescribedResource(code, text or "", each.resource_type, each.name, values)
                )
            answers.append(DescribedConfigs(rows))
        return answers

    async def alter_configs(
        self, config_resources: list[ConfigResource]
    ) -> list[AlteredConfigs]:
        """Set the configurations of resources: keys that are not named go back to defaults."""
        named = {our_resource(each): dict(each.configs or {}) for each in config_resources}
        with converted():
            before = await self._admin.describe_configs(
                dict.fromkeys(named), timeout=self._wait
            )
            changes: dict[OurResource, dict[str, Any]] = {}
            for resource, keys in named.items():
                gone = {
                    entry.name: Delete()
                    for entry in before[resource].values()
                    if entry.source in _SET and entry.name not in keys
                }
                changes[resource] = {**gone, **{k: Set(str(v)) for k, v in keys.items()}}
            altered = await self._admin.alter_configs(changes, timeout=self._wait)
        return [
            AlteredConfigs(
                [
                    AlteredResource(
                        *told(altered.errors, our_resource(each)), each.resource_type, each.name
                    )
                    for each in group
                ]
            )
            for group in by_answer(config_resources)
        ]

    # --- records -------------------------------------------------------------------------

    async def delete_records(
        self,
        records_to_delete: dict[TopicPartition, RecordsToDelete],
        timeout_ms: int | None = None,
    ) -> dict[TopicPartition, int]:
        """Delete records; the first offset that is left of each partition.

        Raises:
            KafkaError: One could not be deleted.
        """
        before = {tp: each.before_offset for tp, each in records_to_delete.items()}
        with converted():
            found = await self._admin.delete_records(before, timeout=self._seconds(timeout_ms))
            return {tp: found[tp] for tp in before}

    def _seconds(self, timeout_ms: int | None) -> float:
        return timeout_ms / 1000 if timeout_ms else self._wait

    def __repr__(self) -> str:
        return f"AIOKafkaAdminClient({self.__dict__.get('_admin')!r})"


def as_topic(new: NewTopic) -> OurTopic:
    """A topic of ours."""
    numbers = (new.num_partitions, new.replication_factor)
    partitions, replicas = (None if each == -1 else each for each in numbers)
    return OurTopic(partitions, replicas, dict(new.topic_configs), new.replica_assignments)


def numbered(new: NewPartitions) -> dict[int, Sequence[int]]:
    """The brokers of new partitions, by their numbers."""
    given = new.new_assignments or ()
    return dict(enumerate(given, new.total_count - len(given)))


def our_resource(resource: ConfigResource) -> OurResource:
    """A resource of ours."""
    return OurResource(_KINDS[resource.resource_type], str(resource.name))


def by_answer(resources: Iterable[ConfigResource]) -> list[list[ConfigResource]]:
    """Resources by the answer that they come in: each broker its own, and then all topics."""
    brokers: dict[str, list[ConfigResource]] = {}
    topics = []
    for each in resources:
        if each.resource_type is ConfigResourceType.BROKER:
            brokers.setdefault(str(each.name), []).append(each)
        else:
            topics.append(each)
    return [*brokers.values(), *([topics] if topics else [])]


def told(errors: Mapping[Any, KafkaException], item: Any) -> tuple[int, str | None]:
    """The error code of an item, and its text.

    Raises:
        KafkaError: It has an error without a code: its time is over.
    """
    error = errors.get(item)
    if error is None:
        return 0, None
    if error.error_code is None or error.error_code < 0:
        raise as_theirs(error) from error
    return error.error_code, str(error)


@contextmanager
def converted() -> Iterator[None]:
    """Raise errors as aiokafka's.

    Raises:
        KafkaError: What the client below has raised.
    """
    try:
        yield
    except KafkaException as error:
        raise as_theirs(error) from error
