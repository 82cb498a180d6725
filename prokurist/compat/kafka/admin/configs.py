"""Configurations, as kafka-python administers them."""

from collections.abc import Callable, Iterable, Mapping
from types import MappingProxyType
from typing import Any, Final

from prokurist.admin import Append, ConfigChange, Delete, ResourceKind, Set, Subtract
from prokurist.admin import ConfigEntry as OurEntry
from prokurist.admin import ConfigResource as OurResource
from prokurist.compat.kafka.admin.base import AdminBase, told
from prokurist.compat.kafka.admin.values import (
    AlterConfigOp,
    ConfigFilterType,
    ConfigResource,
    ConfigResourceType,
    ConfigSourceType,
    ConfigType,
)
from prokurist.events.clock import Deadline

_CHANGES: Final[Mapping[AlterConfigOp, Callable[[str], ConfigChange]]] = MappingProxyType(
    {AlterConfigOp.SET: Set, AlterConfigOp.APPEND: Append, AlterConfigOp.SUBTRACT: Subtract}
)
Told = dict[str, dict[str, Any]]


class ConfigCalls(AdminBase):
    """Calls of a KafkaAdminClient about configurations."""

    def describe_configs(
        self,
        config_resources: Iterable[ConfigResource],
        include_synonyms: bool = False,
        config_filter: ConfigFilterType | str = "modified",
    ) -> Told:
        """Describe configurations: keys by kind and name of the resource.

        Args:
            config_resources: The resources; `configs` selects keys.
            include_synonyms: True to ask for the origins of each value.
            config_filter: Keys that the resource itself has, by default.

        Raises:
            KafkaError: A resource cannot be described.
        """
        wanted = ConfigFilterType.build_from(config_filter)
        items = {_resource(each): each for each in config_resources}
        with self._converted():
            found = self._described(items, self._until(), synonyms=include_synonyms)
        by_kind: Told = {}
        for resource, each in items.items():
            by_kind.setdefault(each.resource_type.name.lower(), {})[each.name] = {
                name: {
                    **entry_of(entry),
                    "synonyms": [
                        _synonym(entry, number) for number in range(len(entry.synonyms))
                    ],
                    "config_type": ConfigType(entry.type).name,
                    "documentation": entry.documentation,
                }
                for name, entry in found[resource].items()
                if _is_wanted(entry, wanted)
            }
        return by_kind

    def alter_configs(
        self,
        config_resources: Iterable[ConfigResource],
        validate_only: bool = False,
        raise_on_unknown: bool = True,
        incremental: bool | None = None,
    ) -> Told:
        """Alter single keys of configurations; all other keys stay as they are.

        Args:
            config_resources: The resources; `configs` has a value by key, or a pair of an
                operation and a value.
            validate_only: True to check the changes, and make none.
            raise_on_unknown: False to leave it to the brokers which keys there are.
            incremental: True and None are the same; False is refused.

        Returns:
            `"OK"`, or the text of an error, by kind and name.

        Raises:
            KafkaError: Nothing could be asked.
            TypeError: The changes of a resource are no dict.
            ValueError: A key is not known, or `incremental` is False.
        """
        given = list(config_resources)
        changes = {_resource(each): _changes_of(each) for each in given}
        return self._altered(
            given, changes, validate_only, raise_on_unknown, incremental, self._until()
        )

    def reset_configs(
        self,
        config_resources: Iterable[ConfigResource],
        validate_only: bool = False,
        raise_on_unknown: bool = True,
        incremental: bool | None = None,
    ) -> Told:
        """Reset keys of configurations: those of `configs`, or all that a resource itself has.

        Args:
            config_resources: The resources.
            validate_only: True to check the changes, and make none.
            raise_on_unknown: False to leave it to the brokers which keys there are.
            incremental: True and None are the same; False is refused.

        Returns:
            `"OK"`, or the text of an error, by kind and name.

        Raises:
            KafkaError: Nothing could be asked.
            ValueError: A key is not known, or `incremental` is False.
        """
        given, until = list(config_resources), self._until()
        bare = {_resource(each): each for each in given if not each.configs}
        with self._converted():
            present = self._described(dict.fromkeys(bare), until)
        changes: dict[OurResource, dict[str, ConfigChange]] = {}
        for each in given:
            resource = _resource(each)
            keys = each.configs or [
                name
                for name, entry in present[resource].items()
                if _is_wanted(entry, ConfigFilterType.MODIFIED)
            ]
            changes[resource] = {name: Delete() for name in keys}
        return self._altered(
            given, changes, validate_only, raise_on_unknown, incremental, until
        )

    def list_config_resources(
        self, resource_types: Iterable[ConfigResourceType | str] | None = None
    ) -> dict[str, list[str]]:
        """List resources that can be configured: names by kind.

        Args:
            resource_types: Their kinds; none for all.

        Raises:
            KafkaError: Brokers cannot tell.
        """
        kinds = [
            ResourceKind(ConfigResourceType.value_for(each)) for each in resource_types or ()
        ]
        with self._converted():
            found = self._admin.list_config_resources(kinds, timeout=self._wait)
        by_kind: dict[str, list[str]] = {}
        for each in found:
            by_kind.setdefault(each.kind.name.lower(), []).append(each.name)
        return by_kind

    # --- within ------------------------------------------------------------------------

    def _described(
        self,
        resources: Mapping[OurResource, ConfigResource | None],
        until: Deadline,
        *,
        synonyms: bool = False,
    ) -> dict[OurResource, dict[str, OurEntry]]:
        wanted = {
            resource: None if each is None or each.configs is None else list(each.configs)
            for resource, each in resources.items()
        }
        found = self._admin.describe_configs(
            wanted, synonyms=synonyms, timeout=self._left(until)
        )
        return {resource: found[resource] for resource in wanted}

    def _altered(
        self,
        given: list[ConfigResource],
        changes: dict[OurResource, dict[str, ConfigChange]],
        validate_only: bool,
        raise_on_unknown: bool,
        incremental: bool | None,
        until: Deadline,
    ) -> Told:
        if incremental is False:
            raise ValueError(
                "incremental=False resets the keys that are not named: leave it out, and name "
                "those to reset in reset_configs"
            )
        with self._converted():
            if raise_on_unknown:
                found = self._described(dict.fromkeys(changes), until)
                unknown = {
                    key
                    for resource, keys in changes.items()
                    for key in keys
                    if key not in found[resource] or found[resource][key].read_only
                }
                if unknown:
                    raise ValueError(f"brokers have no such keys to alter: {sorted(unknown)}")
            asked = {resource: keys for resource, keys in changes.items() if keys}
            done = self._admin.alter_configs(
                asked, validate_only=validate_only, timeout=self._left(until)
            )
        by_kind: Told = {}
        for each in given:
            error = done.errors.get(_resource(each))
            result = "OK" if error is None else told(error)
            by_kind.setdefault(each.resource_type.name.lower(), {})[each.name] = result
        return by_kind


