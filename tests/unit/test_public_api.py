"""The public API is written out: a change of it is a line of a diff."""

import difflib
import os
import re
import subprocess
import sys

import pytest

import prokurist
from prokurist import errors, metrics, otel, parallel, spark, timeline
from tests.public_api import ROOT, TEXT

ADVICE = """\
the public API and tests/public_api.txt differ. If that is meant: run `make generated`, name the
change in CHANGELOG.md, and follow the policy of deprecation in docs/support.md: nothing public
is removed or renamed before one minor release has deprecated it. + is the code, - the text:
"""


def written() -> str:
    """Write the public API in a process of its own, whose twins are the pure ones."""
    return subprocess.run(
        [sys.executable, "-m", "tests.public_api"],
        cwd=ROOT,
        env=os.environ | {"PROKURIST_IMPL": "python", "PYTHONIOENCODING": "utf-8"},
        encoding="utf-8",
        stdout=subprocess.PIPE,
        check=True,
    ).stdout


def test_the_text_is_current() -> None:
    """A public name, a default or an option changes only together with the text."""
    text, code = TEXT.read_text("utf-8").splitlines(), written().splitlines()
    changed = list(difflib.unified_diff(text, code, lineterm="", n=0))[2:]
    if changed:
        pytest.fail(ADVICE + "\n".join(changed), pytrace=False)


def test_every_public_name_stands_in_the_text() -> None:
    """Each name of `__all__` has a line, and no line has an address or a folder in it."""
    text = TEXT.read_text("utf-8")
    names = {re.split(r"[(: ]", line)[0] for line in text.splitlines()}
    for module in (prokurist, errors, metrics, otel, parallel, spark, timeline):
        missing = [each for each in module.__all__ if f"{module.__name__}.{each}" not in names]
        assert missing == []
    assert " at 0x" not in text
    assert str(ROOT) not in text


@pytest.mark.parametrize(
    "line",
    [
        "prokurist.KafkaConsumer.poll(",
        "prokurist.ConsumerRecord.value: property",
        "prokurist.EmptyCause.PAUSED = 'paused'",
        "prokurist.OffsetAndMetadata.leader_epoch: int | None = None",
        "prokurist.TimeoutException.attempts",
        "prokurist.compat.kafka.KafkaConsumer.poll(",
        "prokurist.testing.broker.EmbeddedBroker.freeze(",
        "TimeoutException(RetriableException, TimeoutError): retriable=True",
        "group.id: string, default None",
        "prokurist_consumer_records_lag: gauge (client_id, ",
        "client_started: INFO, prokurist.client (",
        "prokurist consume -t, --topic: list[str], required",
        "fixture prokurist_cluster: session",
        "option --prokurist-kafka-version",
    ],
)
def test_each_kind_of_entry_is_there(line: str) -> None:
    """Methods, properties, members, fields, exceptions, keys, metrics, events, options."""
    assert re.search("^" + re.escape(line), TEXT.read_text("utf-8"), re.MULTILINE)
