"""What lands on a user's machine: the wheel, the sdist, and an install from them."""

import os
import shutil
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "prokurist"

pytestmark = pytest.mark.slow


def run(*command: str | Path, cwd: Path, **env: str) -> str:
    """Run a command that has to succeed; its output is the failure's text."""
    done = subprocess.run(
        command,
        cwd=cwd,
        env={**os.environ, **env},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout
    return done.stdout


def build(tree: Path, folder: Path, kind: str, **env: str) -> Path:
    """Build a distribution of the tree into a folder."""
    run(
        sys.executable, "-m", "build", "-q", "--no-isolation", f"--{kind}", "--outdir", folder,
        tree, cwd=folder, **env,
    )  # fmt: skip
    (made,) = folder.glob("prokurist-*")
    return made


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """The project as a checkout has it, links included, free of what was built before."""
    copy = tmp_path / "a checkout"
    skip = shutil.ignore_patterns("__pycache__", "*.so", "*.c")
    shutil.copytree(PACKAGE, copy / "prokurist", ignore=skip)
    for name in (
        "pyproject.toml",
        "pyspark_prokurist.py",
        "MANIFEST.in",
        "README.md",
        "LICENSE",
        "NOTICE",
        "CHANGELOG.md",
    ):
        shutil.copy(ROOT / name, copy)
    for room in ("consumer", "events", "network_thread"):
        (copy / room).symlink_to(Path("prokurist") / room)
    return copy


@pytest.fixture
def out(tmp_path: Path) -> Path:
    """Where to build into."""
    folder = tmp_path / "out"
    folder.mkdir()
    return folder


def modules(folder: Path) -> set[str]:
    """Every Python file and stub of the package, by its path."""
    return {
        each.relative_to(ROOT).as_posix()
        for pattern in ("*.py", "*.pyi", "py.typed")
        for each in folder.rglob(pattern)
    }


def check_it_holds_the_package_and_nothing_else(wheel: Path) -> list[str]:
    """One top-level name, every module of the tree, py.typed, no link, no source of C.

    And `pyspark_prokurist`: Spark finds a source by a top-level name of that form, or not.
    Returns what was compiled.
    """
    with zipfile.ZipFile(wheel) as archive:
        names = {name for name in archive.namelist() if ".dist-info/" not in name}
        links = [each for each in archive.infolist() if each.external_attr >> 28 == 0o12]
    assert {name.partition("/")[0] for name in names} == {"prokurist", "pyspark_prokurist.py"}
    found = {name for name in names if not name.endswith(".so")}
    assert found == modules(PACKAGE) | {"pyspark_prokurist.py"}
    assert not links
    return sorted(names - found)


def test_the_sdist_holds_what_a_build_needs(tree: Path, out: Path) -> None:
    """All modules and the Cython source; neither links nor anything built."""
    with tarfile.open(build(tree, out, "sdist")) as archive:
        members = archive.getmembers()
    names = {member.name.partition("/")[2] for member in members}
    assert modules(PACKAGE) | {"pyspark_prokurist.py"} <= names
    cython = {each.relative_to(ROOT).as_posix() for each in PACKAGE.rglob("*.p[yx][xi]")}
    assert len(cython) > 3
    assert cython | {"LICENSE", "NOTICE", "pyproject.toml"} <= names
    assert not [member.name for member in members if member.issym() or member.islnk()]
    assert not [name for name in names if name.endswith((".so", ".c", ".pyc"))]
    assert not names & {"consumer", "events", "network_thread"}


@pytest.mark.minutes
def test_a_user_s_script_may_be_called_consumer_and_use_the_package_events(
    tree: Path, out: Path, tmp_path: Path
) -> None:
    """`pip wheel .`, an empty environment, `consumer.py` and PyPI's `events`: all work."""
    # The optimiser takes most of the time, and makes no difference here.
    project = tree / "pyproject.toml"
    project.write_text(project.read_text().replace('"-O3"', '"-O0"'))
    run(sys.executable, "-m", "pip", "wheel", "-q", "--no-deps", "-w", out, ".", cwd=tree)
    (wheel,) = out.glob("prokurist-*.whl")
    assert len(check_it_holds_the_package_and_nothing_else(wheel)) > 3
    home = tmp_path / "a user's home"
    home.mkdir()
    run(sys.executable, "-m", "venv", "env", cwd=home)
    python = home / "env" / "bin" / "python"
    run(python, "-m", "pip", "install", "-q", wheel, "events", cwd=home)
    (home / "consumer.py").write_text(
        "import events, sys\n"
        "import prokurist.consumer, prokurist.events, prokurist.network_thread\n"
        "from prokurist import TopicPartition, __version__\n"
        "from prokurist.records.implementation import CHOICE\n"
        "assert events.Events, events\n"
        "assert 'site-packages' in prokurist.__file__, prokurist.__file__\n"
        "print(__version__, TopicPartition('orders', 0), CHOICE.name)\n"
    )
    printed = run(python, "consumer.py", cwd=home, PYTHONPATH="", PROKURIST_IMPL="")
    version, partition, implementation = printed.split()
    assert version in wheel.name
    assert partition == "orders-0"
    assert implementation in {"native", "python"}


def test_without_a_compiler_the_pure_twin_serves(tree: Path, out: Path, tmp_path: Path) -> None:
    """A failed build still makes a wheel; asking it for the native twin says what failed."""
    wheel = build(tree, out, "wheel", CC="false")
    assert check_it_holds_the_package_and_nothing_else(wheel) == []
    target = tmp_path / "site"
    run(
        sys.executable, "-m", "pip", "install", "-q", "--no-deps", "--target", target, wheel,
        cwd=tmp_path,
    )  # fmt: skip
    code = "from prokurist.records.implementation import CHOICE; print(CHOICE.name)"
    env = {"PYTHONPATH": str(target), "PROKURIST_IMPL": ""}
    assert run(sys.executable, "-c", code, cwd=tmp_path, **env).split() == ["python"]
    refused = subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, **env, "PROKURIST_IMPL": "native"},
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert refused.returncode == 1
    assert "PROKURIST_IMPL='native' cannot be had (native: No module named" in refused.stderr
    assert "C compiler" in refused.stderr
