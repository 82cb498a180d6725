"""The bound of `buffer.memory`, and those who wait for room in it."""

from prokurist.events.accumulator.buffer_memory import BufferMemory, Claim


def queued(memory: BufferMemory, size: int) -> Claim:
    """A claim that waits."""
    claim = Claim(size)
    memory.queue(claim)
    return claim


def test_claims_are_granted_in_their_order() -> None:
    """B222: a small one behind a large one waits, so that none starves."""
    memory = BufferMemory(100)
    assert memory.take(Claim(90))
    large, small = queued(memory, 50), queued(memory, 5)
    assert not memory.take(Claim(5)), "there is room, and others were first"
    assert (large.granted, small.granted) == (False, False)
    memory.give_back(39)
    assert (large.granted, small.granted) == (False, False)
    memory.give_back(1)
    assert (large.granted, small.granted) == (True, False)
    memory.give_back(50)
    assert small.granted
    assert small.waiter.is_open
    assert (memory.free, memory.waiting) == (45, 0)


def test_a_claim_that_is_given_up_lets_the_next_one_through() -> None:
    """Also where its room was granted in that moment."""
    memory = BufferMemory(100)
    assert memory.take(Claim(100))
    first, second = queued(memory, 60), queued(memory, 40)
    memory.give_back(60)
    assert first.granted
    memory.leave(first)
    assert second.granted
    assert memory.free == 20


def test_closing_lets_all_through_without_room() -> None:
    """Who waits in `send` hears of it."""
    memory = BufferMemory(10)
    assert memory.take(Claim(10))
    claim = queued(memory, 1)
    memory.close()
    assert claim.waiter.is_open
    assert not claim.granted
