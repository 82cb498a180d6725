"""The blocks of code of README.md and docs/, and how each kind of them is run.

A block of Python is a program, unless it says otherwise. A process of its own runs it, in an
empty folder, with warnings as errors and nothing on stderr; `localhost:9092` is an embedded
broker then, with ten records in `orders`, and the topics that recipes want; `localhost:9093`
is the one of the tutorial's `--tls certificates --sasl anna:secret`. What it defines as
`test_…` is run by pytest, what waits for SIGTERM is sent one, and what wants a real Kafka is
for tests/broker. Two words on the fence are known: `python excerpt` has a `consumer` that is
not its own, and `python spark` a session `spark`, which tests/spark gives it.

What a page's program defines can be had for a test of one's own: `names_of`.
"""

import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from prokurist.cli.brokers import BROKER as CERTIFICATE
from prokurist.cli.brokers import certified, fill
from prokurist.testing.broker import EmbeddedBroker
from prokurist.testing.cluster.sasl import Sasl

ROOT = Path(__file__).parents[1]
PAGES = [
    ROOT / "README.md",
    *sorted(each for each in ROOT.glob("docs/**/*.md") if "_build" not in each.parts),
]
FENCE = re.compile(r"^```(\w+) ?(.*)\n((?:.*\n)*?)^```$", re.MULTILINE)
TOPICS = {"orders": 3, "payments": 1}
EMPTY = {"orders.retry.1": 1, "orders.retry.2": 1, "orders.dead": 1}
SECURED = "localhost:9093"
PATIENCE = 180.0
"""For an interpreter, its imports, and what the block does, on a machine that is shared."""

PATIENT = """\
import itertools
patience = itertools.chain([15.0], itertools.repeat(2.0))
"""
"""Before a block that polls until nothing comes for five seconds: what it prints depends on
that the first poll, which joins and may wait for its turn on the machine, does not end too
soon; the last one, for which nothing is left, is waited for to its end."""

EXCERPT = """\
from prokurist import KafkaConsumer

with KafkaConsumer(
    bootstrap_servers="localhost:9092", group_id="billing", auto_offset_reset="earliest"
) as consumer:
    consumer.subscribe(["orders"])
    while not consumer.poll(0.5):
        pass
    exec(compile({text!r}, {page!r}, "exec"))
"""


NESTED = ("-p", "no:cacheprovider", "--disable-plugin-autoload", "-p", "prokurist")
"""By its entry point: of all plugins that happen to be installed here, only ours is known to
the pages, and the others take as long to load as the whole of a page's test."""


@dataclass
class Block:
    """A block of a page.

    Attributes:
        page: The page's path from the root.
        line: Where its fence stands.
        language: The fence's first word.
        words: What else the fence says.
        text: What stands in it.
        prints: What the page says that it prints, where it says so.
    """

    page: str
    line: int
    language: str
    words: str
    text: str
    prints: list[str] = field(default_factory=list)

    def __str__(self) -> str:
        return f"{self.page}:{self.line}"

    @property
    def wants_kafka(self) -> bool:
        """Whether only a real Kafka will do."""
        return re.search(r"\bRealKafka\b|\bprokurist_kafka\b", self.text) is not None

    @property
    def wants_spark(self) -> bool:
        """Whether it needs a session of Spark's."""
        return self.words == "spark"

    @property
    def is_test(self) -> bool:
        """Whether it is for pytest."""
        return re.search(r"^def test_", self.text, re.MULTILINE) is not None

    @property
    def is_service(self) -> bool:
        """Whether it goes on until it is told to end."""
        return "signal.SIGTERM" in self.text

    @property
    def commands(self) -> list[tuple[str, list[str]]]:
        """The commands of a block of a console's, each with what it prints."""
        found = re.findall(r"^\$ (.*)\n((?:(?!\$ ).*\n)*)", self.text, re.MULTILINE)
        return [(command, printed.splitlines()) for command, printed in found]


def blocks() -> Iterator[Block]:
    """Every block of every page, in order."""
    for path in PAGES:
        text = path.read_text(encoding="utf-8")
        page, program = str(path.relative_to(ROOT)), None
        for found in FENCE.finditer(text):
            line = text.count("\n", 0, found.start()) + 1
            language, words, body = found.groups()
            block = Block(page, line, language, words, body)
            if block.language == "python":
                program = block
            for command, printed in block.commands if block.language == "console" else ():
                if command.startswith("python ") and command.endswith(".py") and program:
                    program.prints = printed
            yield block


def names_of(program: str) -> dict[str, Any]:
    """What a page's program defines, of which the first line is `# program`; it is not run."""
    (block,) = [each for each in blocks() if each.text.startswith(f"# {program}\n")]
    names: dict[str, Any] = {"__name__": program.removesuffix(".py")}
    exec(compile(block.text, str(block), "exec"), names)  # noqa: S102 - the page's own program
    return names


def run(block: Block, folder: Path) -> str:
    """Run a block of Python in a folder: what it has printed."""
    text = block.text.replace("start_http_server(9108)", "start_http_server(0)")
    if block.words == "excerpt":
        text = EXCERPT.format(text=text, page=block.page)
    if not block.is_test and "poll(5.0)" in text:
        text = PATIENT + text.replace("poll(5.0)", "poll(next(patience))")
    secured: dict[str, Any] = {}
    if SECURED in text:
        certified(folder / "certificates")
        certificate = folder / "certificates" / CERTIFICATE
        secured = {"certificate": certificate, "sasl": Sasl({"anna": "secret"})}
    with EmbeddedBroker(1, TOPICS | EMPTY, auto_create=True, **secured) as broker:
        fill(broker, TOPICS, 10)
        text = text.replace(SECURED if secured else "localhost:9092", broker.bootstrap)
        name = "test_block.py" if block.is_test else "block.py"
        (folder / name).write_text(text, encoding="utf-8")
        runner = ["-m", "pytest", "-q", *NESTED] if block.is_test else []
        with subprocess.Popen(
            [sys.executable, "-W", "error", *runner, name],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            cwd=folder,
            env={**os.environ, "PYTHONUNBUFFERED": "1"},
        ) as process:
            try:
                return _ended(block, process)
            finally:
                process.kill()


def _ended(block: Block, process: "subprocess.Popen[str]") -> str:
    begun = ""
    if block.is_service and process.stdout is not None:
        begun = process.stdout.readline()
        process.send_signal(signal.SIGTERM)
    out, err = process.communicate(timeout=PATIENCE)
    assert (process.returncode, err) == (0, ""), f"{block} printed {begun + out}\n{err}"
    return begun + out
