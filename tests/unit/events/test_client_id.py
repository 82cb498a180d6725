"""The client id of a client that was given none."""

import os
from types import SimpleNamespace

import pytest

from prokurist.events.client_id import default_client_id


def named(monkeypatch: pytest.MonkeyPatch, host: str) -> None:
    """Give this machine a name."""
    monkeypatch.setattr(os, "uname", lambda: SimpleNamespace(nodename=host))


def test_it_tells_hosts_processes_and_clients_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    """B304: a pod's name is its host's name."""
    named(monkeypatch, "billing-7d9f-x2x")
    first, second = default_client_id("consumer"), default_client_id("consumer")
    assert first.startswith(f"prokurist-consumer-billing-7d9f-x2x-{os.getpid()}-")
    assert first != second


def test_a_host_may_be_called_anything(monkeypatch: pytest.MonkeyPatch) -> None:
    """What brokers would quote is replaced, a domain and what is too long left out."""
    named(monkeypatch, "käse=1.example.org")
    assert default_client_id("consumer").startswith(f"prokurist-consumer-k_se_1-{os.getpid()}-")
    named(monkeypatch, "x" * 300)
    assert len(default_client_id("consumer")) < 120
