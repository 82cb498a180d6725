"""Certificates of a test."""

from pathlib import Path

import pytest

from prokurist.testing.kafka.pki import Authority


def test_a_relative_folder_is_found_by_a_broker_that_runs_elsewhere(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is issued is named in full, as docs/testing.md takes it for granted."""
    monkeypatch.chdir(tmp_path)
    authority = Authority(Path("certificates"))
    assert authority.location == tmp_path.resolve() / "certificates" / "authority.pem"
    assert authority.issue("broker").is_absolute()
