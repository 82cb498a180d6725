"""Each native module stands in the one list that builds and wheels go by."""

import re
import runpy
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[2]
PROJECT = (ROOT / "pyproject.toml").read_text("utf-8")


def test_pyproject_lists_every_native_module() -> None:
    """A Cython source that is not listed would be in no wheel."""
    listed = {
        source
        for module in tomllib.loads(PROJECT)["tool"]["setuptools"]["ext-modules"]
        for source in module["sources"]
    }
    there = {
        each.relative_to(ROOT).as_posix() for each in (ROOT / "prokurist").rglob("_native*.pyx")
    }
    assert listed == there


def test_an_installation_s_check_loads_every_native_module() -> None:
    """Every native module is imported by the rooms that the check asks for their twins."""
    check = (ROOT / "tools" / "check_install.py").read_text("utf-8")
    for module in tomllib.loads(PROJECT)["tool"]["setuptools"]["ext-modules"]:
        room = module["name"].rpartition("._native_")[2].removeprefix("prokurist.")
        assert re.search(rf'"{room.partition(".")[0]}":', check), module["name"]


def test_the_pure_wheel_s_project_has_no_native_module_and_all_else() -> None:
    """Only the tables of extension modules are taken out of `pyproject.toml`."""
    tables = runpy.run_path(str(ROOT / "tools" / "wheels.py"))["EXTENSION_TABLE"]
    pure = tomllib.loads(tables.sub("", PROJECT))
    project = tomllib.loads(PROJECT)
    assert project["tool"]["setuptools"].pop("ext-modules")
    assert pure == project
