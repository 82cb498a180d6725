"""Steps of a doctor, with their results.

Thread: any; frozen values.
"""

from enum import Enum
from typing import Generic, TypeVar

from prokurist.lazy_dataclasses import dataclass

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
        name: Its name.
        verdict: Its result.
        finding: The finding, in words.
        seconds: How long it took.
        advice: The advice on a failure.
    """

    name: str
    verdict: StepResult
    finding: str
    seconds: float | None = None
    advice: str | None = None


@dataclass(frozen=True, slots=True)
class Taken(Generic[Found]):
    """A finished step, with its finding if it succeeded."""

    step: Step
    found: Found | None = None
