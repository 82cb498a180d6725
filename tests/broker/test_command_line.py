"""`python -m prokurist.testing.kafka`, as at a terminal."""

import re
import signal
import socket
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import psutil
import pytest

from prokurist.testing.kafka.ports import free_ports

ROOT = Path(__file__).parents[2]
COMMAND = [sys.executable, "-m", "prokurist.testing.kafka"]

pytestmark = pytest.mark.kafka


def _begin(*arguments: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [*COMMAND, *arguments],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


@pytest.mark.usefixtures("startable")
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM], ids=["ctrl-c", "term"])
def test_it_says_where_it_listens_and_stops_without_a_traceback(
    producer_of: Callable[..., Any], number: signal.Signals
) -> None:
    """The port is the one that was asked for; nothing runs on afterwards."""
    (port,) = free_ports(1)
    with _begin("--port", str(port)) as kafka:
        assert kafka.stdout is not None
        try:
            lines = [kafka.stdout.readline() for _ in range(5)]
            text = "".join(lines)
            assert "Kafka 4.3.1 is ready" in text
            assert f"bootstrap.servers=127.0.0.1:{port}\n" in text
            assert re.search(r"127\.0\.0\.1:\d+  \(through the fault proxy\)", text)
            assert "Ctrl-C" in text
            assert producer_of(f"127.0.0.1:{port}").list_topics(timeout=10).brokers
            below = psutil.Process(kafka.pid).children(recursive=True)
            kafka.send_signal(number)
            out, err = kafka.communicate(timeout=60)
        finally:
            kafka.kill()
    assert (kafka.returncode, out, err) == (0, "stopped\n", "")
    assert below
    assert not psutil.wait_procs(below, 60)[1]


@pytest.mark.usefixtures("startable")
def test_ctrl_c_while_it_starts_stops_it_as_well() -> None:
    """All that has been started by then."""
    with _begin("--port", str(free_ports(1)[0])) as kafka:
        assert kafka.stdout is not None
        try:
            assert "starting" in kafka.stdout.readline()
            kafka.send_signal(signal.SIGINT)
            out, err = kafka.communicate(timeout=60)
        finally:
            kafka.kill()
    assert (kafka.returncode, out, err) == (0, "stopped\n", "")


@pytest.mark.usefixtures("startable")
def test_a_taken_port_is_one_line_and_exit_code_1() -> None:
    """Not a traceback."""
    with socket.create_server(("127.0.0.1", 0)) as holder:
        port = holder.getsockname()[1]
        with _begin("--port", str(port)) as kafka:
            _, err = kafka.communicate(timeout=60)
    assert kafka.returncode == 1
    assert err.count("\n") == 1
    assert f"port {port} is taken; end the program that listens there" in err


@pytest.mark.parametrize(
    "arguments",
    [["--port", "x"], ["--port", "0"], ["--nodes", "0"], ["--version", "new"], ["extra"]],
    ids=" ".join,
)
def test_a_wrong_call_is_exit_code_2(arguments: list[str]) -> None:
    """With the usage."""
    with _begin(*arguments) as kafka:
        _, err = kafka.communicate(timeout=60)
    assert kafka.returncode == 2
    assert err.startswith("usage: python -m prokurist.testing.kafka")
