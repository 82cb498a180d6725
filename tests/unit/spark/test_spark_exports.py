"""The public names of `prokurist.spark`, what importing it costs, and what it says alone."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import prokurist.spark


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
    assert (
        set(prokurist.spark.__all__) == set(prokurist.spark._HOMES) <= set(dir(prokurist.spark))
    )


def test_importing_is_light() -> None:
    """Neither Spark nor Arrow comes along."""
    code = "import prokurist.spark, sys; print(*sorted(sys.modules))"
    loaded = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    ).stdout.split()
    assert "prokurist.spark" in loaded
    assert not {"pyspark", "pyarrow", "kio", "socket"}.intersection(loaded)


def test_without_spark_it_says_what_to_install() -> None:
    """By the extra's name."""
    code = "import sys; sys.modules['pyspark'] = None; import prokurist.spark as p; p.watch"
    run = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=False
    )
    assert run.stderr.splitlines()[-1] == (
        'ImportError: prokurist.spark.watch needs pyspark: pip install "prokurist[spark]"'
    )


def test_another_name_is_an_attribute_error() -> None:
    """As for any module."""
    with pytest.raises(AttributeError, match="no attribute 'wach'"):
        prokurist.spark.wach  # noqa: B018 - the same
