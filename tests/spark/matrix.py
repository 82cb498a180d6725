"""`tests/spark/test_versions.py` with other versions, and Spark Connect: `make spark-matrix`.

    python -m tests.spark.matrix [--only 4.0.5]

The versions of a row are laid into a folder below `build/spark`, once, and stand before this
environment's own; what else the tests need is taken from here. Spark's workers see them
too: they are given the same path.
"""

import argparse
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Final, NamedTuple

ROOT: Final = Path(__file__).parents[2]
TESTS: Final = "tests/spark/test_versions.py"
OF_CONNECT: Final = "tests/spark/test_connect.py"

BORNE: Final = (
    "ignore:unclosed:ResourceWarning",
    "default::FutureWarning",
    "default:The copy k",
)
"""Older pysparks leave their sockets to the collector; none is ready for the newest pandas."""


CONNECT: Final = ("grpcio-status", "googleapis-common-protos", "zstandard")


class Versions(NamedTuple):
    """One row."""

    pyspark: str
    pyarrow: str
    pandas: str
    grpcio: str = ""

    def __str__(self) -> str:
        return ", ".join(f"{name} {version}" for name, version in self._given().items())

    def _given(self) -> dict[str, str]:
        return {name: version for name, version in self._asdict().items() if version}

    @property
    def folder(self) -> Path:
        """Where it is laid."""
        return ROOT / "build" / "spark" / "-".join(self._given().values())

    @property
    def requirements(self) -> list[str]:
        """As pip reads them; with grpcio comes all that Spark Connect needs."""
        given = [f"{name}=={version}" for name, version in self._given().items()]
        return [*given, *CONNECT] if self.grpcio else given

    @property
    def tests(self) -> str:
        """What is run with it."""
        return OF_CONNECT if self.grpcio else TESTS


MATRIX: Final = (
    Versions("4.0.5", "17.0.0", "2.2.3"),
    Versions("4.1.4", "26.0.1", "2.3.3"),
    Versions("4.3.0", "26.0.1", "3.1.1"),
    Versions("4.2.1", "26.0.1", "2.3.3", grpcio="1.85.1"),
)
"""The oldest and the newest of each; what comes between is `make test`'s."""


def lay(row: Versions) -> None:
    """Have its versions there; a folder that is whole is left as it is."""
    whole = row.folder / "whole"
    if not whole.exists():
        pip = [sys.executable, "-m", "pip", "install", "-q", "--upgrade"]
        # Spark comes as its source; what builds it is here.
        options = ["--no-build-isolation", "--target", str(row.folder)]
        subprocess.run([*pip, *options, *row.requirements], check=True)
        whole.touch()


def holds(row: Versions) -> bool:
    """Whether the tests pass with it."""
    path = os.pathsep.join([str(row.folder), str(ROOT)])
    warnings = [word for each in BORNE for word in ("-W", each)]
    run = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", *warnings, row.tests],
        cwd=ROOT,
        env=os.environ | {"PYTHONPATH": path},
        check=False,
    )
    return run.returncode == 0


def main() -> int:
    """Every row, and a table of what came of it."""
    parser = argparse.ArgumentParser(prog="python -m tests.spark.matrix", description=__doc__)
    parser.add_argument("--only", default="", metavar="PYSPARK", help="the rows of this one")
    given = parser.parse_args()
    table = []
    for row in MATRIX:
        if row.pyspark.startswith(given.only):
            sys.stdout.write(f"== {row}\n")
            sys.stdout.flush()
            lay(row)
            began = time.monotonic()
            table.append((row, holds(row), time.monotonic() - began))
    for row, passed, took in table:
        sys.stdout.write(f"{row}: {'passed' if passed else 'FAILED'} in {took:.0f} s\n")
    return not all(passed for _, passed, _ in table)


if __name__ == "__main__":
    sys.exit(main())
