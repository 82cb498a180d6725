"""How large batches of a topic may be after its broker has refused one."""

from prokurist.events.accumulator.batch_limits import FIRST, LONGEST, BatchLimits

MOST = 1_000_000


def refusals(taken: int, seconds: int) -> tuple[int, int]:
    """How often a topic that takes so many bytes refuses a full batch, and the limit then."""
    limits, now, count = BatchLimits(MOST), 0.0, 0
    while now < seconds:
        size = limits.of("t")
        if size > taken:
            count += 1
            limits.refuse("t", size, now)
        else:
            limits.accept("t", size, now)
        now += 0.01
    return count, limits.of("t")


def test_a_topic_that_takes_less_for_good_refuses_few_trials() -> None:
    """B430: about ten in ten minutes, then one in five minutes."""
    for taken in (500, 20_000, 700_000, 990_000):
        until_found, limit = refusals(taken, 1)
        assert taken // 2 < limit <= taken
        assert refusals(taken, 600)[0] <= until_found + 11
        assert refusals(taken, 3600)[0] <= until_found + 11 + 10


def test_a_limit_that_is_raised_again_is_found_at_once_after_the_pause() -> None:
    """B430: each accepted batch doubles the next, without another pause."""
    limits = BatchLimits(MOST)
    limits.refuse("t", MOST, 0.0)
    for _ in range(20):
        limits.refuse("t", limits.of("t"), 0.0)
    assert limits.of("t") < 5000
    for _ in range(11):
        limits.accept("t", limits.of("t"), FIRST)
    assert not limits.is_lowered("t")


def test_batches_that_do_not_fill_their_limit_are_no_trial() -> None:
    """B430: small batches say nothing of larger ones."""
    limits = BatchLimits(MOST)
    limits.refuse("t", 4000, 0.0)
    for second in range(1000):
        limits.accept("t", 1000, float(second))
    assert limits.of("t") == 3000


def test_several_refusals_of_one_trial_double_the_pause_once() -> None:
    """B430: as of batches of many partitions, which were on their way together."""
    limits = BatchLimits(MOST)
    limits.refuse("t", 4000, 0.0)
    limits.accept("t", 3000, FIRST)
    for _ in range(100):
        limits.refuse("t", 6000, FIRST)
    assert limits.of("t") == 3000
    limits.accept("t", 3000, 2.9 * FIRST)
    assert limits.of("t") == 3000
    limits.accept("t", 3000, 3 * FIRST)
    assert limits.of("t") == 6000


def test_a_refusal_after_a_long_time_begins_with_a_short_pause() -> None:
    """B430: the topic's limit was changed again, and may be put back soon."""
    limits, now = BatchLimits(MOST), 0.0
    for _ in range(10):
        limits.refuse("t", 4000, now)
        now += LONGEST
    now += LONGEST + 1
    limits.refuse("t", 4000, now)
    limits.accept("t", 3000, now + FIRST)
    assert limits.of("t") == 6000


def test_another_topic_of_the_name_has_no_limit() -> None:
    """B430: what the former one refused says nothing of it."""
    limits = BatchLimits(MOST)
    limits.refuse("t", 4000, 0.0)
    limits.refuse("u", 4000, 0.0)
    limits.forget("t")
    assert (limits.of("t"), limits.of("u")) == (MOST, 3000)
