"""The tables of messages are what kio has, and what is made of them is one thing each."""

from pathlib import Path

from prokurist.network_thread.wire import tables
from prokurist.network_thread.wire.apis import FETCH, METADATA
from prokurist.network_thread.wire.schema import message
from tests.messages import document


def test_the_tables_are_current() -> None:
    """A change of the APIs that we speak, or of kio, that is not written out fails here."""
    current = document() == Path(tables.__file__).read_text("utf-8")
    assert current, "refresh them: make generated"


def test_a_message_is_made_once() -> None:
    """Readers and writers are kept by it, and it is known by itself, not by what is in it."""
    assert message(FETCH, 12, "request") is message(FETCH, 12, "request")
    assert message(METADATA, 0, "request") != message(METADATA, 1, "request")
    assert hash(message(FETCH, 12, "response")) == hash(message(FETCH, 12, "response"))
