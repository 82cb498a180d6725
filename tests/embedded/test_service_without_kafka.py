"""The service of docs/howto/service.md in a real uvicorn: with an embedded broker, or none."""

import signal
import time
from pathlib import Path

from prokurist.testing.broker import EmbeddedBroker
from tests.broker.test_service_page import (
    PATIENCE,
    asked,
    await_answer,
    end,
    free_port,
    program,
    served,
)

TOPICS = {"orders": 3, "payments": 3, "orders.dead": 1}


def test_a_service_ends_by_sigterm(tmp_path: Path) -> None:
    """B730: what it has taken is billed by then, and its metrics tell so."""
    (tmp_path / "app.py").write_text(program(), encoding="utf-8")
    port = free_port()
    with (
        EmbeddedBroker(1, TOPICS) as broker,
        served(tmp_path, broker.bootstrap, port) as process,
    ):
        await_answer(port, "/ready")
        for number in range(20):
            status, text = asked(port, "/orders", b"%d" % number)
            assert (status, "offset" in text) == (201, True), text
        await_answer(port, "/metrics/", r"records_done_total\{[^\n]* 20")
        end(process)


def test_a_service_starts_and_ends_without_a_broker(tmp_path: Path) -> None:
    """B731: it lives, is not ready, and SIGTERM ends it."""
    (tmp_path / "app.py").write_text(program(), encoding="utf-8")
    port, nobody = free_port(), free_port()
    with served(tmp_path, f"127.0.0.1:{nobody}", port) as process:
        await_answer(port, "/live")
        until = time.monotonic() + PATIENCE
        while asked(port, "/ready")[0] != 503:
            assert time.monotonic() < until
        began = time.monotonic()
        process.send_signal(signal.SIGTERM)
        _, err = process.communicate(timeout=PATIENCE)
        assert process.returncode in (0, -signal.SIGTERM), err
        assert time.monotonic() - began < 30
