"""What `prokurist.spark` exports, and what importing it loads."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import prokurist.spark

NAMES = {
    "Checkpoint",
    "CheckpointException",
    "CommitBackwardsException",
    "CommitListener",
    "DataLossException",
    "GroupInUseException",
    "Lag",
    "LedgerException",
    "Loss",
    "OffsetManager",
    "OffsetPlan",
    "OffsetRange",
    "Query",
    "SinkRowException",
    "kafka_sink",
    "register",
    "watch",
}
WANT_SPARK = {"CommitListener", "kafka_sink", "register", "watch"}


def test_the_public_names_are_these() -> None:
    """A name comes or goes only together with this list, and with the changelog."""
    assert set(prokurist.spark.__all__) == NAMES
    assert set(dir(prokurist.spark)) >= NAMES


@pytest.mark.parametrize("name", sorted(NAMES))
def test_each_name_resolves(name: str) -> None:
    """What is promised is there, and stays once it was asked for."""
    if name in WANT_SPARK:
        pytest.importorskip("pyspark", reason="PySpark is not installed")
    assert getattr(prokurist.spark, name) is getattr(prokurist.spark, name)


def test_another_name_is_an_attribute_error() -> None:
    """As for any module."""
    with pytest.raises(AttributeError, match=r"'prokurist\.spark' has no attribute 'Offset'"):
        prokurist.spark.Offset  # noqa: B018 - the access is the test


def test_type_checkers_and_the_run_time_see_the_same() -> None:
    """The imports below TYPE_CHECKING and the table that resolves them are one list."""
    tree = ast.parse(Path(prokurist.spark.__file__).read_text("utf-8"))
    block = next(node for node in tree.body if isinstance(node, ast.If))
    seen = {
        (alias.asname, node.module)
        for node in block.body
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }
    assert seen == set(prokurist.spark._HOMES.items())


def test_the_manager_needs_neither_pyspark_nor_pyarrow() -> None:
    """A driver that only commits needs nothing beside the client."""
    code = (
        f"from prokurist.spark import {', '.join(sorted(NAMES - WANT_SPARK))}\n"
        "import sys; print(*{'pyspark', 'pyarrow', 'kio'} & set(sys.modules))"
    )
    loaded = subprocess.run(
        [sys.executable, "-c", f"import prokurist.spark\n{code}"],
        capture_output=True,
        text=True,
        check=True,
    ).stdout.split()
    assert not {"pyspark", "pyarrow"} & set(loaded)


def test_without_spark_it_says_what_to_install() -> None:
    """By the extra's name."""
    code = "import sys; sys.modules['pyspark'] = None; import prokurist.spark as p; p.watch"
    run = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=False
    )
    assert run.stderr.splitlines()[-1] == (
        'ImportError: prokurist.spark.watch needs pyspark: pip install "prokurist[spark]"'
    )
