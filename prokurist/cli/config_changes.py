"""`prokurist configs show`, `set`, `unset`.

Thread: the main one.
"""

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Final

from prokurist.admin import Append, ConfigChange, ConfigResource, Delete, Set, Subtract
from prokurist.cli.changes import confirmed, reported
from prokurist.cli.command_options import CommandOptions
from prokurist.cli.errors import Failed, Misused
from prokurist.cli.output import Column, Row, show
from prokurist.config import Secret

KEYS: Final = (
    Column("resource", "bold"),
    Column("key"),
    Column("value"),
    Column("source", "dim"),
)
KINDS: Final = MappingProxyType(
    {
        "topic": ConfigResource.topic,
        "broker": lambda name: ConfigResource.broker(int(name)),
        "broker-logger": lambda name: ConfigResource.broker_logger(int(name)),
        "group": ConfigResource.group,
        "client-metrics": ConfigResource.client_metrics,
    }
)
ALL_BROKERS: Final = "brokers"


def resource_of(text: str) -> ConfigResource:
    """The resource of `topic:NAME`, `broker:ID`, `group:NAME` or `brokers`.

    Raises:
        Misused: It is something else.
    """
    if text == ALL_BROKERS:
        return ConfigResource.all_brokers()
    kind, colon, name = text.partition(":")
    if not colon or kind not in KINDS:
        kinds = ", ".join(f"{each}:NAME" for each in KINDS)
        raise Misused(f"{text!r} is no resource: {kinds}, or brokers for the default of all")
    if kind.startswith("broker") and not name.isdecimal():
        raise Misused(f"{text!r}: a broker has a number for its id, such as {kind}:1")
    try:
        return KINDS[kind](name)
    except ValueError as error:
        raise Misused(f"{text!r}: {error}") from None


def show_keys(
    asked: CommandOptions,
    resources: Sequence[str],
    keys: Sequence[str],
    *,
    everything: bool,
    as_json: bool,
) -> None:
    """Show keys of configurations: those that a resource itself has, by default.

    Raises:
        Failed: A resource cannot be described.
        KafkaException: Nothing could be asked.
    """
    wanted = {resource_of(each): tuple(keys) or None for each in resources}
    with asked.admin() as admin:
        found = admin.describe_configs(wanted, timeout=asked.left())
    rows: list[Row] = [
        {
            "resource": str(resource),
            "key": name,
            "value": "(secret)" if entry.sensitive else entry.value,
            "source": entry.source.name.lower().replace("_", "-"),
        }
        for resource, entries in found.succeeded.items()
        for name, entry in sorted(entries.items())
        if everything or keys or not (entry.is_default or entry.source.name == "STATIC_BROKER")
    ]
    show(KEYS, rows, as_json=as_json)
    if found.errors:
        raise Failed(
            "; ".join(f"{resource}: {error}" for resource, error in found.errors.items())
        )


def changes_of(texts: Sequence[str]) -> dict[str, ConfigChange]:
    """The changes of `KEY=VALUE`, `KEY+=ELEMENT` and `KEY-=ELEMENT`.

    Raises:
        Misused: One is something else.
    """
    found: dict[str, ConfigChange] = {}
    for each in texts:
        key, equals, value = each.partition("=")
        if not equals or not key.strip("+- "):
            raise Misused(
                f"{each!r} is no change: KEY=VALUE, or of a list KEY+=ELEMENT and KEY-=ELEMENT"
            )
        if key.endswith("+"):
            found[key[:-1].strip()] = Append(value)
        elif key.endswith("-"):
            found[key[:-1].strip()] = Subtract(value)
        else:
            found[key.strip()] = Set(value)
    return found


def secrets_of(settings: Mapping[str, str]) -> dict[str, ConfigChange]:
    """The changes of a property file, whose values appear in no log and no error."""
    return {key: Set(Secret(value)) for key, value in settings.items()}


def change(
    asked: CommandOptions,
    resource: str,
    changes: Mapping[str, ConfigChange],
    *,
    yes: bool,
    dry_run: bool,
    as_json: bool,
) -> int:
    """Alter keys of a configuration.

    Raises:
        Failed: The change is not confirmed.
        KafkaException: Nothing could be asked.
        Misused: It is of all brokers, and not confirmed.
    """
    wanted = resource_of(resource)
    with asked.admin() as admin:
        if wanted == ConfigResource.all_brokers() and not dry_run:
            number = len(admin.describe_cluster(timeout=asked.left()).brokers)
            asked = confirmed(asked, "change the default of", number, "broker", yes=yes)
        results = admin.alter_configs(
            {wanted: changes}, validate_only=dry_run, timeout=asked.left()
        )
    deleted = all(isinstance(each, Delete) for each in changes.values())
    return reported(
        asked, results, "reset" if deleted else "altered", as_json=as_json, dry_run=dry_run
    )
