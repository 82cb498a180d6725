"""Pauses that grow."""

from random import Random

import pytest

from prokurist.events.backoff import Backoff


def test_the_sequence_doubles_up_to_the_cap() -> None:
    """B29: 100, 200, 400, 800, 1000, 1000 ms, each ±20 %, never above 1000."""
    middle = Backoff(0.1, 1.0, lambda: 0.5)
    assert [round(middle.pause(n), 3) for n in range(1, 7)] == [0.1, 0.2, 0.4, 0.8, 1.0, 1.0]
    rule = Backoff(0.1, 1.0, Random(7).random)  # noqa: S311 - jitter is no secret
    for failures, plain in enumerate([0.1, 0.2, 0.4, 0.8, 1.0, 1.0], start=1):
        pauses = [rule.pause(failures) for _ in range(500)]
        assert min(pauses) >= plain * 0.8 - 1e-9
        assert max(pauses) <= min(plain * 1.2, 1.0) + 1e-9
        assert max(pauses) - min(pauses) > 0.05 * plain


def test_the_first_pause_is_the_base_again_after_a_success() -> None:
    """B30: the count is the caller's; one failure is the base, and so is none."""
    rule = Backoff(0.1, 1.0, lambda: 0.5)
    assert rule.pause(1) == rule.pause(0) == pytest.approx(0.1)


def test_a_base_of_zero_is_no_pause_at_all() -> None:
    """B31: retries without delay."""
    rule = Backoff(0.0, 1.0, lambda: 0.9)
    assert rule.pause(1) == rule.pause(50) == 0.0


def test_a_thousand_failures_do_not_overflow() -> None:
    """A broker that is gone for a week stays at the cap."""
    assert Backoff(0.1, 1.0, lambda: 0.5).pause(100_000) == 1.0


def test_it_is_made_from_a_pair_of_keys() -> None:
    """Milliseconds in, seconds out."""
    source = Random(1)  # noqa: S311
    rule = Backoff.of_milliseconds(100, 1000, source)
    assert (rule.base, rule.most) == (0.1, 1.0)


def test_a_base_above_the_cap_makes_every_pause_the_cap() -> None:
    """As docs/config.md says of retry.backoff.max.ms: it does not grow, and is spread."""
    rule = Backoff.of_milliseconds(1000, 200, Random(7))  # noqa: S311
    pauses = [rule.pause(failures) for failures in range(1, 200)]
    assert max(pauses) <= 0.2
    assert min(pauses) >= 0.16 - 1e-9
