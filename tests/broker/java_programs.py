"""Kafka's own programs in Java, as clients that are not ours."""

import subprocess
from typing import Final

import pytest

from prokurist.testing.kafka import DEFAULT_VERSION
from prokurist.testing.kafka.jars import cached_jars
from prokurist.testing.kafka.java import find_java

WITHIN: Final = 120.0


def java(*arguments: str, given: bytes = b"") -> list[str]:
    """Run Kafka's Java: the lines that it prints.

    Args:
        arguments: What follows the class path.
        given: Its standard input.
    """
    jars = cached_jars(DEFAULT_VERSION)
    if jars is None:
        pytest.skip("Kafka's jars are not here")
    program = str(find_java(DEFAULT_VERSION).path)
    done = subprocess.run(
        [program, "-Xmx128m", "-cp", f"{jars}/*", *arguments],
        input=given,
        capture_output=True,
        timeout=WITHIN,
        check=False,
    )
    assert done.returncode == 0, done.stderr.decode()
    return done.stdout.decode().splitlines()
