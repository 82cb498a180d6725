"""Every block of code of README.md and docs/ does what it says; see `tests.documents`."""

import re
import shlex
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from prokurist import ConsumerConfig, ProducerConfig
from prokurist.assembly.security import authenticator_of
from prokurist.cli.app import ADMINISTRATION, COMMANDS, GROUPS
from tests.documents import PAGES, ROOT, Block, blocks, run

EVERY = list(blocks())
PYTHON = [each for each in EVERY if each.language == "python"]
CONSOLE = [each for each in EVERY if each.language == "console"]
TARGETS = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text("utf-8"), re.MULTILINE))
EXTRAS = set(
    re.findall(
        r"^(\w+) = \[",
        (ROOT / "pyproject.toml")
        .read_text("utf-8")
        .partition("[project.optional-dependencies]")[2]
        .partition("\n\n")[0],
        re.MULTILINE,
    )
)


@pytest.mark.parametrize(
    "block",
    [each for each in PYTHON if not each.wants_kafka and not each.wants_spark],
    ids=str,
)
def test_it_runs(block: Block, tmp_path: Path) -> None:
    """To its end, without a word on stderr, and it prints what the page says."""
    printed = run(block, tmp_path).splitlines()
    if block.prints:
        # Partitions come in any order, and a service says more when it is told to end.
        assert sorted(printed) == sorted(block.prints)


@pytest.mark.parametrize("block", [each for each in PYTHON if each.words], ids=str)
def test_a_fence_says_what_is_known(block: Block) -> None:
    """Two words are: a misspelt one would pass for a program."""
    assert block.words in {"excerpt", "spark"}


def test_no_block_hides() -> None:
    """All of them begin at the margin, where they are found."""
    for page in PAGES:
        text = page.read_text(encoding="utf-8")
        assert not re.findall(r"^[ >]+```(?:python|console)", text, re.MULTILINE), page
    assert len(PYTHON) > 20
    assert len(CONSOLE) > 5


def is_command(words: list[str]) -> bool:
    """Whether a command line names something that there is."""
    match words:
        case ["make", *rest]:
            return {each for each in rest if "=" not in each} <= TARGETS
        case ["prokurist", command, *_]:
            # Those of docs/cli.md are run, by its own test.
            return command in {*COMMANDS, *ADMINISTRATION, *GROUPS} or command.startswith("-")
        case ["pip", "install", what]:
            found = re.fullmatch(r"(?:prokurist|\.)(?:\[([\w,]+)\])?", what)
            return found is not None and set((found[1] or "").split(",")) <= EXTRAS | {""}
        case ["python" | ".venv/bin/python", "-m", module, *_]:
            return find_spec(module) is not None
        case ["python" | ".venv/bin/python", script, *_]:
            return (ROOT / script).exists()
    return False


@pytest.mark.parametrize("block", CONSOLE, ids=str)
def test_its_commands_exist(block: Block) -> None:
    """Make's targets, the command line's commands, extras, modules, and files."""
    own = {each.text.partition("\n")[0].removeprefix("# ") for each in PYTHON}
    assert block.commands
    for command, _ in block.commands:
        words = shlex.split(command)
        assert is_command(words) or words[1] in own, command


@pytest.mark.parametrize(
    "block",
    [each for each in PYTHON if "\nsecured = {" in f"\n{each.text}"],
    ids=str,
)
def test_settings_to_copy_serve_both_clients(
    block: Block, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Consumer and producer take them, and they make the mechanism that they name."""
    monkeypatch.setattr("prokurist.config.sasl_checks.find_spec", lambda _name: True)
    program = block.text.partition("\nwith ")[0]
    names: dict[str, Any] = {}
    exec(compile(program, str(block), "exec"), names)  # noqa: S102 - the page's own program
    secured = names["secured"]
    for config in (ConsumerConfig(secured), ProducerConfig(secured)):
        assert config.security_protocol in {"SSL", "SASL_SSL"}
        authenticator = authenticator_of(config, lambda: None)
        named = authenticator and authenticator.mechanisms.make("b-1.eu-west-1.example").name
        has_sasl = config.security_protocol == "SASL_SSL"
        assert named == (config.sasl_mechanism if has_sasl else None)


def test_a_recording_leaves_what_its_page_says(tmp_path: Path) -> None:
    """A line an entry, and both files."""
    (block,) = [each for each in PYTHON if each.page == "docs/timeline.md"]
    assert "OffsetCommit to broker 1" in run(block, tmp_path)
    assert {each.name for each in tmp_path.iterdir()} >= {"commit.json", "commit.svg"}
