"""kafka-python's administrator over ours: names renamed, results as dicts.

Thread: any.
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, ClassVar, Final, Self

from prokurist.admin import KafkaAdmin
from prokurist.compat.kafka.admin.access import AccessCalls
from prokurist.compat.kafka.admin.cluster import ClusterCalls
from prokurist.compat.kafka.admin.configs import ConfigCalls
from prokurist.compat.kafka.admin.groups import GroupCalls
from prokurist.compat.kafka.admin.partitions import PartitionCalls
from prokurist.compat.kafka.admin.topics import TopicCalls
from prokurist.compat.kafka.settings import admin_settings
from prokurist.errors.local_variables import without_locals
from prokurist.events.clock import CallersClock, MonotonicClock

_TRANSACTIONS: Final = "prokurist.KafkaAdmin lists, describes and aborts transactions"
_VERSIONS: Final = "versions are negotiated with each broker: `prokurist doctor` tells them"


class KafkaAdminClient(
    TopicCalls, ConfigCalls, PartitionCalls, ClusterCalls, GroupCalls, AccessCalls
):
    """An administrator with the calls of kafka-python's.

    A call without `timeout_ms` ends by `request_timeout_ms`, or by `default_api_timeout_ms`
    where that is given. The constructor waits for no broker.

    Args:
        configs: Keys of kafka-python, or ours.

    Raises:
        KafkaConfigurationError: The configuration cannot be used.
    """

    _left_out: ClassVar[Mapping[str, str]] = MappingProxyType(
        {
            **dict.fromkeys(("abort_transaction", "describe_producers"), _TRANSACTIONS),
            **dict.fromkeys(("describe_transactions", "list_transactions"), _TRANSACTIONS),
            "find_hanging_transactions": _TRANSACTIONS,
            "api_versions": _VERSIONS,
            "config": "prokurist.config.AdminConfig reads a configuration",
            "describe_topic_partitions": "iter_topic_partitions of prokurist.KafkaAdmin",
            "delete_consumer_groups": "of kafka-python 2: delete_groups",
            "describe_consumer_groups": "of kafka-python 2: describe_groups",
            "list_consumer_group_offsets": "of kafka-python 2: list_group_offsets",
            "list_consumer_groups": "of kafka-python 2: list_groups",
            "get_broker_version_data": _VERSIONS,
        }
    )

    @without_locals
    def __init__(self, **configs: Any) -> None:
        rest, found = admin_settings(configs)
        self._wire(KafkaAdmin(rest), found.default_api_timeout_ms / 1000, MonotonicClock())

    @classmethod
    def over(cls, client: KafkaAdmin, wait: float, clock: CallersClock) -> Self:
        """The face of a client that is there already."""
        self = cls.__new__(cls)
        self._wire(client, wait, clock)
        return self

    def _wire(self, client: KafkaAdmin, wait: float, clock: CallersClock) -> None:
        self._admin = client
        self._wait = wait
        self._clock = clock

    def close(self) -> None:
        """Close the client; a second time does nothing."""
        with self._converted():
            self._admin.close()

    def __repr__(self) -> str:
        return f"KafkaAdminClient({self.__dict__.get('_admin')!r})"
