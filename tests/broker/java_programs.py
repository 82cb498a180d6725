"""Kafka's own programs in Java, as clients that are not ours."""

import subprocess
from typing import Final

import pytest

from prokurist.testing.kafka import DEFAULT_VERSION
from prokurist.testing.kafka.class_archive import archive_options, find_archive
from prokurist.testing.kafka.jars import cached_jars
from prokurist.testing.kafka.java import find_java
from prokurist.testing.kafka.properties import QUICK_JAVA

WITHIN: Final = 120.0


def java(*arguments: str, given: bytes = b"") -> list[str]:
    """Run Kafka's Java: the lines that it prints.

    Args:
        arguments: What follows the class path.
        given: Its standard input.
    """
    done = subprocess.run(
        command(*arguments),
        input=given,
        capture_output=True,
        timeout=WITHIN,
        check=False,
    )
    assert done.returncode == 0, done.stderr.decode()
    return done.stdout.decode().splitlines()


def command(*arguments: str, heap: str = "-Xmx128m") -> list[str]:
    """The command line of one of Kafka's programs; skips where there is no Kafka.

    Args:
        arguments: What follows the class path.
        heap: How much memory it may take.
    """
    jars = cached_jars(DEFAULT_VERSION)
    if jars is None:
        pytest.skip("Kafka's jars are not here")
    program = find_java(DEFAULT_VERSION)
    # The archive of the brokers' classes has most of the clients', too.
    quick = *QUICK_JAVA, *archive_options(find_archive(program, jars))
    return [str(program.path), heap, *quick, "-cp", f"{jars}/*", *arguments]
