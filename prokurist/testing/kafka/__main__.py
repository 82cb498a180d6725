"""`python -m prokurist.testing.kafka`: a real Kafka in the foreground, for play.

Exit codes: 0 stopped, 1 no Kafka, 2 usage (argparse's own).

Thread: the main one.
"""

import argparse
import contextlib
import signal
import sys
from collections.abc import Sequence
from typing import NoReturn

from prokurist.events.clock import MonotonicClock
from prokurist.testing.kafka.errors import HarnessError
from prokurist.testing.kafka.ladder import DEFAULT_VERSION
from prokurist.testing.kafka.real_kafka import RealKafka


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a Kafka until Ctrl-C, and return the exit code."""
    parser = _parser()
    wanted = parser.parse_args(arguments)
    try:
        kafka = RealKafka(wanted.nodes, wanted.version, port=wanted.port)
    except ValueError as error:
        parser.error(str(error))
    # Both by name: a shell that starts it with `&` has SIGINT ignored otherwise.
    signal.signal(signal.SIGINT, _stop)
    signal.signal(signal.SIGTERM, _stop)
    # Ctrl-C ends it at any point, in the middle of the start too; `with` cleans up.
    with contextlib.suppress(KeyboardInterrupt):
        try:
            _say(f"starting Kafka {wanted.version} ...")
            with kafka:
                _say(_where(kafka))
                _watch(kafka)
        except HarnessError as error:
            sys.stderr.write(f"{parser.prog}: {_one_line(error)}\n")
            return 1
    _say("stopped")
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m prokurist.testing.kafka",
        description="Run a real Apache Kafka in the foreground, until Ctrl-C.",
    )
    parser.add_argument("--nodes", type=int, default=1, help="how many nodes (1)")
    parser.add_argument(
        "--version", default=DEFAULT_VERSION, help=f"which version ({DEFAULT_VERSION})"
    )
    parser.add_argument(
        "--port", type=_port, default=9092, help="port of the first node (9092)"
    )
    return parser


def _port(text: str) -> int:
    port = int(text)
    if not 0 < port < 65536:
        raise argparse.ArgumentTypeError(f"a port is between 1 and 65535, not {port}")
    return port


def _where(kafka: RealKafka) -> str:
    return (
        f"Kafka {kafka.version} is ready ({kafka.rung}, {kafka.nodes} node(s))\n"
        f"  bootstrap.servers={kafka.direct_bootstrap}\n"
        f"  bootstrap.servers={kafka.bootstrap}  (through the fault proxy)\n"
        "Ctrl-C stops it; its data is gone then."
    )


def _watch(kafka: RealKafka) -> NoReturn:
    """Look after the nodes until Ctrl-C."""
    clock = MonotonicClock()
    while True:
        kafka.check()
        clock.sleep(0.5)


def _one_line(error: HarnessError) -> str:
    return f"{error.reason}; {error.way_out}" if error.way_out else error.reason


def _say(text: str) -> None:
    sys.stdout.write(text + "\n")
    sys.stdout.flush()


def _stop(_number: int, _frame: object) -> NoReturn:
    raise KeyboardInterrupt


if __name__ == "__main__":
    sys.exit(main())
