"""Configurations of topics, brokers, groups and client metrics: describe, alter.

Thread: any application thread.
"""

from collections.abc import Iterable, Mapping
from datetime import timedelta
from typing import Any, Final

from prokurist.admin.arguments import listed, mapping_of, named, require_kind
from prokurist.admin.calls import AdminCalls
from prokurist.admin.results import Results
from prokurist.config.secret import Secret
from prokurist.events.admin.configs import (
    ConfigResourcesToList,
    ConfigsToAlter,
    ConfigsToDescribe,
)
from prokurist.types.configs import (
    Append,
    ConfigChange,
    ConfigEntry,
    ConfigResource,
    Delete,
    ResourceKind,
    Set,
    Subtract,
)

CHANGES: Final = (Set, Delete, Append, Subtract)
SENSITIVE: Final = ("password", "secret", "sasl.jaas.config", "ssl.keystore.key", "credential")
"""Parts of keys whose values are kept out of logs and errors, however they are given."""


class Configs(AdminCalls):
    """Calls of `KafkaAdmin` about configurations."""

    def describe_configs(
        self,
        resources: Iterable[ConfigResource] | Mapping[ConfigResource, Iterable[str] | None],
        *,
        synonyms: bool = False,
        documentation: bool = False,
        timeout: float | timedelta | None = None,
    ) -> Results[ConfigResource, dict[str, ConfigEntry]]:
        """Describe configurations.

        A broker answers for itself: `ConfigResource.broker(2)` is asked of broker 2.

        Args:
            resources: The resources; or a mapping of them to the keys that are wanted.
            synonyms: True to ask for the origins of each value.
            documentation: True to ask for the documentation of each key.
            timeout: Seconds; None for `default.api.timeout.ms`.

        Returns:
            The keys of each resource. The values of sensitive ones are None.

        Raises:
            KafkaException: Nothing could be asked, as with wrong credentials.
        """
        example = '[ConfigResource.topic("orders")]'
        items: dict[ConfigResource, tuple[str, ...] | None] = {}
        for each in listed("resources", resources, example=example):
            require_kind("a resource", each, ConfigResource)
            keys = resources[each] if isinstance(resources, Mapping) else None
            if keys is not None:
                keys = tuple(named("keys", keys, example='["retention.ms"]'))
            items[each] = keys
        work = ConfigsToDescribe(items, synonyms, documentation)
        return self._results("describe_configs", work, timeout)

    def alter_configs(
        self,
        changes: Mapping[ConfigResource, Mapping[str, ConfigChange]],
        *,
        validate_only: bool = False,
        timeout: float | timedelta | None = None,
    ) -> Results[ConfigResource, None]:
        """Alter single keys of configurations; all other keys stay as they are.

        All changes of one resource are made, or none of them. The last writer wins: a
        repetition of a request without an answer sets the same values again.

        Args:
            changes: For each resource the changes by key: `Set`, `Delete`, `Append`,
                `Subtract`.
            validate_only: True to check the changes, and make none.
            timeout: Seconds; None for `default.api.timeout.ms`.

        Returns:
            The outcome of each resource; `check()` raises if any has failed.

        Raises:
            KafkaException: Nothing could be asked, as with wrong credentials.
        """
        example = '{ConfigResource.topic("orders"): {"retention.ms": Set("86400000")}}'
        items: dict[ConfigResource, dict[str, ConfigChange]] = {}
        for resource, keys in mapping_of("changes", changes, example=example).items():
            require_kind("a resource", resource, ConfigResource)
            items[resource] = {}
            for key, change in mapping_of(
                f"changes of {resource}", keys, example=example
            ).items():
                require_kind("a key", key, str)
                items[resource][key] = change_of(key, change)
        return self._results("alter_configs", ConfigsToAlter(items, validate_only), timeout)

    def list_config_resources(
        self,
        kinds: Iterable[ResourceKind] = (),
        *,
        timeout: float | timedelta | None = None,
    ) -> tuple[ConfigResource, ...]:
        """List resources that can be configured (Kafka 4.1 and newer; client metrics 3.7).

        Groups and client metrics are listed if they have a configuration of their own, topics
        and brokers as they are.

        Args:
            kinds: Their kinds; none for all.
            timeout: Seconds; None for `default.api.timeout.ms`.

        Raises:
            TimeoutException: The time is over.
            UnsupportedVersionException: The brokers cannot tell.
        """
        wanted = listed("kinds", kinds, example="[ResourceKind.GROUP]")
        for each in wanted:
            require_kind("a kind", each, ResourceKind)
        work = ConfigResourcesToList(kinds=tuple(wanted))
        found: tuple[ConfigResource, ...] = self._one("list_config_resources", work, timeout)
        return found


def change_of(key: str, change: Any) -> ConfigChange:
    """Return a change, with a secret in place of a value that is one by its key.

    Raises:
        TypeError: It is no change.
    """
    sensitive = any(part in key.lower() for part in SENSITIVE)
    if not isinstance(change, CHANGES):
        shown = "..." if sensitive else repr(change)
        raise TypeError(
            f"a change of {key} is Set(value), Delete(), Append(value) or Subtract(value): "
            f"write Set({shown}) to set it"
        )
    if isinstance(change, Set) and isinstance(change.value, str) and sensitive:
        return Set(Secret(change.value))
    return change
