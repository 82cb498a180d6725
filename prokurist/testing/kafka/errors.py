"""Errors of the harness, each with the way out.

    HarnessError                has a .reason: one short line, for skips and headers
    ├── KafkaUnavailable        something is missing; a fixture skips
    │   ├── JavaMissing, JavaTooOld
    │   ├── MavenMissing, MavenFailed
    │   └── DockerUnavailable
    ├── KafkaFailed             everything is there and it went wrong; a fixture fails
    │   ├── PortTaken
    │   ├── BrokerDied
    │   └── NotReady
    ├── ControlRefused          this rung of the ladder cannot do that
    └── AdminFailed             the broker said no, or nothing, to the harness itself

Thread: any; the exceptions are immutable once made.
"""

import itertools
import re
from collections.abc import Iterable, Sequence
from typing import Final

_DATED: Final = re.compile(r"\d{4}-\d\d-\d\d[ T]")
_BAD: Final = re.compile(r"[\d: T,-]+ (ERROR|FATAL) ")


class HarnessError(Exception):
    """Base class of the harness's errors.

    Attributes:
        reason: One short line about the fault, without the way out.
    """

    def __init__(self, reason: str, *, way_out: str = "", detail: str = "") -> None:
        self.reason: str = " ".join(reason.split())
        self.way_out = way_out
        self.detail = detail
        text = self.reason
        if way_out:
            text = f"{text}; {way_out}"
        if detail.strip():
            text = f"{text}\n{detail.rstrip()}"
        super().__init__(text)


class KafkaUnavailable(HarnessError):
    """No rung of the ladder can give a Kafka on this machine."""

    @classmethod
    def from_rungs(cls, rungs: Sequence[tuple[str, HarnessError]]) -> "KafkaUnavailable":
        """Combine the errors of all rungs.

        Args:
            rungs: The rungs in the order of asking, each with its error.

        Returns:
            An error with one line as `reason` and a text with a line for each rung.
        """
        lines = (f"  {name}: {error}" for name, error in rungs)
        # That no Kafka was given is the usual state of things, and no reason.
        reasons = [error.reason for name, error in rungs if name != "given"]
        return cls(
            "no Kafka: " + "; ".join(reasons),
            detail="Each rung of the ladder, from the top:\n" + "\n".join(lines),
        )


class JavaMissing(KafkaUnavailable):
    """There is no Java, or it does not run."""


class JavaTooOld(KafkaUnavailable):
    """The Java that was found cannot run this Kafka."""


class MavenMissing(KafkaUnavailable):
    """The jars are not in the cache, and there is no Maven that could fetch them."""


class MavenFailed(KafkaUnavailable):
    """Maven ran and did not bring the jars."""


class DockerUnavailable(KafkaUnavailable):
    """No Docker engine answers, or the library that would ask it is missing."""


class KafkaFailed(HarnessError):
    """Kafka is there, but it did not start."""


class PortTaken(KafkaFailed):
    """Another program listens on a port that this Kafka needs."""


class BrokerDied(KafkaFailed):
    """The broker's process ended before it was ready."""


class NotReady(KafkaFailed):
    """The deadline came before every node answered."""


class ControlRefused(HarnessError):
    """This Kafka is not ours to freeze, kill or put behind a proxy."""


class AdminFailed(HarnessError):
    """The broker answered the harness with an error, or not by the deadline.

    Attributes:
        code: The name of Kafka's error code; empty if there was no answer.
    """

    def __init__(
        self, reason: str, *, code: str = "", way_out: str = "", detail: str = ""
    ) -> None:
        super().__init__(reason, way_out=way_out, detail=detail)
        self.code = code


def tail(lines: Iterable[str], count: int = 25) -> str:
    """The last lines of a log, indented, to stand below a message."""
    kept = [line.rstrip() for line in lines if line.strip()][-count:]
    return "\n".join(f"  | {line}" for line in kept)


def told(lines: Sequence[str], count: int = 25, errors: int = 4) -> str:
    """The first errors of a log, each with its causes but no stack, and its last lines.

    A broker that gives up shuts itself down in order, and logs more of that than the last lines
    hold; why it gave up stands above them.
    """
    kept = [line for line in lines if line.strip()]
    last = kept[-count:]
    above: list[str] = []
    for number, line in enumerate(kept[:-count]):
        if not _BAD.match(line):
            continue
        if errors == 0:
            break
        errors -= 1
        above.append(line)
        below = itertools.takewhile(lambda each: not _DATED.match(each), kept[number + 1 :])
        above += [each for each in below if not each.startswith(("\t", " "))]
    shown = [*above, "...", *last] if above else last
    return tail(shown, len(shown))
