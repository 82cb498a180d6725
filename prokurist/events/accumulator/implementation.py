"""Choice of the twin for the path of a `send`, made once at import; see `twins`.

Thread: the importing one; constant afterwards.
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Final

from prokurist.twins import chosen

MODULES: Final[Mapping[str, str]] = {
    "native": "prokurist.events.accumulator._native_accumulator",
    "python": "prokurist.events.accumulator.pure",
}
"""The twins, the preferred one first."""

CHOICE: Final = chosen(MODULES)
"""The choice for this process."""

if TYPE_CHECKING:
    from prokurist.events.accumulator.appending import (
        Appender,
        QueueBase,
        Sender,
        TopicQueues,
    )
    from prokurist.events.accumulator.batch_buffer import BatchBuffer
    from prokurist.events.accumulator.delivery import Delivery
    from prokurist.events.accumulator.rows import Places
else:
    Appender = CHOICE.module.Appender
    BatchBuffer = CHOICE.module.BatchBuffer
    QueueBase = CHOICE.module.QueueBase
    Sender = CHOICE.module.Sender
    TopicQueues = CHOICE.module.TopicQueues
    Delivery = CHOICE.module.Delivery
    Places = CHOICE.module.Places

__all__ = [
    "CHOICE",
    "Appender",
    "BatchBuffer",
    "Delivery",
    "Places",
    "QueueBase",
    "Sender",
    "TopicQueues",
]
