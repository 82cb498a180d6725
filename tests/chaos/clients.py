"""Clients that members and writers of a chaos run may be."""

from collections.abc import Mapping, Sequence
from typing import Final

FACES: Final = ("confluent-kafka", "kafka-python")
CLIENTS: Final[Mapping[str, Sequence[str]]] = {
    "core": ("core",),
    "aio": ("aio",),
    "faces": FACES,
    "all": ("core", "aio", *FACES),
    **{each: (each,) for each in FACES},
}
"""By what a command is given: clients that take their turns."""
