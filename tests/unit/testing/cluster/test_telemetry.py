"""The model of a telemetry receiver: whom it tells what, and what it refuses."""

from typing import TYPE_CHECKING, Any
from uuid import UUID

import pytest
from kio.schema.errors import ErrorCode

if TYPE_CHECKING:
    from tests.unit.testing.cluster.conftest import Lab


def ask(lab: "Lab", instance: UUID | None = None) -> Any:
    """Ask for the subscription."""
    return lab.ask("GetTelemetrySubscriptions", 0, client_instance_id=instance)


def push(lab: "Lab", told: Any, **values: Any) -> ErrorCode:
    """Push, as the subscription has it where the test does not say otherwise."""
    asked = {
        "client_instance_id": told.client_instance_id,
        "subscription_id": told.subscription_id,
        "terminating": False,
        "compression_type": 0,
        "metrics": b"m",
        **values,
    }
    code: ErrorCode = lab.ask("PushTelemetry", 0, **asked).error_code
    return code


def test_brokers_without_a_receiver_offer_nothing(lab: "Lab") -> None:
    """As Kafka's: the APIs are not listed."""
    keys = {each.api_key for each in lab.ask("ApiVersions", 0).api_keys}
    assert not keys & {71, 72}
    lab.control.receive_telemetry()
    assert {each.api_key for each in lab.ask("ApiVersions", 0).api_keys} >= {71, 72}


def test_what_is_pushed_is_kept(lab: "Lab") -> None:
    """Under the id that the client was given, which is given once."""
    lab.control.receive_telemetry(["org.apache.kafka.producer."], interval=60.0)
    told = ask(lab)
    assert told.requested_metrics == ("org.apache.kafka.producer.",)
    assert told.push_interval.total_seconds() == 60.0
    assert ask(lab).client_instance_id != told.client_instance_id
    assert push(lab, told, metrics=b"\x0a\x00") is ErrorCode.none
    [kept] = lab.control.telemetry()
    assert (kept.client_instance_id, kept.data) == (told.client_instance_id, b"\x0a\x00")


@pytest.mark.parametrize(
    ("values", "code"),
    [
        ({"subscription_id": 1}, ErrorCode.unknown_subscription_id),
        ({"compression_type": 1}, ErrorCode.unsupported_compression_type),
        ({"metrics": bytes(1001)}, ErrorCode.telemetry_too_large),
    ],
)
def test_what_is_refused(lab: "Lab", values: dict[str, Any], code: ErrorCode) -> None:
    """With Kafka's codes."""
    lab.control.receive_telemetry(most_bytes=1000, compressions=[4])
    assert push(lab, ask(lab), **values) is code
    assert not lab.control.telemetry()


def test_what_comes_too_early_is_throttled(lab: "Lab") -> None:
    """The first push after a question comes when it likes, and the last one too, once."""
    lab.control.receive_telemetry(interval=60.0)
    told = ask(lab)
    assert ask(lab, told.client_instance_id).error_code is ErrorCode.throttling_quota_exceeded
    assert push(lab, told) is ErrorCode.none
    assert push(lab, told) is ErrorCode.throttling_quota_exceeded
    lab.pass_by(60.0)
    assert push(lab, told) is ErrorCode.none
    assert push(lab, told, terminating=True) is ErrorCode.none
    assert push(lab, told, terminating=True) is ErrorCode.invalid_request


def test_a_changed_subscription_is_told_at_once(lab: "Lab") -> None:
    """Who pushes for the former one is to ask again, and is not throttled for that."""
    lab.control.receive_telemetry(interval=60.0)
    told = ask(lab)
    lab.control.receive_telemetry(["a."], interval=60.0)
    assert push(lab, told) is ErrorCode.unknown_subscription_id
    again = ask(lab, told.client_instance_id)
    assert (again.error_code, again.requested_metrics) == (ErrorCode.none, ("a.",))
    assert again.client_instance_id is None
