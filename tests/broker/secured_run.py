"""The same tests over SASL_SSL: `PROKURIST_TEST_SECURITY=1 pytest tests/broker/...`.

Every Kafka that a test starts without saying how has a secured listener, and every client that
is told its address, ours and a stranger's, gets the keys for it.

Thread: pytest's.
"""

import os
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

import confluent_kafka
import pytest

from prokurist import KafkaConsumer, KafkaProducer
from prokurist.testing.kafka import RealKafka, SecuredListener
from prokurist.testing.kafka.pki import Authority

VARIABLE: Final = "PROKURIST_TEST_SECURITY"
MECHANISM: Final = "SCRAM-SHA-256"
USER: Final = {"anna": "s3cret"}

LEFT_OUT: Final = {
    "test_an_answer_that_asks_for_patience": "changes answers on the wire",
    "test_a_success_resets_the_backoff": "changes answers on the wire",
    "test_a_member_that_does_not_know_the_names_yet": "changes answers on the wire",
    "test_a_copy_in_a_child_process_is_refused_without_side_effects": "runs a program",
    "test_a_script_that_never_closes_its_consumer_ends": "runs a program",
    "test_a_member_that_is_killed_is_missed_after_its_session": "runs a program",
    "test_a_frozen_member_delays_no_poll_of_another": "runs a program",
    "test_a_member_that_crashes": "runs a program",
    "test_deleted_records": "uses confluent-kafka's administration",
    "test_each_attempt_ends_at_request_timeout_and_the_next_has_a_new_connection": (
        "counts attempts, and a connection that authenticates writes none"
    ),
}
"""Tests that cannot be secured from outside, each with its reason."""


def is_wanted() -> bool:
    """Whether this run is secured."""
    return bool(os.environ.get(VARIABLE))


class Keys:
    """Which addresses are secured, and what a client needs there."""

    def __init__(self, authority: Path) -> None:
        self.addresses: set[str] = set()
        self.needed: Mapping[str, Any] = {
            "security.protocol": "SASL_SSL",
            "ssl.ca.location": str(authority),
            "sasl.mechanism": MECHANISM,
            "sasl.username": next(iter(USER)),
            "sasl.password": next(iter(USER.values())),
        }

    def completed(self, config: Mapping[str, Any], more: Mapping[str, Any]) -> dict[str, Any]:
        """A configuration, with what it needs for the brokers that it names."""
        named = config.get("bootstrap.servers", more.get("bootstrap_servers", ""))
        servers = set(named.split(",") if isinstance(named, str) else map(str, named))
        if "security.protocol" in config or not servers & self.addresses:
            return dict(config)
        return {**self.needed, **config}


@contextmanager
def secured() -> Iterator[None]:
    """Secure every Kafka and every client until the end of the block."""
    with tempfile.TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        authority = Authority(Path(folder))
        keys = Keys(authority.location)
        listener = SecuredListener(
            certificate=authority.issue("broker"), mechanisms=(MECHANISM,), users=USER
        )
        make, start = RealKafka.__init__, RealKafka.start
        consumer, producer = KafkaConsumer.__init__, KafkaProducer.__init__

        def made(self: RealKafka, *arguments: Any, **more: Any) -> None:
            # The plugin's fixtures say None where a test has asked for nothing.
            make(self, *arguments, **{**more, "security": more.get("security") or listener})

        def started(self: RealKafka, timeout: float = 180.0) -> None:
            start(self, timeout)
            keys.addresses.update(self.bootstrap.split(","))

        def reading(
            self: KafkaConsumer, config: Mapping[str, Any] | None = None, **more: Any
        ) -> None:
            consumer(self, keys.completed(config or {}, more), **more)

        def writing(
            self: KafkaProducer, config: Mapping[str, Any] | None = None, **more: Any
        ) -> None:
            producer(self, keys.completed(config or {}, more), **more)

        patch.setattr(RealKafka, "__init__", made)
        patch.setattr(RealKafka, "start", started)
        patch.setattr(KafkaConsumer, "__init__", reading)
        patch.setattr(KafkaProducer, "__init__", writing)
        for name in ("Producer", "Consumer"):
            theirs = getattr(confluent_kafka, name)

            def stranger(
                config: Mapping[str, Any], *arguments: Any, of: Any = theirs, **more: Any
            ) -> Any:
                return of(keys.completed(config, {}), *arguments, **more)

            patch.setattr(confluent_kafka, name, stranger)
        yield
