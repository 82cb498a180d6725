"""Every name in docs/design.md exists in the code."""

import ast
import re
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "prokurist"
PAGE = ROOT / "docs" / "design.md"
LINES = 270
FENCE = re.compile(r"^```.*?^```$", re.MULTILINE | re.DOTALL)
QUOTED = re.compile(r"`([^`]+)`")
PYTHON = frozenset({"await", "finally", "now", "setdefault", "import prokurist"})
THREADS = frozenset(
    {
        "<client id>-network",
        "prokurist-admin-call",
        "prokurist-parked-messages",
        "prokurist-schema-registry",
        "prokurist-spark-committer",
    }
)


def quoted(page: str) -> list[str]:
    """What a page has between backticks, once each, outside of blocks of code."""
    return sorted(set(QUOTED.findall(FENCE.sub("", page))))


@cache
def defined() -> dict[str, frozenset[str]]:
    """The names that the package defines, each with the members of its classes."""
    found: dict[str, set[str]] = {}
    bases: dict[str, set[str]] = {}
    for path in PACKAGE.rglob("*.py"):
        tree = ast.parse(path.read_text("utf-8"))
        for node in ast.walk(tree):
            if isinstance(node, ast.ClassDef):
                found.setdefault(node.name, set()).update(members(node))
                bases.setdefault(node.name, set()).update(
                    ast.unparse(each).partition("[")[0] for each in node.bases
                )
            elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                found.setdefault(node.name, set())
        for statement in tree.body:
            for target in targets(statement):
                found.setdefault(target, set())
    return {name: frozenset(inherited(name, found, bases)) for name in found}


def inherited(name: str, found: dict[str, set[str]], bases: dict[str, set[str]]) -> set[str]:
    """The members of a class and of all its bases in the package."""
    above = (inherited(base, found, bases) for base in bases.get(name, ()) if base in found)
    return found[name].union(*above)


@cache
def keys() -> frozenset[str]:
    """The names of the configuration's keys that the consumer takes."""
    source = (PACKAGE / "config" / "typed.py").read_text("utf-8")
    return frozenset(
        each.target.id.replace("_", ".")
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.ClassDef)
        for each in node.body
        if isinstance(each, ast.AnnAssign) and isinstance(each.target, ast.Name)
    )


def members(made: ast.ClassDef) -> set[str]:
    """Methods of a class, and the attributes that it or its methods set."""
    names = {target for statement in made.body for target in targets(statement)}
    for node in ast.walk(made):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            names.add(node.name)
        elif isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
            names.add(node.attr)
    return names


def targets(statement: ast.stmt) -> list[str]:
    """The plain names that a statement assigns to."""
    if isinstance(statement, ast.Assign):
        return [each.id for each in statement.targets if isinstance(each, ast.Name)]
    if isinstance(statement, ast.AnnAssign) and isinstance(statement.target, ast.Name):
        return [statement.target.id]
    return []


def exists(name: str) -> bool:
    """Whether a name is a file, a folder, a key or something that the package defines."""
    if name in PYTHON | THREADS or name in keys():
        return True
    if any((base / name).exists() for base in (PACKAGE, ROOT, PACKAGE / "network_thread")):
        return True
    if (PACKAGE / f"{name}.py").exists() or (PACKAGE / "testing" / name).exists():
        return True
    owner, _, member = name.removesuffix("()").partition(".")
    return owner in defined() and (not member or member in defined()[owner])


@pytest.mark.parametrize("name", quoted(PAGE.read_text("utf-8")))
def test_a_name_in_the_design_exists(name: str) -> None:
    """Each word between backticks is a file, a folder, a key or a name of the package."""
    assert exists(name)


def test_a_name_that_is_gone_is_found() -> None:
    """A file that was moved and a method that was renamed are both reported."""
    assert not exists("events/no_such_file.py")
    assert not exists("Consumer.no_such_method")
    assert not exists("NoSuchClass")


def test_the_design_reads_in_one_sitting() -> None:
    """The page is short enough to be kept true."""
    assert len(PAGE.read_text("utf-8").splitlines()) <= LINES
