"""The jars of Spark's own Kafka source, copied by Maven into the cache of Kafka's jars.

Maven's local repository is not read: its place depends on settings and the password
file, not on HOME.
"""

import subprocess
from pathlib import Path
from typing import Final

from prokurist.testing.kafka.errors import MavenFailed, tail
from prokurist.testing.kafka.jars import cache_folder, find_maven

CONNECTOR: Final = (
    "org.apache.spark:spark-sql-kafka-0-10_2.13:4.2.0",
    "org.apache.spark:spark-token-provider-kafka-0-10_2.13:4.0.0",
    "org.apache.kafka:kafka-clients:3.9.1",
    "org.apache.commons:commons-pool2:2.12.1",
)
"""The source and its dependencies, one by one: a transitive resolution fails."""

_COPY: Final = "org.apache.maven.plugins:maven-dependency-plugin:3.8.1:copy"


def connector_jars() -> list[Path]:
    """The jars, fetched if they are not in the cache.

    Raises:
        MavenMissing: They must be fetched, and there is no Maven.
        MavenFailed: Maven could not fetch one of them.
    """
    folder = cache_folder() / "spark-connector"
    jars = []
    for coordinates in CONNECTOR:
        _, artifact, version = coordinates.split(":")
        jar = folder / f"{artifact}-{version}.jar"
        if not jar.exists():
            _copy(coordinates, folder)
        jars.append(jar)
    return jars


def _copy(coordinates: str, folder: Path) -> None:
    argv = [str(find_maven()), "-q", "-B", _COPY, f"-Dartifact={coordinates}"]
    run = subprocess.run(
        [*argv, f"-DoutputDirectory={folder}"], capture_output=True, text=True, check=False
    )
    if run.returncode:
        raise MavenFailed(
            f"Maven could not fetch {coordinates} (exit code {run.returncode})",
            way_out="is there a network?",
            detail=tail(run.stdout.splitlines(), 12),
        )
