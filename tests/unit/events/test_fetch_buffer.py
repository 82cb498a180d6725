"""The buffer by itself: turns, what is held, and who has to ask."""

from prokurist.errors import KafkaException
from prokurist.events.fetch_buffer import Chunk, Entry, Failure, FetchBuffer, ResponseBytes
from prokurist.types import TopicPartition

A, B = TopicPartition("t", 0), TopicPartition("t", 1)


def chunk(tp: TopicPartition, held: ResponseBytes, ticket: int = 1) -> Chunk[object]:
    """One of an answer."""
    return Chunk(tp, ticket, 0, memoryview(b"x" * 10), None, held)


def filled(*entries: Entry[object]) -> FetchBuffer[object]:
    """A buffer with an answer in it."""
    buffer = FetchBuffer[object]()
    buffer.take_ask()
    buffer.put(entries)
    return buffer


def test_an_answer_is_held_until_its_last_chunk_is_gone() -> None:
    """A chunk is a view of all of it."""
    held = ResponseBytes(100)
    one, two = chunk(A, held), chunk(B, held)
    buffer = filled(one, two)
    assert buffer.held == 100
    buffer.drop(one)
    assert (buffer.held, set(buffer.partitions())) == (100, {B})
    buffer.drop(two)
    assert (buffer.held, len(buffer)) == (0, 0)


def test_what_decoding_adds_is_held_too() -> None:
    """And goes with the chunk; one that is gone adds nothing."""
    one = chunk(A, ResponseBytes(100))
    buffer = filled(one)
    buffer.grown(one, 50)
    buffer.grown(one, 30)
    assert buffer.held == 130
    buffer.drop(one)
    buffer.grown(one, 70)
    assert buffer.held == 0


def test_partitions_take_turns() -> None:
    """Whose first entry is done with goes behind the others, and keeps its order."""
    first, second, other = (
        chunk(A, ResponseBytes(1)),
        chunk(A, ResponseBytes(1)),
        chunk(B, ResponseBytes(1)),
    )
    buffer = filled(first, second, other)
    assert buffer.heads() == [first, other]
    assert buffer.drop(first) is second
    assert buffer.heads() == [other, second]
    buffer.defer(B)
    assert buffer.heads() == [second, other]
    assert buffer.drop(first) is None


def test_what_is_worthless_is_purged() -> None:
    """By its ticket; what is worth something keeps its order."""
    old, new = chunk(A, ResponseBytes(10), 1), chunk(A, ResponseBytes(20), 2)
    failure = Failure(B, 1, 0, KafkaException("x"))
    buffer = filled(old, new, failure)
    buffer.purge(lambda _tp, ticket: ticket == 1)
    assert (buffer.heads(), buffer.held) == ([new], 20)
    assert "1 entries, 20 bytes" in repr(buffer)


def test_who_rests_is_woken_once() -> None:
    """By the first poll after what it waits for has come."""
    one, two, three = (
        chunk(A, ResponseBytes(60)),
        chunk(A, ResponseBytes(60)),
        chunk(B, ResponseBytes(60)),
    )
    buffer = filled(one, two, three)
    assert not buffer.take_ask()
    buffer.rest(below=70, idle=False)
    assert not buffer.take_ask()
    buffer.drop(one)
    assert not buffer.take_ask()
    buffer.drop(three)
    assert [buffer.take_ask() for _ in range(2)] == [True, False]
    buffer.rest(below=70, idle=False, emptied=buffer.emptied)
    assert [buffer.take_ask() for _ in range(2)] == [True, False]
    buffer.rest(below=None, idle=True)
    assert [buffer.take_ask() for _ in range(2)] == [True, False]
    buffer.stir()
    assert buffer.take_ask()
