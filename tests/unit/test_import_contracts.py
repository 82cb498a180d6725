"""No line of code stands in the wrong room without a test saying so.

import-linter's contracts stand in `pyproject.toml`; here they are run, and run
again on copies of the package with violations planted in them. What import-linter
cannot say is read off the syntax tree.
"""

import ast
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

import grimp
import pytest

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "prokurist"
RUN_CONTRACTS = """
import sys
sys.path.insert(0, ".")
sys.argv = ["lint-imports", "--no-cache", "--no-logo"]
from importlinter.cli import lint_imports_command
lint_imports_command()
"""
ROOMS = ("consumer", "network_thread", "events")
TIME_MODULES = frozenset({"time", "timeit", "sched"})
CLOCK_READINGS = frozenset({"now", "utcnow", "today"})
CIRCLES = {
    frozenset(
        {
            "events.accumulator." + each
            for each in ("appending", "batch", "delivery", "implementation")
        }
    ),
    frozenset(
        {
            "network_thread.connections." + each
            for each in ("connection", "connection_owner", "refusals")
        }
    ),
    frozenset({"records." + each for each in ("implementation", "record", "restoring", "run")}),
    frozenset(
        {"testing.virtual_time." + each for each in ("helping", "names", "network", "world")}
    ),
}
"""Modules that import each other; docs/adr/0018-rooms.md says why."""


WRONG: Final = (
    ("types/__init__.py", "import prokurist.events.clock", "Each room"),
    ("records/new.py", "import prokurist.events.clock", "Each room"),
    ("events/new.py", "import prokurist.network_thread", "Each room"),
    ("network_thread/new.py", "import prokurist.consumer", "Each room"),
    ("consumer/new.py", "import prokurist.network_thread", "The threads' rooms"),
    ("consumer/new.py", "import prokurist.logs", "The threads' rooms"),
    ("assembly/new.py", "import prokurist.consumer.consumer", "Each room"),
    (
        "network_thread/operations/new.py",
        "import prokurist.network_thread.cluster",
        "Each room of the",
    ),
    ("network_thread/attic.py", "", "Each room of the"),
    (
        "spark/source/new.py",
        "import prokurist.spark.watcher.listener",
        "Each room of spark",
    ),
    ("consumer/new.py", "import prokurist.metrics", "Each room"),
    ("attic.py", "", "Each room"),
    ("utils/__init__.py", "", "Each room"),
    ("consumer/new.py", "import prokurist.testing", "Nothing but the command line"),
    ("consumer/new.py", "import prokurist.cli", "Nothing imports the command line"),
    ("testing/new.py", "import prokurist.cli", "Nothing imports the command line"),
    ("cli/new.py", "import socket", "Sockets stay"),
    ("testing/new.py", "import prokurist.consumer", "testing knows"),
    ("testing/new.py", "import prokurist.network_thread", "testing knows"),
    ("testing/new.py", "import prokurist.testing.virtual_time", "Nothing but the plugin"),
    ("testing/new.py", "import asyncio", "Sockets stay"),
    ("testing/cluster/new.py", "import socket", "Sockets stay"),
    ("testing/virtual_time/new.py", "import prokurist.metrics", "testing knows"),
    ("network_thread/new.py", "import kio.schema", "kio stays"),
    ("records/new.py", "from kio import records", "kio stays"),
    ("network_thread/new.py", "import socket", "Sockets stay"),
    ("consumer/new.py", "import selectors", "Sockets stay"),
    ("events/new.py", "from ssl import SSLContext", "Sockets stay"),
    ("metrics/new.py", "def f():\n    import http.server", "Sockets stay"),
    ("spark/new.py", "import prokurist.network_thread", "spark uses what is public"),
    ("spark/new.py", "import prokurist.events.trace", "spark uses what is public"),
    ("testing/new.py", "import prokurist.spark", "Nothing but the command line imports sp"),
    ("metrics/new.py", "import prokurist.spark", "Each room"),
    ("records/new.py", "import pyspark.sql", "pyspark stays in spark"),
    ("compat/new.py", "import prokurist.network_thread", "compat uses what is public"),
    ("compat/kafka/new.py", "import prokurist.events.call", "compat uses what is public"),
    ("cli/new.py", "import prokurist.compat.kafka", "Nothing imports the faces"),
)
"""Lines in the wrong room: file, line, and how the name of the contract begins."""
RIGHT: Final = (
    ("consumer/consumer.py", "import prokurist.assembly"),
    ("network_thread/io/transport.py", "import socket, ssl, selectors"),
    ("testing/kafka/new.py", "import select, socket, kio, prokurist.events.clock"),
    ("testing/cluster/new.py", "import kio"),
    ("testing/virtual_time/new.py", "import prokurist.network_thread.io.network"),
    ("metrics/new.py", "import prokurist.consumer, prokurist.network_thread"),
    ("cli/new.py", "import prokurist.testing.broker, prokurist.network_thread.io"),
    ("cli/new.py", "import prokurist.spark"),
    (
        "spark/source/new.py",
        "import pyspark.sql, prokurist.events.clock, prokurist.metrics",
    ),
    ("spark/source/new.py", "import prokurist.consumer.consumer, prokurist.types"),
    ("assembly/new.py", "import prokurist.network_thread"),
    ("compat/new.py", "import prokurist.consumer.consumer, prokurist.events.clock"),
)
"""Lines in the right room: file and line."""


