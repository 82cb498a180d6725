"""Reads, checks and translates the keys that a user gave.

Every road into a configuration leads through `_Reading`: a mapping with dotted, underscored
or another client's keys, and keywords. It finds each key's row, converts and checks the
value, notices contradictions between spellings, and keeps a finding for each key. `read`
raises all faults together or warns once of all that has no effect; `check` returns them.

Invariants: a fault names the key as the user spelled it, the rule and the way out; the
value of a secret, and of a key that is not known (it may be a misspelt secret), is never
shown. Warnings are given only when the whole configuration is good, and point at the
first caller outside this library.
"""

import difflib
import inspect
import reprlib
import warnings
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import cache
from types import MappingProxyType
from typing import Any, Final

from prokurist.config.address import shown_without_credentials
from prokurist.config.counterparts import COUNTERPARTS, Counterpart
from prokurist.config.foreign import KAFKA_PYTHON, LIBRDKAFKA, Foreign
from prokurist.config.key import Effect
from prokurist.config.kinds import Rejected, ValueKind, kind_of
from prokurist.config.kip19 import migrate
from prokurist.config.report import ConfigReport, KeyFinding, Verdict
from prokurist.config.secret import Secret, SecretText
from prokurist.config.table import Client, ConfigRow, plain, spellings, table
from prokurist.errors import ConfigException, ConfigWarning


def read(
    client: Client,
    others: Sequence[Client],
    config: Mapping[str, object] | None,
    keywords: Mapping[str, object],
) -> tuple[dict[str, Any], frozenset[str]]:
    """Read a configuration.

    Args:
        client: The client of the configuration.
        others: The other clients, to recognise their keys.
        config: Keys in any spelling.
        keywords: More keys, with underscores.

    Returns:
        The effective values by field name, and the dotted names of the keys given.

    Raises:
        ConfigException: Something in it cannot be used.
    """
    reading = _Reading(client, others)
    reading.take_all(config, keywords)
    return reading.used()


def check(
    client: Client,
    others: Sequence[Client],
    config: Mapping[str, object] | None,
    keywords: Mapping[str, object],
) -> ConfigReport:
    """Report what every key of a configuration means, without raising or warning.

    Args:
        client: The client of the configuration.
        others: The other clients, to recognise their keys.
        config: Keys in any spelling.
        keywords: More keys, with underscores.
    """
    reading = _Reading(client, others)
    reading.take_all(config, keywords)
    return ConfigReport(tuple(reading.findings), MappingProxyType(reading.translated))


def _entries(
    config: Mapping[str, object] | None, keywords: Mapping[str, object]
) -> list[tuple[object, object]]:
    if config is not None and not isinstance(config, Mapping):
        raise ConfigException(
            f"the configuration must be a mapping of keys to values, not {kind_of(config)}; "
            'for example {"bootstrap.servers": "localhost:9092"} or '
            'bootstrap_servers="localhost:9092"'
            + ("; topics are given to subscribe" if isinstance(config, str) else "")
        )
    return [*(config or {}).items(), *keywords.items()]


EXAMPLES: Final = {
    "bootstrap.servers": "the brokers to ask first, for example "
    'bootstrap_servers="kafka1.example.org:9092,kafka2.example.org:9092"',
    "group.id": 'the name of the share group, for example group_id="billing"',
}
"""Keys without a default: what each is, with an example."""


class _FaultyValue(LookupError):
    """Raised when a check reads a key whose own value is at fault."""


class _Effective(dict[str, Any]):
    """The effective values by field name, without those at fault."""

    def __missing__(self, field: str) -> Any:
        raise _FaultyValue(field)


