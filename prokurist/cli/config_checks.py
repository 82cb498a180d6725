"""`prokurist config check`: the meaning of a client's configuration keys here.

Thread: the main one.
Invariants: no broker is asked, and the value of a secret is not written, not even a faulty one.
"""

import json
import sys
from collections.abc import Mapping
from pathlib import Path

from prokurist.cli.command_options import CommandOptions
from prokurist.cli.errors import Misused
from prokurist.cli.output import Column, Row, show, write
from prokurist.cli.property_file import properties
from prokurist.config import (
    ConfigReport,
    ConsumerConfig,
    KeyFinding,
    ProducerConfig,
    Secret,
    Verdict,
)
from prokurist.config.report import property_text
from prokurist.config.secret import MASK
from prokurist.types import counted

COLUMNS = (Column("key", "bold"), Column("verdict"), Column("instead", "green"), Column("why"))
FAULTY = 1


def run(
    asked: CommandOptions, file: Path, *, producer: bool, translate: bool, as_json: bool
) -> int:
    """Look at a file, and write a finding for each key, or the keys by our names.

    Args:
        asked: Options of every command; only `quiet` counts.
        file: A property file or a JSON object; `-` for standard input.
        producer: It is of a producer, not of a consumer.
        translate: Write a property file.
        as_json: See `output.show`.

    Returns:
        0, or 1 where there are faults.

    Raises:
        Misused: The file cannot be read, or is neither.
    """
    keys = keys_of(file)
    report = (ProducerConfig if producer else ConsumerConfig).check(keys)
    if translate:
        write(f"{line}\n" for line in report.properties())
        sys.stdout.flush()
        for fault in report.faults:
            sys.stderr.write(f"prokurist: {fault}\n")
    else:
        show(COLUMNS, rows(report), as_json=as_json)
    faults = len(report.faults)
    found = f"{counted(faults, 'fault')} found" if faults else "no fault found"
    if not producer and len(ProducerConfig.check(keys).faults) < faults:
        found += "; is it a producer's? See --producer"
    asked.say(found)
    return FAULTY if faults else 0


def keys_of(file: Path) -> Mapping[str, object]:
    """The keys of a file.

    Raises:
        Misused: It cannot be read, or is neither a property file nor a JSON object.
    """
    try:
        text = sys.stdin.read() if str(file) == "-" else file.read_text("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise Misused(f"{file}: {error}") from None
    if not text.lstrip().startswith("{"):
        try:
            return properties(text)
        except ValueError as error:
            raise Misused(f"{file}: {error}") from None
    try:
        found = json.loads(text)
    except json.JSONDecodeError as error:
        # The error's own text would be fine, its document would not.
        raise Misused(f"{file} is no JSON: line {error.lineno}: {error.msg}") from None
    return dict(found)


def rows(report: ConfigReport) -> list[Row]:
    """A row for each finding."""
    return [
        {
            "key": each.key or None,
            "verdict": each.verdict.value,
            "instead": instead(each) or None,
            "why": each.why or None,
        }
        for each in report.findings
    ]


def instead(finding: KeyFinding) -> str:
    """Our key and its value; a secret is masked."""
    if finding.verdict is not Verdict.TRANSLATED:
        return ""
    return "; ".join(
        f"{name}={MASK if isinstance(value, Secret) else property_text(value)}"
        for name, value in finding.instead.items()
    )