def broken_rules(source: str, name: str) -> list[str]:
    """What in a module breaks a rule of its room.

    Args:
        source: The module's text.
        name: Its file's path below the package, such as `events/clock.py`.

    Returns:
        A sentence for each line at fault.
    """
    rules = [imports_of_the_face]
    if name != "events/clock.py":
        rules.append(readings_of_the_time)
    tree = ast.parse(source)
    return [f"{name}:{line}: {why}" for rule in rules for line, why in rule(tree)]


def imports_of_the_face(tree: ast.AST) -> Iterator[tuple[int, str]]:
    """Nothing inside imports from `prokurist` itself: it resolves names for users."""
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module == "prokurist":
            rooms = {alias.name for alias in node.names}
            if not in_type_checking(tree, node):
                yield node.lineno, f"imports {sorted(rooms)} from the face of the package"
        elif isinstance(node, ast.Import) and any(a.name == "prokurist" for a in node.names):
            yield node.lineno, "imports the face of the package"
        elif isinstance(node, ast.ImportFrom) and node.level:
            yield node.lineno, "imports relatively: name the room"


def readings_of_the_time(tree: ast.AST) -> Iterator[tuple[int, str]]:
    """Only `events/clock.py` reads the time; the others are handed it."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                if alias.name.partition(".")[0] in TIME_MODULES:
                    yield node.lineno, f"imports {alias.name}"
        elif isinstance(node, ast.ImportFrom) and node.module in TIME_MODULES:
            yield node.lineno, f"imports from {node.module}"
        elif isinstance(node, ast.Attribute) and node.attr in CLOCK_READINGS:
            owner = ast.unparse(node.value).rpartition(".")[2]
            if owner in {"datetime", "date"}:
                yield node.lineno, f"reads {ast.unparse(node)}"


def in_type_checking(tree: ast.AST, wanted: ast.AST) -> bool:
    """Whether a node stands below `if TYPE_CHECKING:`."""
    return any(
        isinstance(node, ast.If)
        and ast.unparse(node.test).rpartition(".")[2] == "TYPE_CHECKING"
        and any(each is wanted for statement in node.body for each in ast.walk(statement))
        for node in ast.walk(tree)
    )


def lint(folder: Path) -> subprocess.CompletedProcess[str]:
    """Run the contracts over the package in a folder."""
    return subprocess.run(
        [
            sys.executable,
            "-c",
            RUN_CONTRACTS,
        ],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.parametrize("room", ROOMS)
def test_the_rooms_that_tell_the_story_stand_at_the_root(room: str) -> None:
    """`consumer`, `network_thread` and `events` are links into the package."""
    link = ROOT / room
    assert link.is_symlink()
    assert link.resolve() == (PACKAGE / room).resolve()


def test_every_folder_says_what_it_is_for() -> None:
    """No folder without a module, and none whose opening words are missing."""
    for folder in (PACKAGE, *(each for each in PACKAGE.rglob("*") if each.is_dir())):
        if folder.name != "__pycache__":
            opening = ast.get_docstring(ast.parse((folder / "__init__.py").read_text("utf-8")))
            assert opening, folder


def test_no_modules_import_each_other_but_those_that_are_named() -> None:
    """Imports inside functions and for type checkers count as well."""
    graph = grimp.build_graph("prokurist", cache_dir=None)
    found = set[frozenset[str]]()
    for module in graph.modules:
        after = graph.find_downstream_modules(module)
        circle = after & graph.find_upstream_modules(module)
        if circle - {module}:
            found.add(frozenset(each.removeprefix("prokurist.") for each in circle | {module}))
    assert found == CIRCLES


def test_the_contracts_hold() -> None:
    """The table of docs/design.md, as import-linter checks it."""
    run = lint(ROOT)
    assert run.returncode == 0, run.stdout + run.stderr


def planted(folder: Path, lines: Sequence[tuple[str, str]]) -> list[str]:
    """Copy the package and its contracts, and add lines; each `new.py` is a module of its own.

    Returns:
        For each line the name of the module that has it.
    """
    skip = shutil.ignore_patterns("__pycache__", "*.so", "*.c")
    shutil.copytree(PACKAGE, folder / "prokurist", ignore=skip)
    shutil.copy(ROOT / "pyproject.toml", folder)
    names = []
    for number, (file, line) in enumerate(lines):
        path = Path(file.replace("new.py", f"new_{number}.py"))
        target = folder / "prokurist" / path
        target.parent.mkdir(exist_ok=True)
        with target.open("a", encoding="utf-8") as out:
            out.write(f"\n{line}\n")
        parts = ("prokurist", *path.with_suffix("").parts)
        names.append(".".join(parts).removesuffix(".__init__"))
    return names


@pytest.fixture(scope="module")
def findings(tmp_path_factory: pytest.TempPathFactory) -> list[set[str]]:
    """For each line of `WRONG` the contracts that name its module, all planted in one copy."""
    folder = tmp_path_factory.mktemp("planted")
    names = planted(folder, [(file, line) for file, line, _ in WRONG])
    run = lint(folder)
    assert run.returncode == 1, run.stdout + run.stderr
    _, told = run.stdout.split("Broken contracts\n", 1)
    sections = re.split(r"\n(?=[^\n]+\n-+\n)", told)
    return [
        {
            section.splitlines()[0]
            for section in sections
            if re.search(rf"^- +{re.escape(name)}(?: -> |$)", section, re.MULTILINE)
        }
        for name in names
    ]


@pytest.mark.parametrize("case", range(len(WRONG)), ids=[f"{f}-{line}" for f, line, _ in WRONG])
def test_a_line_in_the_wrong_room_breaks_its_contract(
    findings: list[set[str]], case: int
) -> None:
    """Each violation is found, and by the contract that names it."""
    _, _, contract = WRONG[case]
    assert any(each.startswith(contract) for each in findings[case])


def test_lines_in_the_right_room_are_left_alone(tmp_path: Path) -> None:
    """The exceptions that the contracts name are really open."""
    planted(tmp_path, RIGHT)
    run = lint(tmp_path)
    assert run.returncode == 0, run.stdout + run.stderr


def test_every_module_keeps_the_rules_of_its_room() -> None:
    """Time is read in one module; nothing imports the face; imports name the room."""
    modules = list(PACKAGE.rglob("*.py"))
    assert len(modules) > 10
    broken = [
        rule
        for module in modules
        for rule in broken_rules(
            module.read_text("utf-8"), module.relative_to(PACKAGE).as_posix()
        )
    ]
    assert not broken, "\n".join(broken)


@pytest.mark.parametrize(
    "line",
    [
        "import time",
        "from time import monotonic",
        "import datetime\ndatetime.datetime.now()",
        "from datetime import datetime\nthen = datetime.utcnow()",
        "from datetime import date\ndate.today()",
        "from prokurist import errors",
        "import prokurist",
        "from . import tree",
    ],
)
def test_a_line_that_breaks_a_rule_is_found(line: str) -> None:
    """The rules are able to fail."""
    assert broken_rules(line, "consumer/new.py")


@pytest.mark.parametrize(
    ("line", "file"),
    [
        ("import time\ntime.monotonic()", "events/clock.py"),
        ("from datetime import timedelta", "consumer/new.py"),
        ("def f(clock): return clock.now()", "consumer/new.py"),
        ("from prokurist.errors import KafkaException", "consumer/new.py"),
        ("if TYPE_CHECKING:\n    from prokurist import errors", "__init__.py"),
    ],
)
def test_a_line_that_keeps_the_rules_is_not(line: str, file: str) -> None:
    """The rules find nothing else."""
    assert not broken_rules(line, file)


def test_no_file_outgrows_one_sitting() -> None:
    """A module past 600 lines wants a seam with a name; tables are read differently."""
    long = {
        module.relative_to(ROOT).as_posix(): lines
        for folder in (PACKAGE, ROOT / "tests")
        for module in folder.rglob("*.py")
        if (lines := len(module.read_text("utf-8").splitlines())) > 600
        and "generated" not in module.read_text("utf-8")[:400].lower()
    }
    assert not long
