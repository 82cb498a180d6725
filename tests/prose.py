"""Lint of the package's prose: docstrings that state, reprs that name their class.

`python -m tests.prose`, which `make lint` runs, prints what breaks a rule, and exits with 1 if
anything does. The bounds fall as texts are mended, and never rise.
"""

import ast
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Final, NamedTuple

ROOT: Final = Path(__file__).parents[1]
PACKAGE: Final = ROOT / "prokurist"

QUESTION: Final = re.compile(r"(What|Who|Whose|Which|How|Whether|Where|Why)\b")
RELATIVE: Final = re.compile(r"\b(what|which|whose|whether)\b", re.IGNORECASE)
VAGUE: Final = re.compile(r"\b(it|that|they|one|others)\b", re.IGNORECASE)
WORD: Final = re.compile(r"[A-Za-z']+")

MOST_QUESTIONS: Final = 22
"""Docstrings whose first line begins like a question."""
MOST_RELATIVE: Final = 7.0
"""What, which, whose and whether in 1000 words of docstrings."""
MOST_VAGUE: Final = 56.7
"""It, that, they, one and others in 1000 words of docstrings."""

NAMED_BY_KEY: Final = frozenset({"ClientCredentials", "CallableSource", "UnsecuredSource"})
"""Classes that error texts name by their configuration key."""


class Place(NamedTuple):
    """A line of the package."""

    path: str
    line: int
    text: str


def trees() -> Iterator[tuple[str, ast.Module]]:
    """Parse each module of the package."""
    for module in sorted(PACKAGE.rglob("*.py")):
        yield str(module.relative_to(ROOT)), ast.parse(module.read_text("utf-8"))


def docstrings() -> Iterator[Place]:
    """Return the docstrings of modules, classes and functions, and of attributes."""
    for path, tree in trees():
        for node in ast.walk(tree):
            body = getattr(node, "body", None)
            for child in body if isinstance(body, list) else ():
                value = child.value if isinstance(child, ast.Expr) else None
                if isinstance(value, ast.Constant) and isinstance(value.value, str):
                    yield Place(path, child.lineno, value.value.strip())


def questions() -> list[Place]:
    """Return the docstrings that begin like a question."""
    return [each for each in docstrings() if QUESTION.match(each.text)]


def share(pattern: re.Pattern[str]) -> float:
    """Count matches in 1000 words of docstrings."""
    texts = [each.text for each in docstrings()]
    words = sum(len(WORD.findall(text)) for text in texts)
    return 1000 * sum(len(pattern.findall(text)) for text in texts) / words


def first_text(value: ast.expr | None) -> str | None:
    """Return the text with which a string begins; None where it begins with a value."""
    if isinstance(value, ast.JoinedStr) and value.values:
        value = value.values[0]
    return value.value if isinstance(value, ast.Constant) and type(value.value) is str else None


def foreign_reprs() -> list[Place]:
    """Return the reprs that begin with another name than that of their class."""
    found = []
    for path, tree in trees():
        classes = [node for node in ast.walk(tree) if isinstance(node, ast.ClassDef)]
        for owner in classes:
            if owner.name in NAMED_BY_KEY:
                continue
            for method in owner.body:
                if not isinstance(method, ast.FunctionDef) or method.name != "__repr__":
                    continue
                for node in ast.walk(method):
                    text = first_text(node.value) if isinstance(node, ast.Return) else None
                    if text and not re.match(rf"<?{owner.name}\b", text):
                        found.append(Place(path, method.lineno, f"{owner.name}: {text}"))
    return found


def main() -> int:
    """Print what breaks a rule; return the exit code."""
    problems = [f"{each.path}:{each.line}: repr of {each.text}" for each in foreign_reprs()]
    asked = questions()
    if len(asked) > MOST_QUESTIONS:
        problems.append(
            f"{len(asked)} docstrings begin like a question, where {MOST_QUESTIONS} did: state "
            f"what the thing does, or is (--list prints them)"
        )
    for name, pattern, most in (
        ("what/which/whose/whether", RELATIVE, MOST_RELATIVE),
        ("it/that/they/one/others", VAGUE, MOST_VAGUE),
    ):
        found = share(pattern)
        if found > most:
            problems.append(f"{name}: {found:.1f} of 1000 words, where there were {most}")
    if "--list" in sys.argv:
        problems += [f"{each.path}:{each.line}: {each.text.splitlines()[0]}" for each in asked]
    for problem in problems:
        sys.stderr.write(problem + "\n")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
