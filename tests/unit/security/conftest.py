"""Certificates, made once, and configurations that name them."""

from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from prokurist.config import ConsumerConfig
from prokurist.testing.kafka.pki import PASSWORD, Authority


class Certificates(NamedTuple):
    """PEM files of one authority, and another authority's."""

    ours: Authority
    other: Authority
    broker: Path
    expired: Path
    elsewhere: Path
    stranger: Path
    client: Path
    locked: Path
    store: Path


@pytest.fixture(scope="session")
def certificates(tmp_path_factory: pytest.TempPathFactory) -> Certificates:
    """See `Certificates`."""
    folder = tmp_path_factory.mktemp("certificates")
    ours, other = Authority(folder), Authority(folder, "other")
    return Certificates(
        ours,
        other,
        ours.issue("broker"),
        ours.issue("expired", ends=timedelta(days=-1)),
        ours.issue("elsewhere", ["elsewhere.example", "10.0.0.1"]),
        other.issue("stranger"),
        ours.issue("client", ()),
        ours.issue("locked", (), password=PASSWORD),
        ours.issue_pkcs12("store"),
    )


@pytest.fixture
def keys() -> Callable[..., ConsumerConfig]:
    """A configuration over TLS with more keys."""

    def made(**more: Any) -> ConsumerConfig:
        named = {key.replace("_", "."): value for key, value in more.items()}
        return ConsumerConfig(
            {"bootstrap.servers": "localhost:1", "security.protocol": "SSL", **named}
        )

    return made
