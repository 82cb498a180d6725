"""A turn of the network thread that does not end: health says so, and of no other thread."""

from tests.simulation.looking_up import filled
from tests.simulation.world import World


def test_a_callback_that_holds_the_network_thread_is_no_life() -> None:
    """B482: for longer than `request.timeout.ms`, as seen from any thread; then it is well."""
    world = World()
    seen: list[bool] = []

    def hold(_metadata: object, _error: object) -> None:
        for seconds in (4.0, 2.0):
            world.clock.time += seconds
            seen.append(producer.health().alive)

    with world.producer(request_timeout_ms=5_000) as producer:
        producer.send("orders", b"x", on_delivery=hold).result(20.0)
        world.clock.sleep(1.0)
        assert seen == [True, False]
        assert producer.health().alive


def test_a_thread_that_waits_for_the_network_is_alive() -> None:
    """B482: also where nothing is due for longer than that."""
    world = filled()
    with world.consumer(request_timeout_ms=5_000, metadata_max_age_ms=3_600_000) as consumer:
        consumer.list_topics()
        for _ in range(10):
            world.clock.sleep(60.0)
            assert consumer.health().alive
