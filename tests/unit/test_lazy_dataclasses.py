"""Lazy dataclasses do as the standard library's: each shape is made by both, and compared."""

import copy
import dataclasses
import inspect
import pickle
import subprocess
import sys
from collections.abc import Callable
from dataclasses import field
from functools import partial
from itertools import product
from typing import Any, ClassVar

import pytest

from prokurist import lazy_dataclasses

SETTINGS: list[dict[str, bool]] = [
    dict(zip(("frozen", "slots", "eq", "order", "repr"), each, strict=True))
    for each in product((False, True), repeat=5)
    if each[2] or not each[3]
]


def both(make: Callable[[Any], Any]) -> tuple[Any, Any]:
    """Make a class by our decorator and by the standard library's."""
    return make(lazy_dataclasses.dataclass), make(dataclasses.dataclass)


def outcome(call: Callable[[], Any]) -> Any:
    """Return what a call returns, or the type of its error and its words."""
    try:
        return call()
    except Exception as error:  # noqa: BLE001 - compared
        return type(error), str(error)


@pytest.mark.parametrize(
    "settings", SETTINGS, ids=lambda each: "-".join(k for k, v in each.items() if v) or "none"
)
def test_methods_do_as_the_standard_library_s(settings: dict[str, bool]) -> None:
    """Construction, comparison, hash, repr, changes, copies: the same results and errors."""

    def make(decorator: Any) -> Any:
        @decorator(**settings)
        class Shape:
            """A shape."""

            first: int
            second: str = "two"
            third: list[int] = field(default_factory=list, compare=False)
            fourth: int = field(default=4, repr=False)
            fifth: int = field(default=5, init=False)
            shared: ClassVar[int] = 0

        return Shape

    ours, theirs = both(make)
    assert inspect.signature(ours) == inspect.signature(theirs) or (
        str(inspect.signature(ours)) == str(inspect.signature(theirs))
    )
    calls: list[Callable[[Any], Any]] = [
        lambda kind: kind(),
        lambda kind: kind(1, sixth=2),
        lambda kind: dataclasses.astuple(kind(1)),
        lambda kind: dataclasses.astuple(kind(1, "b", [3], 7)),
        lambda kind: kind(1).third is kind(1).third,
        lambda kind: (kind(1) == kind(1), kind(1) == kind(2), kind(1) == 1),
        lambda kind: (kind(1) < kind(2), kind(2) <= kind(1), kind(1) > kind(2)),
        lambda kind: hash(kind(1)) == hash(kind(1)),
        lambda kind: hash(kind(1)) == hash(kind(1, third=[1])),
        lambda kind: kind.__hash__ is None,
        lambda kind: setattr(kind(1), "first", 2),
        # With slots, Python 3.11 refuses an unknown name by an error of its own making.
        lambda kind: (
            None if settings["frozen"] and settings["slots"] else setattr(kind(1), "unknown", 2)
        ),
        lambda kind: delattr(kind(1), "first"),
        lambda kind: dataclasses.replace(kind(1), first=9).first,
        lambda kind: dataclasses.astuple(copy.deepcopy(kind(1))),
        lambda kind: kind.__match_args__,
        lambda kind: hasattr(kind(1), "__dict__"),
        lambda kind: str(kind.__dataclass_params__),
        lambda kind: repr(kind(1)) if settings["repr"] else None,
    ]
    for call in calls:
        expected = outcome(partial(call, theirs))
        assert outcome(partial(call, ours)) == expected
        # The second time the method is compiled already.
        assert outcome(partial(call, ours)) == expected


def test_methods_of_the_class_itself_stay() -> None:
    """A method that the class defines is not replaced."""

    def make(decorator: Any) -> Any:
        @decorator(frozen=True, slots=True)
        class Own:
            """It has methods of its own."""

            first: int

            def __post_init__(self) -> None:
                if self.first < 0:
                    raise ValueError("below 0")

            def __eq__(self, other: object) -> bool:
                return True

            def __hash__(self) -> int:
                return 7

            def __repr__(self) -> str:
                return "own"

        return Own

    ours, theirs = both(make)
    for kind in (ours, theirs):
        assert kind(1) == kind(2)
        assert hash(kind(1)) == 7
        assert repr(kind(1)) == "own"
        with pytest.raises(ValueError, match="below 0"):
            kind(-1)


def test_bases_are_dataclasses_of_either_kind() -> None:
    """Fields are inherited; a user's own frozen dataclass may have one of ours as its base."""
    kinds: list[Any] = [lazy_dataclasses.dataclass, dataclasses.dataclass]
    for outer, inner in product(kinds, repeat=2):

        @inner(frozen=True, slots=True)
        class Base:
            """The base."""

            first: int

        @outer(frozen=True, slots=True, kw_only=True)
        class Derived(Base):
            """It has one more."""

            second: int = 2

        base: Any = Base
        derived: Any = Derived
        assert repr(derived(1)).endswith("Derived(first=1, second=2)")
        assert derived(1) == derived(1, second=2)
        assert derived(1) != base(1)
        with pytest.raises(dataclasses.FrozenInstanceError):
            derived(1).first = 2
        with pytest.raises(TypeError):
            outer(type("Open", (base,), {"__annotations__": {}}))


def test_an_object_that_holds_itself_has_a_repr() -> None:
    """The inner one is printed as three dots."""

    @lazy_dataclasses.dataclass
    class Ring:
        """It holds another."""

        next: Any = None

    ring = Ring()
    ring.next = ring
    assert repr(ring).endswith("Ring(next=...)")


@lazy_dataclasses.dataclass(frozen=True, slots=True)
class Pickled:
    """A class of this module, to be found by its name."""

    first: int
    second: tuple[int, ...] = ()


def test_frozen_objects_with_slots_are_pickled() -> None:
    """So they reach another process."""
    for protocol in range(2, pickle.HIGHEST_PROTOCOL + 1):
        assert pickle.loads(pickle.dumps(Pickled(1, (2,)), protocol)) == Pickled(1, (2,))


def test_an_import_compiles_no_method() -> None:
    """Methods of a consumer's dataclasses are compiled by their first use alone."""
    program = (
        "import dataclasses, prokurist\n"
        "made = []\n"
        "if hasattr(dataclasses, '_create_fn'):\n"
        "    create = dataclasses._create_fn\n"
        "    dataclasses._create_fn = lambda *a, **k: made.append(a[0]) or create(*a, **k)\n"
        "from prokurist import KafkaConsumer\n"
        "print(len(made))"
    )
    run = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert run.stdout == "0\n"
