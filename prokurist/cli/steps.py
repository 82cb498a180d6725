"""The steps that a doctor takes, with what became of each.

Thread: any; frozen values.
"""

from dataclasses import dataclass
from enum import Enum
from typing import Generic, TypeVar

Found = TypeVar("Found")


class StepResult(Enum):
    """The result of a step."""

    OK = "ok"
    WARNING = "warning"
    """It went well, and something about it is strange."""
    FAILED = "failed"
    SKIPPED = "skipped"


@dataclass(frozen=True, slots=True)
class Step:
    """A step of the doctor, with its result.

    Attributes:
        name: Which.
        verdict: Its result.
        finding: What was seen.
        seconds: How long it took.
        advice: What to do, where something is wrong.
    """

    name: str
    verdict: StepResult
    finding: str
    seconds: float | None = None
    advice: str | None = None


@dataclass(frozen=True, slots=True)
class Taken(Generic[Found]):
    """A step that was taken, and what it found if it went well."""

    step: Step
    found: Found | None = None
