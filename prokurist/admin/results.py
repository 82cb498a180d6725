"""Results of administrative calls, item by item.

Thread: any; nothing changes once it is made.
"""

from collections.abc import Iterator, Mapping
from typing import Any, Generic, Self, TypeVar

from prokurist.errors import AdminException, IncompleteListingException, KafkaException
from prokurist.events.admin.items_call import Outcome

K = TypeVar("K")
V = TypeVar("V")


class Results(Mapping[K, V]):
    """Values and errors by item: a mapping that raises the error of an item when it is read.

    Args:
        operation: The public name of the call.
        outcomes: The outcome of each item.
    """

    __slots__ = ("_operation", "_outcomes")

    def __init__(self, operation: str, outcomes: Mapping[K, Outcome]) -> None:
        self._operation = operation
        self._outcomes = dict(outcomes)

    def __getitem__(self, item: K) -> V:
        """Return the value of an item.

        Raises:
            KafkaException: The item has failed: its own error.
            KeyError: It was not asked for.
        """
        value: V = value_of(self._outcomes[item])
        return value

    def __iter__(self) -> Iterator[K]:
        return iter(self._outcomes)

    def __len__(self) -> int:
        return len(self._outcomes)

    @property
    def errors(self) -> dict[K, KafkaException]:
        """The error of each item that has failed."""
        return errors_of(self._outcomes)

    @property
    def succeeded(self) -> dict[K, V]:
        """The value of each item that has succeeded."""
        return {
            item: outcome.value
            for item, outcome in self._outcomes.items()
            if outcome.error is None
        }

    def check(self) -> Self:
        """Return these results, if no item has failed.

        Raises:
            AdminException: Items have failed; it lists each.
        """
        errors = self.errors
        if errors:
            listed = "; ".join(map(described, errors.items()))
            raise AdminException(
                f"{self._operation}: {len(errors)} of {len(self)} failed: {listed}",
                errors=errors,
            )
        return self

    def __repr__(self) -> str:
        return f"Results({self._operation}, {len(self)} items, {len(self.errors)} failed)"


class Listing(Generic[V]):
    """A list of which each broker knows a part.

    Args:
        operation: The public name of the call.
        outcomes: The part of each broker, or its error.
    """

    __slots__ = ("_values", "errors")

    def __init__(self, operation: str, outcomes: Mapping[int, Outcome]) -> None:
        del operation
        self.errors: dict[int, KafkaException] = errors_of(outcomes)
        """The errors of brokers that have not answered, by id."""
        self._values: tuple[V, ...] = tuple(
            value
            for outcome in outcomes.values()
            if outcome.error is None
            for value in outcome.value
        )

    @property
    def complete(self) -> bool:
        """True if all brokers have answered."""
        return not self.errors

    def __iter__(self) -> Iterator[V]:
        return iter(self._values)

    def __len__(self) -> int:
        return len(self._values)

    def __getitem__(self, place: int) -> V:
        return self._values[place]

    def __repr__(self) -> str:
        missing = f", {len(self.errors)} brokers missing" if self.errors else ""
        return f"Listing({len(self)} entries{missing})"


def listing_of(
    operation: str, outcomes: Mapping[int, Outcome], *, partial: bool
) -> Listing[Any]:
    """Make a listing of the outcomes by broker.

    Args:
        operation: The public name of the call.
        outcomes: The part of each broker, or its error.
        partial: True to take a part for an answer.

    Raises:
        IncompleteListingException: Brokers have not answered, and a part is no answer.
        KafkaException: None has answered: the first error.
    """
    listing: Listing[Any] = Listing(operation, outcomes)
    if listing.complete or partial:
        return listing
    listed = "; ".join(
        f"broker {number}: {type(error).__name__}: {error}"
        for number, error in listing.errors.items()
    )
    raise IncompleteListingException(
        f"{operation}: {len(listing.errors)} of {len(outcomes)} brokers have not answered, and "
        f"each knows a part of the list: {listed}. Pass partial=True for the other "
        f"{len(listing)} entries",
        errors=listing.errors,
        partial=tuple(listing),
    )


def errors_of(outcomes: Mapping[K, Outcome]) -> dict[K, KafkaException]:
    """The error of each item that has failed."""
    return {
        item: outcome.error for item, outcome in outcomes.items() if outcome.error is not None
    }


def value_of(outcome: Outcome) -> Any:
    """Return the value of an item.

    Raises:
        KafkaException: The item has failed.
    """
    if outcome.error is not None:
        # It may be raised again: each time without the frames of the last.
        raise outcome.error.with_traceback(None)
    return outcome.value


def described(failed: tuple[object, KafkaException]) -> str:
    """Name an item and its error, for a text."""
    item, error = failed
    happened = " (it may have happened)" if error.may_have_happened else ""
    return f"{item}: {type(error).__name__}: {error}{happened}"
