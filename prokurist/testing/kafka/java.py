"""Search for a Java that can run the broker; its version is asked, not guessed.

Thread: any; no state.
"""

import os
import re
import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from prokurist.lazy_dataclasses import dataclass
from prokurist.testing.kafka.errors import JavaMissing, JavaTooOld

ANSWER_WITHIN: Final = 20.0
_VERSION: Final = re.compile(r'version "(?:1\.)?(\d+)')


@dataclass(frozen=True, slots=True)
class Java:
    """A Java that runs.

    Attributes:
        path: The executable.
        major: 17 for Java 17; 8 for version 1.8.
        told: Its own text about its version.
    """

    path: Path
    major: int
    told: str = ""


def needed_java(kafka_version: str) -> int:
    """The oldest Java that runs the broker of this version of Kafka."""
    return 17 if int(kafka_version.split(".", maxsplit=1)[0]) >= 4 else 11


def find_java(kafka_version: str, environ: Mapping[str, str] | None = None) -> Java:
    """The Java of `JAVA_HOME`, else the one on the path, if it is new enough.

    Args:
        kafka_version: The Kafka that it shall run.
        environ: The environment; this process's own if None.

    Raises:
        JavaMissing: There is none, or it does not run.
        JavaTooOld: It is older than this Kafka needs.
    """
    environ = os.environ if environ is None else environ
    needed = needed_java(kafka_version)
    path = _path_of_java(environ, needed)
    try:
        ran = subprocess.run(
            [str(path), "-version"],
            capture_output=True,
            stdin=subprocess.DEVNULL,
            timeout=ANSWER_WITHIN,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise JavaMissing(
            f"{path} does not run: {error}", way_out=f"install Java {needed} or newer"
        ) from error
    said = (ran.stderr + ran.stdout).decode(errors="replace")
    found = _VERSION.search(said)
    if ran.returncode != 0 or found is None:
        raise JavaMissing(
            f"{path} -version failed with exit code {ran.returncode}",
            way_out=f"install Java {needed} or newer",
            detail=said,
        )
    java = Java(path, int(found[1]), said)
    if java.major < needed:
        raise JavaTooOld(
            f"Java {java.major} found, Kafka {kafka_version} needs {needed}",
            way_out=f"{path} is what was found; point JAVA_HOME at a Java {needed} or newer",
        )
    return java


def _path_of_java(environ: Mapping[str, str], needed: int) -> Path:
    if home := environ.get("JAVA_HOME"):
        path = Path(home) / "bin" / "java"
        if not path.is_file():
            raise JavaMissing(
                f"JAVA_HOME has no bin/java: {home}",
                way_out=f"point it at a Java {needed} or newer, or unset it to use the path's",
            )
        return path
    found = shutil.which("java", path=environ.get("PATH"))
    if found is None:
        raise JavaMissing(
            "no Java on the path",
            way_out=f"install Java {needed} or newer, or point JAVA_HOME at one",
        )
    return Path(found)
