"""DescribeConfigs, IncrementalAlterConfigs and ListConfigResources.

Thread: any; frozen values.
"""

from collections.abc import Iterator, Mapping
from typing import ClassVar, Final

from prokurist.config.secret import MASK, Secret
from prokurist.events.admin.work import WHOLE
from prokurist.lazy_dataclasses import dataclass
from prokurist.network_thread.wire.admin.answers import (
    ItemAnswer,
    ItemsAnswer,
    answer_of,
    item_of,
)
from prokurist.network_thread.wire.apis import (
    DESCRIBE_CONFIGS,
    INCREMENTAL_ALTER_CONFIGS,
    LIST_CONFIG_RESOURCES,
    Api,
)
from prokurist.network_thread.wire.failures import Malformed
from prokurist.network_thread.wire.request import Body, Limit
from prokurist.types.configs import (
    Append,
    ConfigChange,
    ConfigEntry,
    ConfigResource,
    ConfigSource,
    ConfigSynonym,
    ConfigType,
    Delete,
    ResourceKind,
    Set,
    Subtract,
)

CODES: Final[Mapping[type[ConfigChange], int]] = {Set: 0, Delete: 1, Append: 2, Subtract: 3}


@dataclass(frozen=True, slots=True)
class DescribeConfigs:
    """Asks for configurations.

    Documentation is left out of answers before version 3.

    Attributes:
        resources: The resources, and the keys of each; None for all keys.
        synonyms: True to ask for the origins of each value.
        documentation: True to ask for the documentation of each key.
    """

    api: ClassVar[Api] = DESCRIBE_CONFIGS

    resources: Mapping[ConfigResource, tuple[str, ...] | None]
    synonyms: bool = False
    documentation: bool = False

    def limits(self) -> Iterator[Limit]:
        """Yield no limits: every version will do."""
        yield from ()

    def body(self) -> Body:
        """The fields of every version at once."""
        return {
            "resources": tuple(
                {
                    "resource_type": each.kind.value,
                    "resource_name": each.name,
                    "configuration_keys": keys,
                }
                for each, keys in self.resources.items()
            ),
            "include_synonyms": self.synonyms,
            "include_documentation": self.documentation,
        }

    def answer(self, body: Body) -> ItemsAnswer:
        """Read an answer of any version."""
        return answer_of(
            body,
            (
                (
                    resource_of(row),
                    item_of(row, {each["name"]: entry_of(each) for each in row["configs"]}),
                )
                for row in body["results"]
            ),
        )


@dataclass(frozen=True, slots=True)
class IncrementalAlterConfigs:
    """Asks for changes of single keys.

    Nothing is ever left out.

    Attributes:
        resources: The resources, and the changes of each by key.
        validate_only: True to check the request, and alter nothing.
    """

    api: ClassVar[Api] = INCREMENTAL_ALTER_CONFIGS

    resources: Mapping[ConfigResource, Mapping[str, ConfigChange]]
    validate_only: bool = False

    def limits(self) -> Iterator[Limit]:
        """Yield no limits: every version will do."""
        yield from ()

    def body(self) -> Body:
        """The fields of every version at once."""
        return {
            "resources": tuple(
                {
                    "resource_type": each.kind.value,
                    "resource_name": each.name,
                    "configs": tuple(
                        {
                            "name": key,
                            "config_operation": CODES[type(change)],
                            "value": value_of(change),
                        }
                        for key, change in changes.items()
                    ),
                }
                for each, changes in self.resources.items()
            ),
            "validate_only": self.validate_only,
        }

    def answer(self, body: Body) -> ItemsAnswer:
        """Read an answer of any version; a broker's words repeat no secret."""
        return answer_of(
            body, ((resource_of(row), item_of(self._masked(row))) for row in body["responses"])
        )

    def _masked(self, row: Body) -> Body:
        """Take secrets out of the broker's words about a refused value."""
        text = row["error_message"]
        for change in self.resources.get(resource_of(row), {}).values():
            if text and isinstance(change, Set) and isinstance(change.value, Secret):
                text = text.replace(change.value.reveal(), MASK)
        return {**row, "error_message": text}


def value_of(change: ConfigChange) -> str | None:
    """The value of a change on the wire."""
    if isinstance(change, Delete):
        return None
    value = change.value
    return value.reveal() if isinstance(value, Secret) else value


def resource_of(row: Body) -> ConfigResource:
    """Read the resource of a row.

    Raises:
        Malformed: There is no such kind of resource.
    """
    try:
        return ConfigResource(ResourceKind(row["resource_type"]), row["resource_name"])
    except ValueError as error:
        raise Malformed(str(error)) from None


def entry_of(row: Body) -> ConfigEntry:
    """Read one key of a configuration."""
    return ConfigEntry(
        name=row["name"],
        value=row["value"],
        source=ConfigSource(row["config_source"]),
        read_only=row["read_only"],
        sensitive=row["is_sensitive"],
        type=ConfigType(row.get("config_type", 0)),
        synonyms=tuple(
            ConfigSynonym(each["name"], each["value"], ConfigSource(each["source"]))
            for each in row.get("synonyms", ())
        ),
        documentation=row.get("documentation"),
    )


@dataclass(frozen=True, slots=True)
class ListConfigResources:
    """Asks for the resources that have a configuration.

    Nothing is ever left out: version 0 lists client metrics alone.

    Attributes:
        kinds: Their kinds; empty for all.
    """

    api: ClassVar[Api] = LIST_CONFIG_RESOURCES

    kinds: tuple[ResourceKind, ...] = ()

    def limits(self) -> Iterator[Limit]:
        """The fields in use that narrow the versions."""
        if self.kinds != (ResourceKind.CLIENT_METRICS,):
            yield Limit("listing resources of other kinds than client metrics", oldest=1)

    def body(self) -> Body:
        """The fields of every version at once."""
        return {"resource_types": tuple(each.value for each in self.kinds)}

    def answer(self, body: Body) -> ItemsAnswer:
        """Read an answer of any version; kinds that are newer than we are are left out."""
        kinds = frozenset(ResourceKind)
        found = tuple(
            ConfigResource(ResourceKind(kind), row["resource_name"])
            for row in body["config_resources"]
            if (kind := row.get("resource_type", ResourceKind.CLIENT_METRICS)) in kinds
        )
        code = body["error_code"]
        return answer_of(body, [] if code else [(WHOLE, ItemAnswer(value=found))], code)
