"""`prokurist broker` with TLS and SASL: what it prints is a client's configuration."""

import subprocess
import sys
from pathlib import Path

import pytest

from prokurist import KafkaConsumer, TopicPartition


@pytest.mark.parametrize(
    ("options", "protocol"),
    [
        (["--tls", "certificates"], "SSL"),
        (["--sasl", "anna:right"], "SASL_PLAINTEXT"),
        (["--tls", "certificates", "--sasl", "anna:right"], "SASL_SSL"),
    ],
)
def test_what_it_prints_is_what_a_client_needs(
    tmp_path: Path, options: list[str], protocol: str
) -> None:
    """The printed keys, and the password, are enough; the password is not printed."""
    command = [sys.executable, "-m", "prokurist", "broker", "--port", "0", "-q"]
    command += ["-t", "orders", "--records", "3", "--timeout", "30", *options]
    with subprocess.Popen(command, cwd=tmp_path, stdout=subprocess.PIPE, text=True) as broker:
        assert broker.stdout is not None
        expected = 2 + ("--tls" in options) + 2 * ("--sasl" in options)
        lines = [broker.stdout.readline().strip() for _ in range(expected)]
        try:
            keys = dict(line.split("=", 1) for line in lines)
            assert keys["security.protocol"] == protocol
            assert "right" not in "".join(lines)
            if "ssl.ca.location" in keys:
                keys["ssl.ca.location"] = str(tmp_path / keys["ssl.ca.location"])
            if "--sasl" in options:
                keys["sasl.password"] = "right"
            with KafkaConsumer(keys) as consumer:
                consumer.assign([TopicPartition("orders", 0)])
                consumer.seek_to_beginning()
                assert len(consumer.poll(10)) == 3
        finally:
            broker.terminate()