def entry_of(entry: OurEntry) -> dict[str, Any]:
    """A key of a configuration."""
    return {
        "value": entry.value,
        "read_only": entry.read_only,
        "config_source": ConfigSourceType(entry.source).name,
        "is_sensitive": entry.sensitive,
    }


def _synonym(entry: OurEntry, number: int) -> dict[str, Any]:
    found = entry.synonyms[number]
    source = ConfigSourceType(found.source).name
    return {"name": found.name, "value": found.value, "source": source}


def _resource(given: ConfigResource) -> OurResource:
    return OurResource(ResourceKind(given.resource_type), str(given.name))


def _is_wanted(entry: OurEntry, wanted: ConfigFilterType) -> bool:
    source = ConfigSourceType(entry.source)
    if wanted is ConfigFilterType.DYNAMIC:
        return not entry.read_only
    if wanted is ConfigFilterType.MODIFIED:
        return source.is_modified()
    if wanted is ConfigFilterType.DEFAULT:
        return not source.is_modified()
    if wanted is ConfigFilterType.STATIC:
        return source is ConfigSourceType.STATIC_BROKER_CONFIG
    return True


def _changes_of(given: ConfigResource) -> dict[str, ConfigChange]:
    configs = given.configs or {}
    if not isinstance(configs, Mapping):
        raise TypeError(
            f"the changes of {given.name} are a dict of values, or of pairs of an operation "
            f"and a value, not {configs!r}"
        )
    changes: dict[str, ConfigChange] = {}
    for name, change in configs.items():
        operation, value = change if isinstance(change, tuple) else (AlterConfigOp.SET, change)
        kind = AlterConfigOp.build_from(operation)
        changes[name] = Delete() if kind is AlterConfigOp.DELETE else _CHANGES[kind](str(value))
    return changes
