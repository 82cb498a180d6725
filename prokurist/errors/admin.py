"""Errors of administrative calls about several items.

KafkaException
└── AdminException                      some items have failed; `errors` has each
    └── IncompleteListingException          some brokers have not answered
"""

from collections.abc import Mapping
from typing import Any

from prokurist.errors.tree import KafkaException


class AdminException(KafkaException):
    """Items of an administrative call have failed; the text lists them.

    Attributes:
        errors: The error of each item that has failed.
    """

    def __init__(
        self, message: str = "", *, errors: Mapping[Any, KafkaException] | None = None
    ) -> None:
        super().__init__(message)
        self.errors: dict[Any, KafkaException] = dict(errors or {})
        self.may_have_happened: bool = any(
            each.may_have_happened for each in self.errors.values()
        )


class IncompleteListingException(AdminException):
    """Brokers have not answered that each know a part of the list.

    Attributes:
        partial: The part that has come.
    """

    def __init__(
        self,
        message: str = "",
        *,
        errors: Mapping[Any, KafkaException] | None = None,
        partial: tuple[Any, ...] = (),
    ) -> None:
        super().__init__(message, errors=errors)
        self.partial = partial
