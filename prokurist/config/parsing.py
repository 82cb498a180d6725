"""From what the user wrote to the values of a table.

Every road into a configuration leads through `read`: a mapping with dotted, underscored
or another client's keys, and keywords. It finds each key's row, converts and checks the
value, notices contradictions between spellings, and warns once of all that has no effect.

Invariants: an error names the key as the user spelled it, the rule and the way out; the
value of a secret, and of a key that is not known (it may be a misspelt secret), is never
shown. Warnings are given only when the whole configuration is good, and point at the
first caller outside this library.
"""

import difflib
import inspect
import reprlib
import warnings
from collections.abc import Iterator, Mapping
from functools import cache
from types import MappingProxyType
from typing import Any

from prokurist.config.address import shown_without_credentials
from prokurist.config.foreign import KAFKA_PYTHON, LIBRDKAFKA, Foreign
from prokurist.config.key import Effect
from prokurist.config.kinds import Rejected, ValueKind, kind_of
from prokurist.config.kip19 import migrate
from prokurist.config.secret import SecretText
from prokurist.config.table import Client, ConfigRow, plain, spellings, table
from prokurist.errors import ConfigException, ConfigWarning


def read(
    client: Client,
    other: Client,
    config: Mapping[str, object] | None,
    keywords: Mapping[str, object],
) -> tuple[dict[str, Any], frozenset[str]]:
    """Read a configuration.

    Args:
        client: Whose configuration it is.
        other: The other client, to recognise its keys.
        config: Keys in any spelling.
        keywords: More keys, with underscores.

    Returns:
        The effective values by field name, and the dotted names of the keys given.

    Raises:
        ConfigException: Something in it cannot be used.
    """
    reading = _Reading(client, other)
    for spelling, value in _entries(config, keywords):
        reading.take(spelling, value)
    return reading.finish()


def _entries(
    config: Mapping[str, object] | None, keywords: Mapping[str, object]
) -> Iterator[tuple[str, object]]:
    if config is not None and not isinstance(config, Mapping):
        raise ConfigException(
            f"the configuration must be a mapping of keys to values, not {kind_of(config)}; "
            'for example {"bootstrap.servers": "localhost:9092"} or '
            'bootstrap_servers="localhost:9092"'
        )
    for key, value in (config or {}).items():
        if not isinstance(key, str):
            raise ConfigException(
                f"the key {reprlib.repr(key)} is not a string but {kind_of(key)}; keys are "
                'strings such as "group.id"'
            )
        yield key, value
    yield from keywords.items()


