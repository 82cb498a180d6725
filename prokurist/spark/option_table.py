"""Rows of a table of Spark options, and the reading of any such table.

Thread: any; frozen rows and pure functions.

Invariants: names are compared without regard to case, as Spark hands them on. What begins
with `kafka.` goes to the client.
"""

import difflib
import enum
import warnings
from collections.abc import Collection, Mapping
from typing import Final

from prokurist.config.table import Client, plain, spellings
from prokurist.errors import ConfigException, ConfigWarning
from prokurist.lazy_dataclasses import dataclass
from prokurist.spark.offset_json import INT_MAX
from prokurist.spark.rate_limits import positive

KAFKA: Final = "kafka."


class Mode(enum.Enum):
    """The kinds of readers or writers that an option is for."""

    BOTH = "batch, stream"
    BATCH = "batch"
    STREAM = "stream"


@dataclass(frozen=True, slots=True)
class Option:
    """One row of a table of options.

    Attributes:
        name: As it is written.
        mode: The readers or writers that take it.
        default: Its value if it is not given; empty for none.
        text: Its effect, in a sentence or two.
        ours: True if Spark's own source and sink for Kafka do not know it.
    """

    name: str
    mode: Mode
    default: str
    text: str
    ours: bool = False


def ours(name: str, mode: Mode, default: str, text: str) -> Option:
    """Make the row of an option that Spark's own source and sink do not know."""
    return Option(name, mode, default, text, ours=True)


def by_name(options: Collection[Option]) -> dict[str, Option]:
    """Return a table's rows by their names in lower case."""
    return {each.name.lower(): each for each in options}


def flag(given: Mapping[str, str], name: str, *, default: bool) -> bool:
    """Read an option that is true or false.

    Raises:
        ConfigException: It is neither.
    """
    text = given.get(name.lower())
    if text is None:
        return default
    word = text.strip().lower()
    if word not in {"true", "false"}:
        raise ConfigException(f"{name} is true or false: {text!r}")
    return word == "true"


def seconds(given: Mapping[str, str], name: str, default_ms: int) -> float:
    """Read an option in milliseconds, as seconds.

    Raises:
        ConfigException: It is no number from 1 on.
    """
    return (positive(given, name, INT_MAX) or default_ms) / 1000


def check_direction(
    given: Collection[str],
    known: Mapping[str, Option],
    others: Mapping[str, Option],
    direction: str,
) -> None:
    """Check that no option is one of the other direction.

    Args:
        given: The names, in any case.
        known: The table of this direction.
        others: The table of the other one.
        direction: That direction: "reading" or "writing".

    Raises:
        ConfigException: One is.
    """
    for name in given:
        row = others.get(name.lower())
        if row is not None and name.lower() not in known:
            raise ConfigException(f"{row.name} is an option for {direction}: leave it out here")


def check_names(
    given: Collection[str], known: Mapping[str, Option], refused: Mapping[str, str]
) -> None:
    """Check that all options are known.

    Args:
        given: The names, in lower case.
        known: The table.
        refused: Errors of options that are refused, by names in lower case.

    Raises:
        ConfigException: One is not.
    """
    for name in given:
        if name in known or name.startswith(KAFKA) or name == "path":
            continue
        if name in refused:
            raise ConfigException(refused[name])
        near = difflib.get_close_matches(name, known, n=1, cutoff=0.6)
        hint = f": did you mean {known[near[0]].name}?" if near else ""
        raise ConfigException(
            f"unknown option {name!r}{hint or '; keys of the client begin with kafka.'}"
        )


LOCATIONS: Final = {
    "sasl.password": "sasl.password.location",
    "sasl.jaas.config": "sasl.username and sasl.password.location",
    "sasl.oauthbearer.client.credentials.client.secret": (
        "sasl.oauthbearer.client.credentials.client.secret.location"
    ),
    "ssl.keystore.key": "ssl.key.location",
}
"""Keys that bring a secret as text, and those that name a file which has it."""


def client_keys(
    given: Mapping[str, str], client: Client, refused: Mapping[str, str]
) -> dict[str, str]:
    """Read the client's own keys out of the options.

    Args:
        given: The options, by names in lower case.
        client: The client's table.
        refused: Keys that cannot be given, and why.

    Raises:
        ConfigException: One cannot be given, or `kafka.bootstrap.servers` is missing.
    """
    found: dict[str, str] = {}
    unknown: list[str] = []
    known = spellings(client)
    for name, value in given.items():
        if not name.startswith(KAFKA):
            continue
        key = name.removeprefix(KAFKA)
        if key in refused:
            raise ConfigException(f"{name} cannot be given here: {refused[key]}")
        if plain(key) in known:
            found[key] = value
        else:
            unknown.append(name)
    if "bootstrap.servers" not in found:
        raise ConfigException(
            "kafka.bootstrap.servers must be given: the brokers to ask first, for example "
            '.option("kafka.bootstrap.servers", "kafka1.example.org:9092")'
        )
    if unknown:
        warnings.warn(
            f"not known to the client, and passed over: {', '.join(sorted(unknown))}",
            ConfigWarning,
            stacklevel=2,
        )
    warn_of_texts(found, client)
    return found


def warn_of_texts(names: Collection[str], client: Client) -> None:
    """Warn of secrets that travel to the executors as text, once for all of them."""
    known = spellings(client)
    texts = sorted({known[plain(name)].name for name in names} & LOCATIONS.keys())
    if texts:
        instead = ", ".join(f"{KAFKA}{LOCATIONS[each]}" for each in texts)
        warnings.warn(
            f"{', '.join(KAFKA + each for each in texts)} travels with each task as text: "
            f"name a file on the executors instead, by {instead}",
            ConfigWarning,
            stacklevel=2,
        )