class _Reading:
    """One configuration being read: what has been taken so far.

    Attributes:
        findings: One finding for each key.
        translated: The keys that have an effect, by our names, as they were given.
    """

    def __init__(self, client: Client, others: Sequence[Client]) -> None:
        self.findings: list[KeyFinding] = []
        self.translated: dict[str, object] = {}
        self._client = client
        self._others = others
        self._values: dict[str, object] = {}
        self._spellings: dict[str, str] = {}
        self._deprecated: dict[str, object] = {}
        self._advice = ""
        self._faulty: set[str] = set()
        self._effective = _Effective()

    def take_all(
        self, config: Mapping[str, object] | None, keywords: Mapping[str, object]
    ) -> None:
        """Take every key, then check them against each other."""
        try:
            entries = _entries(config, keywords)
        except ConfigException as error:
            self._find("", Verdict.FAULTY, str(error))
            return
        for spelling, value in entries:
            try:
                self._take(spelling, value)
            except ConfigException as error:
                self._find(spelling, Verdict.FAULTY, str(error))
        self._migrate()
        self._check()

    def _take(self, spelling: object, value: object) -> None:
        if not isinstance(spelling, str):
            raise ConfigException(
                f"the key {reprlib.repr(spelling)} is not a string but {kind_of(spelling)}; "
                'keys are strings such as "group.id"'
            )
        bare = plain(spelling)
        if row := spellings(self._client).get(bare):
            self._take_row(row, spelling, value)
        elif kind := self._client.deprecated.get(bare):
            self._keep(self._deprecated, bare, spelling, _converted(kind, spelling, value))
        elif (counterpart := _counterparts().get(bare)) and (
            row := table(self._client).get(counterpart.name)
        ):
            self._translate(row, counterpart, spelling, value)
        elif foreign := _foreign(self._client).get(bare):
            if not foreign.accepts(value):
                raise ConfigException(f"{spelling}: cannot be used here: {foreign.reason}")
            self._find(spelling, Verdict.WITHOUT_EFFECT, foreign.reason)
        else:
            raise _unknown(self._client, self._others, spelling)

    def _take_row(self, row: ConfigRow, spelling: str, value: object) -> None:
        status = row.key.status
        if status.effect is Effect.REFUSED:
            raise ConfigException(f"{spelling}: cannot be used here: {status.reason}")
        self._faulty.add(row.name)
        if value is None and not row.optional:
            default = "" if row.required else " to get its default"
            raise ConfigException(f"{spelling}=None: must not be None; leave it out{default}")
        read = None if value is None else _converted(row.key.kind, spelling, value)
        self._keep(self._values, row.name, spelling, read)
        self._faulty.discard(row.name)
        if status.effect is Effect.NONE:
            self._find(spelling, Verdict.WITHOUT_EFFECT, status.reason)
            return
        given = read if isinstance(read, Secret) else value
        self.translated.setdefault(row.name, given)
        same = plain(spelling) == row.name
        verdict = Verdict.SUPPORTED if same else Verdict.TRANSLATED
        self._find(spelling, verdict, instead={} if same else {row.name: given})

    def _translate(
        self, row: ConfigRow, counterpart: Counterpart, spelling: str, value: object
    ) -> None:
        """Take another client's key whose value is converted."""
        given = counterpart.convert(_converted(counterpart.kind, spelling, value))
        self._faulty.add(row.name)
        self._keep(self._values, row.name, spelling, _converted(row.key.kind, row.name, given))
        self._faulty.discard(row.name)
        self.translated.setdefault(row.name, given)
        self._find(
            spelling, Verdict.TRANSLATED, counterpart.difference, instead={row.name: given}
        )

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

    def _migrate(self) -> None:
        """Turn KIP-19's old keys into new ones."""
        if not self._deprecated:
            return
        migrated, self._advice = migrate(self._deprecated)
        self._values.update(migrated)
        self.translated.update(migrated)
        for bare in self._deprecated:
            self._find(self._spellings[bare], Verdict.TRANSLATED, self._advice, migrated)

    def _check(self) -> None:
        """Check that nothing is missing, and the keys against each other."""
        for name, row in table(self._client).items():
            if name in self._faulty:
                continue
            if row.required and name not in self._values:
                self._find(
                    "",
                    Verdict.FAULTY,
                    f"{name} must be given: {EXAMPLES[name]}",
                )
            else:
                self._effective[row.field] = self._values.get(name, row.default)
        for each in self._client.checks:
            with suppress(_FaultyValue):
                for fault in each(self._effective, self._values.keys()):
                    self._find("", Verdict.FAULTY, fault)
        if "security.protocol" not in self._faulty:
            self._notice_unused_credentials(str(self._effective["security_protocol"]))
        if self._effective.get("on_event", self) is None and self._effective.get(
            "statistics_interval_ms"
        ):
            self._lose_effect(
                "statistics.interval.ms", "it is the interval of on_event, which is not given"
            )

    def used(self) -> tuple[dict[str, Any], frozenset[str]]:
        """Build the configuration if there is no fault; warn of keys that were converted.

        Raises:
            ConfigException: There are faults; it has them all.
        """
        faults = [each.why for each in self.findings if each.verdict is Verdict.FAULTY]
        if len(faults) == 1:
            raise ConfigException(faults[0])
        if faults:
            listed = "".join(f"\n- {fault}" for fault in faults)
            raise ConfigException(
                f"{len(faults)} faults in the configuration:{listed}", faults=tuple(faults)
            )
        if self._advice:
            warnings.warn(self._advice, DeprecationWarning, stacklevel=_callers_level())
        if notes := _notes(self.findings):
            warnings.warn(notes, ConfigWarning, stacklevel=_callers_level())
        return dict(self._effective), frozenset(self._values)

    def _notice_unused_credentials(self, protocol: str) -> None:
        """Warn of SASL keys where connections are made without SASL."""
        if not protocol.startswith("SASL"):
            self._lose_effect(
                "sasl.",
                f"security.protocol={protocol} has no authentication; SASL_SSL and "
                "SASL_PLAINTEXT have",
            )

    def _lose_effect(self, prefix: str, why: str) -> None:
        """Warn that keys with this prefix have no effect."""
        for place, finding in enumerate(self.findings):
            row = spellings(self._client).get(plain(finding.key))
            if (
                row is not None
                and row.name.startswith(prefix)
                and finding.verdict in {Verdict.SUPPORTED, Verdict.TRANSLATED}
            ):
                self.findings[place] = replace(finding, verdict=Verdict.WITHOUT_EFFECT, why=why)

    def _find(
        self,
        key: object,
        verdict: Verdict,
        why: str = "",
        instead: Mapping[str, object] = MappingProxyType({}),
    ) -> None:
        key = key if isinstance(key, str) else reprlib.repr(key)
        self.findings.append(KeyFinding(key, verdict, why, MappingProxyType(dict(instead))))


