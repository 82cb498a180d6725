"""Tools of the instrumentation that is on.

Thread: any.
"""

from typing import Final

from prokurist.otel.tools import Tools


class Current:
    """Tools of the instrumentation that is on.

    Attributes:
        tools: They; None while it is off.
    """

    def __init__(self) -> None:
        self.tools: Tools | None = None

    def __repr__(self) -> str:
        return f"Current({self.tools})"


CURRENT: Final = Current()
