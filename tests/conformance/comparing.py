"""Compares what two brokers answered to the same scenario, field by field."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

NOTHING = "(no such field)"


@dataclass(frozen=True)
class Step:
    """One request of a scenario and its answer, both normalised.

    Attributes:
        number: Its place in the scenario, from 1.
        api: The API; or what was looked at, such as `parked`.
        version: The API's version.
        who: The connection.
        asked: The request's values.
        answered: The answer's tree.
    """

    number: int
    api: str
    version: int
    who: str
    asked: Any
    answered: Any


@dataclass(frozen=True)
class Difference:
    """One field in which the answers differ.

    Attributes:
        scenario: The scenario, with the versions that it was played in.
        step: The real broker's step.
        path: The field, such as `responses[0].error_code`.
        real: What the real broker said.
        model: What the model said.
    """

    scenario: str
    step: Step
    path: str
    real: Any
    model: Any

    def __str__(self) -> str:
        step = self.step
        return (
            f"{self.scenario}, step {step.number}: {step.api} v{step.version} by {step.who}\n"
            f"    request {step.asked}\n"
            f"    field   {self.path}\n"
            f"    real    {self.real!r}\n"
            f"    model   {self.model!r}"
        )


def compare(scenario: str, real: list[Step], model: list[Step]) -> list[Difference]:
    """All fields in which two accounts of a scenario differ.

    Requests are compared as well: they differ where a scenario goes on with what an
    earlier answer said, and then nothing that follows can be compared.
    """
    found: list[Difference] = []
    for ours, theirs in zip(real, model, strict=False):
        if (ours.api, ours.version, ours.asked) != (theirs.api, theirs.version, theirs.asked):
            asked = differing("request", ours.asked, theirs.asked)
            first = next(asked, ("request", ours.api, theirs.api))
            return [*found, Difference(scenario, ours, *first)]
        found += [
            Difference(scenario, ours, path, *values)
            for path, *values in differing("", ours.answered, theirs.answered)
        ]
    if len(real) != len(model):
        last = (real or model)[-1]
        found.append(Difference(scenario, last, "number of steps", len(real), len(model)))
    return found


def differing(path: str, real: Any, model: Any) -> Iterator[tuple[str, Any, Any]]:
    """The leaves in which two trees differ, each with its path."""
    if isinstance(real, dict) and isinstance(model, dict):
        for name in {**real, **model}:
            inside = f"{path}.{name}" if path else name
            yield from differing(inside, real.get(name, NOTHING), model.get(name, NOTHING))
    elif isinstance(real, list) and isinstance(model, list):
        if len(real) != len(model):
            yield f"len({path})", len(real), len(model)
        for place, pair in enumerate(zip(real, model, strict=False)):
            yield from differing(f"{path}[{place}]", *pair)
    elif real != model:
        yield path, real, model
