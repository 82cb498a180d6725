"""Consumers that commit for queries' groups, without joining them.

Thread: made on the application's, used on the committer's.
Invariants: an invalid setting is refused when this is made, and not when a query runs.
"""

from collections.abc import Mapping
from typing import Final

from prokurist.config import ConsumerConfig
from prokurist.consumer.consumer import KafkaConsumer
from prokurist.errors import ConfigException
from prokurist.spark.watcher.progress import Query

OWN: Final[Mapping[str, str]] = {
    "group.id": "its argument `group` names the group of each query",
    "enable.auto.commit": "it commits what Spark's batches have done, and nothing else",
}
"""Keys that it sets itself."""


class GroupConsumers:
    """Makes the client of a query.

    Args:
        common: Keys for all.
        queries: More keys for some; None where all are watched.

    Raises:
        ConfigException: They cannot be used.
    """

    def __init__(
        self,
        common: Mapping[str, object],
        queries: Mapping[str, Mapping[str, object]] | None,
    ) -> None:
        self._common = common
        self._queries = queries
        # Their errors are raised now, and not when a query runs.
        for more in ({},) if queries is None else queries.values():
            self._keys("checked", "checked", more)

    def connect(self, query: Query, group: str) -> KafkaConsumer | None:
        """Build a client that commits for this group; None if the query is to be left alone."""
        more: Mapping[str, object] | None = {}
        if self._queries is not None:
            more = self._queries.get(query.name or "", self._queries.get(query.id))
        return None if more is None else KafkaConsumer(self._keys(query.label, group, more))

    def _keys(self, label: str, group: str, more: Mapping[str, object]) -> Mapping[str, object]:
        keys: dict[str, object] = {"client.id": f"prokurist-spark-{label}"}
        for given in (self._common, more):
            keys.update((key.replace("_", "."), value) for key, value in given.items())
        if taken := keys.keys() & OWN.keys():
            raise ConfigException(f"{min(taken)} is not for `watch`: {OWN[min(taken)]}")
        keys |= {"group.id": group, "enable.auto.commit": False}
        keys = {"allow.auto.create.topics": False} | keys
        ConsumerConfig(keys)
        return keys