def _notes(findings: Iterable[KeyFinding]) -> str:
    """Describe the keys that have no effect and those that were converted, for a warning."""
    idle = [
        f"{each.key} ({each.why})"
        for each in findings
        if each.verdict is Verdict.WITHOUT_EFFECT
    ]
    converted = [
        f"{each.key} as {name}={value} ({each.why})"
        for each in findings
        if plain(each.key) in _counterparts()
        for name, value in each.instead.items()
    ]
    parts = {"accepted without effect": idle, "taken over": converted}
    return ". ".join(f"{what}: {'; '.join(keys)}" for what, keys in parts.items() if keys)


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


@cache
def _counterparts() -> Mapping[str, Counterpart]:
    return MappingProxyType({plain(key): each for key, each in COUNTERPARTS.items()})


def _foreign(client: Client) -> Mapping[str, Foreign]:
    return {**_foreign_keys(), **client.foreign}


def _unknown(client: Client, others: Sequence[Client], spelling: str) -> ConfigException:
    bare = plain(spelling)
    for other in others:
        if bare in spellings(other) or bare in other.deprecated:
            return ConfigException(
                f"{spelling} is a key of the {other.word}, and this is {article(client.word)} "
                f"{client.word}'s configuration: take it out"
            )
    known = {spelled: row.name for spelled, row in spellings(client).items()}
    known.update((key, key) for key in client.deprecated)
    near = difflib.get_close_matches(bare.lower(), known, n=3, cutoff=0.7)
    names = list(dict.fromkeys(known[match] for match in near))
    if "_" in spelling and "." not in spelling:
        names = [name.replace(".", "_") for name in names]
    hint = f"; did you mean {' or '.join(names)}?" if names else ""
    return ConfigException(f"unknown key {spelling}{hint}")


def article(word: str) -> str:
    """The indefinite article before a word."""
    return "an" if word[0] in "aeiou" else "a"


def _callers_level() -> int:
    """Find the stack level of the first frame outside this library, for `warnings.warn`."""
    level = 0
    frame = inspect.currentframe()
    while frame is not None:
        name = frame.f_globals.get("__name__", "")
        if name != "prokurist" and not name.startswith("prokurist."):
            return level
        frame = frame.f_back
        level += 1
    return level
