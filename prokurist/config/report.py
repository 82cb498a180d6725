"""Report on a configuration, checked without using it: the meaning of each key here.

Invariants: no text and no repr holds the value of a secret, nor that of a key that is not
known. The values in `translated` are as they were given, secrets as `Secret`.
"""

from collections.abc import Iterator, Mapping
from dataclasses import field
from enum import Enum
from types import MappingProxyType

from prokurist.config.secret import MASK, Secret
from prokurist.lazy_dataclasses import dataclass


class Verdict(Enum):
    """Outcomes for a key."""

    SUPPORTED = "supported"
    TRANSLATED = "translated"
    WITHOUT_EFFECT = "without effect"
    FAULTY = "faulty"


@dataclass(frozen=True, slots=True)
class KeyFinding:
    """Finding about one key.

    Attributes:
        key: The key as it was written; empty for a fault that concerns several keys, or one
            that is missing.
        verdict: Its outcome.
        why: The fault with the way out, why it has no effect, or what differs; else empty.
        instead: Our key and its value, where the verdict is `TRANSLATED`.
    """

    key: str
    verdict: Verdict
    why: str = ""
    instead: Mapping[str, object] = field(default_factory=lambda: MappingProxyType({}))


@dataclass(frozen=True, slots=True)
class ConfigReport:
    """Findings about all keys of a configuration.

    Attributes:
        findings: One for each key in the order in which they were given, then the faults that
            concern several.
        translated: The keys that have an effect, by our names; a configuration in itself, if
            there is no fault.
    """

    findings: tuple[KeyFinding, ...]
    translated: Mapping[str, object]

    @property
    def faults(self) -> tuple[str, ...]:
        """The text of every fault; empty if the configuration can be used."""
        return tuple(each.why for each in self.findings if each.verdict is Verdict.FAULTY)

    def properties(self) -> Iterator[str]:
        """The translated keys as lines of a property file.

        A secret is a comment that names its key, and so is an object of Python's.
        """
        for name, value in self.translated.items():
            if isinstance(value, Secret):
                yield f"# {name}={MASK}"
            elif written := property_text(value):
                yield f"{name}={written}"
            else:
                yield f"# {name}: a {type(value).__name__}, which is given in Python"


def property_text(value: object) -> str:
    """Write a value as a property file has it; empty where it cannot be."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, (list, tuple)) and all(isinstance(item, str) for item in value):
        value = ",".join(value)
    if isinstance(value, str):
        return value.replace("\\", "\\\\").replace("\n", "\\n")
    return str(value) if isinstance(value, (int, float)) else ""
