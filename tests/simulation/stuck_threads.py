"""Network threads that do not turn, for a while."""

from collections.abc import Iterator
from contextlib import contextmanager

from prokurist.network_thread.thread import Life
from tests.simulation.world import Member, Sender


@contextmanager
def stuck(client: Member | Sender) -> Iterator[None]:
    """A client's thread makes no turn meanwhile, regardless of what is due and of wake-ups."""
    client.thread.life = Life.NEW
    try:
        yield
    finally:
        client.thread.life = Life.RUNNING