class _Reading:
    """One configuration being read: what has been taken so far."""

    def __init__(self, client: Client, other: Client) -> None:
        self._client = client
        self._other = other
        self._values: dict[str, object] = {}
        self._spellings: dict[str, str] = {}
        self._deprecated: dict[str, object] = {}
        self._idle: dict[str, str] = {}

    def take(self, spelling: str, value: object) -> None:
        bare = plain(spelling)
        if row := spellings(self._client).get(bare):
            self._take_row(row, spelling, value)
        elif kind := self._client.deprecated.get(bare):
            self._keep(self._deprecated, bare, spelling, _converted(kind, spelling, value))
        elif foreign := _foreign(self._client).get(bare):
            if not foreign.accepts(value):
                raise ConfigException(f"{spelling}: cannot be used here: {foreign.reason}")
            self._idle[spelling] = foreign.reason
        else:
            raise _unknown(self._client, self._other, spelling)

    def _take_row(self, row: ConfigRow, spelling: str, value: object) -> None:
        status = row.key.status
        if status.effect is Effect.REFUSED:
            raise ConfigException(f"{spelling}: cannot be used here: {status.reason}")
        if value is None and not row.optional:
            default = "" if row.required else " to get its default"
            raise ConfigException(f"{spelling}=None: must not be None; leave it out{default}")
        if value is not None:
            value = _converted(row.key.kind, spelling, value)
        self._keep(self._values, row.name, spelling, value)
        if status.effect is Effect.NONE:
            self._idle[spelling] = status.reason

    def _keep(self, values: dict[str, object], name: str, spelling: str, value: object) -> None:
        if name in values and values[name] is not value and values[name] != value:
            first = self._spellings[name]
            twice = (
                f"{spelling} is given in the mapping and as a keyword"
                if first == spelling
                else f"{first} and {spelling} are two spellings of one key and are both given"
            )
            raise ConfigException(
                f"{twice}, with different values ({_shown(values[name])} and {_shown(value)}): "
                "give one of them"
            )
        values[name] = value
        self._spellings.setdefault(name, spelling)

    def finish(self) -> tuple[dict[str, Any], frozenset[str]]:
        advice = ""
        if self._deprecated:
            migrated, advice = migrate(self._deprecated)
            self._values.update(migrated)
        rows = table(self._client)
        for name, row in rows.items():
            if row.required and name not in self._values:
                raise ConfigException(
                    f"{name} must be given: the brokers to ask first, for example "
                    f'{row.field}="kafka1.example.org:9092,kafka2.example.org:9092"'
                )
        given = frozenset(self._values)
        effective = {
            row.field: self._values.get(name, row.default) for name, row in rows.items()
        }
        self._client.check(effective, given)
        self._notice_unused_credentials(str(effective["security_protocol"]))
        if advice:
            warnings.warn(advice, DeprecationWarning, stacklevel=_callers_level())
        if self._idle:
            keys = "; ".join(f"{key} ({why})" for key, why in self._idle.items())
            warnings.warn(
                f"accepted without effect: {keys}", ConfigWarning, stacklevel=_callers_level()
            )
        return effective, given

    def _notice_unused_credentials(self, protocol: str) -> None:
        """Warn of SASL keys where connections are made without SASL: it may be forgotten."""
        if protocol.startswith("SASL"):
            return
        for name, spelling in self._spellings.items():
            if name.startswith("sasl."):
                self._idle.setdefault(
                    spelling,
                    f"security.protocol={protocol} has no authentication; SASL_SSL and "
                    "SASL_PLAINTEXT have",
                )


def _converted(kind: ValueKind, spelling: str, value: object) -> object:
    try:
        return kind.read(value)
    except Rejected as rule:
        shown = "" if isinstance(kind, SecretText) else f"={_shown(value)}"
        # The cause would repeat the rule, and its traceback would hold the value.
        raise ConfigException(f"{spelling}{shown}: {rule}") from None


def _shown(value: object) -> str:
    # Masked before it is shortened, which could cut off what tells credentials.
    if isinstance(value, str):
        value = shown_without_credentials(value)
    elif isinstance(value, (list, tuple)):
        value = [
            shown_without_credentials(item) if isinstance(item, str) else item for item in value
        ]
    short = reprlib.Repr()
    short.maxstring = short.maxother = 80
    return short.repr(value)


@cache
def _foreign_keys() -> Mapping[str, Foreign]:
    both = {**KAFKA_PYTHON, **LIBRDKAFKA}
    return MappingProxyType({plain(key): foreign for key, foreign in both.items()})


def _foreign(client: Client) -> Mapping[str, Foreign]:
    return {**_foreign_keys(), **client.foreign}


def _unknown(client: Client, other: Client, spelling: str) -> ConfigException:
    bare = plain(spelling)
    if bare in spellings(other) or bare in other.deprecated:
        return ConfigException(
            f"{spelling} is a key of the {other.word}, and this is a {client.word}'s "
            "configuration: take it out"
        )
    known = {spelled: row.name for spelled, row in spellings(client).items()}
    known.update((key, key) for key in client.deprecated)
    near = difflib.get_close_matches(bare.lower(), known, n=3, cutoff=0.7)
    names = list(dict.fromkeys(known[match] for match in near))
    if "_" in spelling and "." not in spelling:
        names = [name.replace(".", "_") for name in names]
    hint = f"; did you mean {' or '.join(names)}?" if names else ""
    return ConfigException(f"unknown key {spelling}{hint}")


def _callers_level() -> int:
    """How far up the stack the first frame outside this library is, for `warnings.warn`."""
    level = 0
    frame = inspect.currentframe()
    while frame is not None:
        name = frame.f_globals.get("__name__", "")
        if name != "prokurist" and not name.startswith("prokurist."):
            return level
        frame = frame.f_back
        level += 1
    return level
