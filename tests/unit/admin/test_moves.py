"""Plans of moves: few copies, level brokers, racks."""

from collections import Counter
from random import Random

import pytest

from prokurist import TopicPartition
from prokurist.admin.moves import planned

NO_RACKS: dict[int, str | None] = {}


def tp(number: int) -> TopicPartition:
    """A partition."""
    return TopicPartition("orders", number)


def test_what_is_level_stays() -> None:
    """B639: nothing is moved."""
    present = {tp(0): (1, 2), tp(1): (2, 3), tp(2): (3, 1)}
    plan = planned(present, [1, 2, 3], NO_RACKS)
    assert plan.after == {}
    assert plan.copies == 0


def test_a_broker_is_emptied() -> None:
    """B639: its replicas alone are copied, each once."""
    present = {tp(0): (1, 2), tp(1): (2, 3), tp(2): (3, 1)}
    plan = planned(present, [1, 2], NO_RACKS)
    assert plan.copies == 2
    assert {frozenset(each) for each in plan.after.values()} == {frozenset({1, 2})}
    assert plan.undone().after == {each: present[each] for each in plan.after}


def test_a_new_broker_gets_its_share() -> None:
    """B639: as many copies as its share, and the preferred leaders are spread."""
    present = {tp(each): ((1, 2) if each % 2 else (2, 1)) for each in range(9)}
    plan = planned(present, [1, 2, 3], NO_RACKS)
    after = {**present, **plan.after}
    assert plan.copies == 6
    load = Counter(number for each in after.values() for number in each)
    assert set(load.values()) == {6}
    leads = Counter(each[0] for each in after.values())
    assert max(leads.values()) - min(leads.values()) <= 1


def test_racks_are_kept_apart() -> None:
    """B639: a replica goes to a rack without another one of its partition."""
    racks: dict[int, str | None] = {1: "a", 2: "a", 3: "b", 4: "b"}
    plan = planned({tp(0): (1, 3), tp(1): (4, 2)}, [1, 2, 3], racks)
    assert plan.copies == 1
    (moved,) = (each for each in plan.after.values() if 4 not in each)
    assert {racks[each] for each in plan.after.get(tp(1), moved)} == {"a", "b"}


def test_too_few_brokers_are_refused() -> None:
    """B639: a partition has three replicas."""
    with pytest.raises(ValueError, match="3 replicas, and 2 brokers are named"):
        planned({tp(0): (1, 2, 3)}, [1, 2], NO_RACKS)


@pytest.mark.parametrize("seed", range(30))
def test_any_plan_is_level_and_complete(seed: int) -> None:
    """B639: as many replicas as before, each broker once, and level brokers."""
    random = Random(seed)  # noqa: S311 - no secret
    every = list(range(random.randint(2, 8)))
    copies = random.randint(1, min(3, len(every)))
    present = {
        tp(each): tuple(random.sample(every, copies)) for each in range(random.randint(1, 40))
    }
    brokers = random.sample(every, random.randint(copies, len(every)))
    racks: dict[int, str | None] = {}
    if seed % 2:
        racks = {each: f"rack-{each % 2}" for each in every}
    plan = planned(present, brokers, racks)
    after = {**present, **plan.after}
    for each, replicas in after.items():
        assert len(set(replicas)) == len(present[each])
        assert set(replicas) <= set(brokers)
    load = Counter(dict.fromkeys(brokers, 0))
    load.update(number for each in after.values() for number in each)
    if not racks:
        assert max(load.values()) - min(load.values()) <= 1
    assert plan.after.keys() == {each for each in present if after[each] != present[each]}
