"""docs/cli.md: every command on it is run, and answers what the page says."""

import re
import shlex
from pathlib import Path

import pytest

from prokurist.cli import entry
from prokurist.cli.brokers import fill
from prokurist.testing.broker import EmbeddedBroker

PAGE = (Path(__file__).parents[2] / "docs" / "cli.md").read_text("utf-8")
BLOCKS = re.findall(r"^```console\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)
TOPICS = {"orders": 3, "payments": 1}
TIME = re.compile(r" +[\d.]+ m?s  ")


def told(text: str) -> list[str]:
    """The lines, without how long a step took and what differs between machines."""
    plain = TIME.sub("  TIME  ", text.replace("::1, ", ""))
    return [line.rstrip() for line in plain.splitlines()]


def examples() -> list[tuple[str, str]]:
    """Each command of the page, and what stands below it."""
    return [
        (command, printed)
        for block in BLOCKS
        for command, printed in re.findall(r"^\$ (.*)\n((?:(?!\$ ).*\n)*)", block, re.MULTILINE)
    ]


def test_every_command_answers_as_the_page_says(
    capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """In the page's order, for what one commits the next one shows."""
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.delenv("PROKURIST_BOOTSTRAP", raising=False)
    monkeypatch.chdir(tmp_path)
    (properties,) = re.findall(r"^```properties\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)
    Path("client.properties").write_text(properties, "utf-8")
    Path("password").write_text("secret\n", "utf-8")
    (played,) = re.findall(r"^prokurist broker --port 9092 (.*)$", PAGE, re.MULTILINE)
    assert played == "-t orders:3 -t payments --records 10"
    assert len(examples()) >= 11
    with EmbeddedBroker(1, TOPICS) as broker:
        fill(broker, TOPICS, 10)
        port = str(broker.ports[0])
        for command, printed in examples():
            program, *arguments = shlex.split(command)
            entry.main([each.replace(":9092", f":{port}") for each in arguments])
            found = capfd.readouterr()
            assert program == "prokurist"
            wanted = told(printed)
            assert told((found.out + found.err).replace(f":{port}", ":9092")) == wanted, command


def test_every_command_has_its_part_of_the_page() -> None:
    """And every part its command."""
    from prokurist.cli.app import ADMINISTRATION, COMMANDS, GROUPS

    parts = set(re.findall(r"^## `([\w-]+)", PAGE, re.MULTILINE))
    assert parts == {*COMMANDS, *ADMINISTRATION, *GROUPS}
