"""What a member says it owns while partitions change hands, and when it is settled."""

from collections.abc import Collection
from typing import cast
from uuid import UUID

from prokurist.network_thread.membership.consumer.reconciler import Reconciler
from prokurist.network_thread.membership.membership import Partitions
from prokurist.network_thread.membership.topic_names import TopicNames
from prokurist.network_thread.operations.operation import Promise
from prokurist.network_thread.operations.timer import Timer
from prokurist.network_thread.wire.consumer_group import TopicIdPartitions

KNOWN, UNKNOWN = UUID(int=1), UUID(int=2)


class Names:
    """One topic has a name; all of a `TopicNames` that is asked here."""

    def __init__(self) -> None:
        self.name = "orders"

    def of(self, ids: Collection[UUID]) -> dict[UUID, str]:
        """See `TopicNames`."""
        return {each: self.name for each in ids if each == KNOWN}

    def want(self, ids: Collection[UUID]) -> None:
        """See `TopicNames`."""

    def stop(self) -> None:
        """See `TopicNames`."""


class Hands:
    """The `Transitions` of a test: partitions change hands when the test says so.

    Attributes:
        coming: Kept with whether the listener is content.
        going: The same.
    """

    def __init__(self) -> None:
        self.coming = Promise[bool]()
        self.going = Promise[bool]()
        self.moved: list[tuple[str, frozenset[str]]] = []

    async def take(
        self, term: int, partitions: Partitions, ids: object = None, *, revoked: bool = False
    ) -> bool:
        """See `Transitions`."""
        self.moved.append(("take", frozenset(each.topic for each in partitions)))
        del term, ids, revoked
        return await self.coming

    async def revoke(self, term: int, partitions: Partitions) -> bool:
        """See `Transitions`."""
        self.moved.append(("revoke", frozenset(each.topic for each in partitions)))
        del term
        return await self.going

    def begin(self, term: int, partitions: Partitions) -> bool:
        """See `Transitions`: no test of these asks."""
        raise NotImplementedError

    async def lose(self, term: int) -> None:
        """See `Transitions`: no test of these asks."""
        raise NotImplementedError


def reconciler(
    hands: Hands,
    settled: list[bool],
    stuck: list[bool] | None = None,
    names: Names | None = None,
) -> Reconciler:
    """One of a membership that has just begun."""
    made = Reconciler(
        hands,
        cast("TopicNames", names or Names()),
        Timer(0.0),
        settled.append,
        ([] if stuck is None else stuck).append,
    )
    made.begin(1)
    return made


def assigned(*partitions: int, topic: UUID = KNOWN) -> TopicIdPartitions:
    """Partitions as the coordinator names them."""
    return TopicIdPartitions(topic, partitions)


def test_what_goes_is_owned_until_it_is_gone() -> None:
    """B146: also if the listener refused to take it, and was not told that it came."""
    hands, settled = Hands(), list[bool]()
    it = reconciler(hands, settled)
    hands.coming.keep(False)
    it.aim((assigned(0, 1),))
    assert it.owned() == ()
    it.aim(())
    assert it.is_working
    assert it.owned() == (assigned(0, 1),)
    assert not settled
    hands.going.keep(True)
    assert it.owned() == ()
    assert settled == [True]


def test_topics_that_had_each_other_s_names_are_taken_anew() -> None:
    """B495: metadata exchanged their names when the partitions were named."""

    class Exchanged(Names):
        """Two topics with names, exchanged at first."""

        def __init__(self) -> None:
            super().__init__()
            self.known = {KNOWN: "other", UNKNOWN: "orders"}

        def of(self, ids: Collection[UUID]) -> dict[UUID, str]:
            return {each: self.known[each] for each in ids}

    hands, settled, names = Hands(), list[bool](), Exchanged()
    it = reconciler(hands, settled, names=names)
    hands.coming.keep(True)
    hands.going.keep(True)
    target = (assigned(0, 1), assigned(0, topic=UNKNOWN))
    it.aim(target)
    assert not it.is_needed
    names.known = {KNOWN: "orders", UNKNOWN: "other"}
    hands.moved.clear()
    it.go_on()
    assert hands.moved == [
        ("revoke", frozenset({"orders", "other"})),
        ("take", frozenset({"orders", "other"})),
    ]
    assert it.owned() == target
    assert not it.is_needed


def test_what_comes_is_listed_unless_the_listener_refuses_it() -> None:
    """B146, B152: a list without it would let the coordinator give it to another."""
    hands = Hands()
    it = reconciler(hands, [])
    it.aim((assigned(0), assigned(5, topic=UNKNOWN)))
    assert it.owned() == ()
    assert it.owned_or_coming() == (assigned(0), assigned(5, topic=UNKNOWN))
    hands.coming.keep(False)
    assert it.owned_or_coming() == (assigned(5, topic=UNKNOWN),)
    hands.coming = Promise[bool]()
    it.go_on()
    assert it.owned_or_coming() == (assigned(0), assigned(5, topic=UNKNOWN))
    hands.coming.keep(True)
    assert it.owned() == (assigned(0),)
    assert it.owned_or_coming() == (assigned(0), assigned(5, topic=UNKNOWN))


def test_what_needs_no_listener_is_settled_once() -> None:
    """B138: what has come and gone in the same step is one thing to tell of."""
    hands, settled = Hands(), list[bool]()
    hands.coming.keep(True)
    it = reconciler(hands, settled)
    it.aim((assigned(0, 1),))
    assert settled == [True]
    assert it.owned() == (assigned(0, 1),)


def test_what_the_listener_will_not_have_is_no_reason_to_say_nothing() -> None:
    """B152: once for each change of its mind, when nothing is left to be given back."""
    hands, settled, stuck = Hands(), list[bool](), list[bool]()
    it = reconciler(hands, settled, stuck)
    hands.coming.keep(False)
    it.aim((assigned(0, 1),))
    it.go_on()
    assert stuck == [True, False]
    hands.going.keep(False)
    it.aim((assigned(0),))
    assert stuck == [True, False, False], "what is to go has not gone"
    hands.going = Promise[bool]()
    hands.going.keep(True)
    it.go_on()
    assert stuck == [True, False, False, True]
    assert it.owned() == ()
    assert not settled


def test_another_wish_that_asks_for_nothing_is_settled_at_once() -> None:
    """B146, B147: what was wanted has no name yet, and is not wanted any more."""
    hands, settled = Hands(), list[bool]()
    it = reconciler(hands, settled)
    it.aim((assigned(0), assigned(5, topic=UNKNOWN)))
    hands.coming.keep(True)
    assert settled == [True]
    it.aim((assigned(0),))
    assert settled == [True, True], "the coordinator waits to hear what is owned"
    it.aim((assigned(0),))
    assert settled == [True, True, False]
    assert it.owned() == (assigned(0),)
    assert "1 owned, 1 wanted" in repr(it)


def test_what_is_held_under_a_former_name_is_given_back() -> None:
    """B475: the id has another name now; without an end it was taken again and again."""
    hands, settled, names = Hands(), list[bool](), Names()
    it = reconciler(hands, settled, names=names)
    hands.coming.keep(True)
    hands.going.keep(True)
    it.aim((assigned(0, 1),))
    names.name = "payments"
    it.go_on()
    assert hands.moved == [
        ("take", frozenset(("orders",))),
        ("revoke", frozenset(("orders",))),
        ("take", frozenset(("payments",))),
    ]
    assert it.owned() == (assigned(0, 1),)
    assert not it.is_needed
    assert not it.is_working
