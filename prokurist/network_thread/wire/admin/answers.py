"""Answers about items: each item has an error code, the broker's text and a value.

Thread: any; frozen values.
"""

from collections.abc import Hashable, Iterable, Mapping
from dataclasses import field
from typing import Any

from prokurist.lazy_dataclasses import dataclass
from prokurist.network_thread.wire.request import Body
from prokurist.network_thread.wire.translation import said, throttle


@dataclass(frozen=True, slots=True)
class ItemAnswer:
    """The answer about one item.

    Attributes:
        error: 0, or an error code.
        message: The broker's own words about the error, where it sent some.
        value: The value, for success.
    """

    error: int = 0
    message: str | None = None
    value: Any = None


@dataclass(frozen=True, slots=True)
class ItemsAnswer:
    """The answer about several items.

    Attributes:
        items: The answer about each.
        error: 0, or the code of an error that concerns all items.
        message: The broker's own words about that, where it sent some.
        throttle: Seconds that the broker wants to be left alone.
    """

    items: Mapping[Hashable, ItemAnswer] = field(default_factory=dict)
    error: int = 0
    message: str | None = None
    throttle: float = 0.0


def answer_of(
    body: Body, rows: Iterable[tuple[Hashable, ItemAnswer]], error: int = 0
) -> ItemsAnswer:
    """Make the answer of a message from its rows.

    Args:
        body: The message.
        rows: The items.
        error: The code of an error that concerns all items.
    """
    message = said(body.get("error_message")) if error else None
    return ItemsAnswer(dict(rows), error, message, throttle(body))


def item_of(row: Body, value: Any = None) -> ItemAnswer:
    """Make the answer about one item from its row."""
    code = row["error_code"]
    if code:
        return ItemAnswer(code, said(row.get("error_message")))
    return ItemAnswer(value=value)
