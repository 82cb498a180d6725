"""Writes records and says how fast, as a line of JSON.

    python producing.py CLIENT WAY BOOTSTRAP TOPIC COUNT SIZE KEYS

WAY is what the application keeps of each record: `flush` nothing; `handles` what `send`
returns, each asked for its offset at the end; `callbacks` nothing, but each record has a
callback that notes its offset; `append` nothing, and the broker is frozen meanwhile, so that
`send` alone is measured; `frozen` is the same until the memory is full, and then calls are
timed. KEYS are the client's further configuration, as JSON.

The connections stand and the code is warm: a tenth as many records were written before, in
the same way. Measured from the first `send` until the last delivery is told.
"""

import asyncio
import json
import os
import random
import resource
import sys
import time
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from itertools import cycle, islice
from pathlib import Path
from typing import Any

PATIENCE = 120.0
BLOCKS = 0.02
"""`max.block.ms` while the broker is frozen, and as long a wait for nothing; in seconds."""
STILL = 5.0
"""Seconds for which nothing is done beside a frozen broker."""
ASKED = 2.0
"""Seconds that `flush` and `close` are given."""

Way = Callable[[Iterable[bytes]], int]
"""Writes records: how many were told to be delivered."""


class OfProkurist:
    """Ours."""

    def __init__(self, bootstrap: str, topic: str, keys: Mapping[str, Any]) -> None:
        from prokurist import KafkaProducer  # noqa: PLC0415

        self.producer = KafkaProducer({"bootstrap.servers": bootstrap, **keys})
        self.topic = topic

    def flush(self, values: Iterable[bytes]) -> int:
        """Keep nothing."""
        self.append(values)
        self.producer.flush(PATIENCE)
        return -1

    def append(self, values: Iterable[bytes]) -> int:
        """Send, and no more."""
        send, topic = self.producer.send, self.topic
        for value in values:
            send(topic, value)
        return -1

    def handles(self, values: Iterable[bytes]) -> int:
        """Keep what `send` returns, and ask it."""
        send, topic = self.producer.send, self.topic
        kept = [send(topic, value) for value in values]
        self.producer.flush(PATIENCE)
        return sum([each.result(PATIENCE).offset >= 0 for each in kept])

    def callbacks(self, values: Iterable[bytes]) -> int:
        """Have a callback called for each."""
        send, topic, offsets = self.producer.send, self.topic, list[int]()
        note = offsets.append

        def heard(metadata: Any, error: Exception | None) -> None:
            if error is None:
                note(metadata.offset)

        for value in values:
            send(topic, value, on_delivery=heard)
        self.producer.flush(PATIENCE)
        return len(offsets)

    def try_send(self, value: bytes) -> bool:
        """Send where there may be no room: whether there was."""
        delivery = self.producer.send(self.topic, value)
        return not delivery.done()

    def try_flush(self) -> None:
        """Flush in vain."""
        self.producer.flush(ASKED)

    def close(self) -> None:
        """Close, with records on their way."""
        self.producer.close(ASKED)


class OfKafkaPython(OfProkurist):
    """kafka-python, whose `send` is called alike."""

    def __init__(self, bootstrap: str, topic: str, keys: Mapping[str, Any]) -> None:
        from kafka import KafkaProducer  # noqa: PLC0415

        named = {key.replace(".", "_"): value for key, value in keys.items()}
        self.producer = KafkaProducer(
            bootstrap_servers=bootstrap, acks="all", enable_idempotence=True, **named
        )
        self.topic = topic

    def handles(self, values: Iterable[bytes]) -> int:
        """Keep what `send` returns, and ask it."""
        send, topic = self.producer.send, self.topic
        kept = [send(topic, value) for value in values]
        self.producer.flush(PATIENCE)
        return sum([each.get(PATIENCE).offset >= 0 for each in kept])

    def callbacks(self, values: Iterable[bytes]) -> int:
        """Have a callback called for each."""
        send, topic, offsets = self.producer.send, self.topic, list[int]()
        note = offsets.append

        def heard(metadata: Any) -> None:
            note(metadata.offset)

        for value in values:
            send(topic, value).add_callback(heard)
        self.producer.flush(PATIENCE)
        return len(offsets)


class OfConfluent:
    """confluent-kafka, which has no handles: offsets are told to callbacks alone."""

    def __init__(self, bootstrap: str, topic: str, keys: Mapping[str, Any]) -> None:
        from confluent_kafka import Producer  # noqa: PLC0415

        self.producer = Producer(
            {"bootstrap.servers": bootstrap, "enable.idempotence": True, "acks": "all", **keys}
        )
        self.topic = topic

    def _write(self, values: Iterable[bytes], **more: Any) -> None:
        """Send all; where the queue is full, serve callbacks until it is not."""
        produce, poll, topic = self.producer.produce, self.producer.poll, self.topic
        for nth, value in enumerate(values):
            try:
                produce(topic, value, **more)
            except BufferError:
                while True:
                    poll(0.05)
                    try:
                        produce(topic, value, **more)
                        break
                    except BufferError:
                        pass
            if not nth & 1023:
                poll(0)

    def flush(self, values: Iterable[bytes]) -> int:
        """Keep nothing."""
        self._write(values)
        self.producer.flush(PATIENCE)
        return -1

    def append(self, values: Iterable[bytes]) -> int:
        """Send, and no more."""
        produce, topic = self.producer.produce, self.topic
        for value in values:
            produce(topic, value)
        return -1

    def callbacks(self, values: Iterable[bytes]) -> int:
        """Have a callback called for each."""
        offsets = list[int]()
        note = offsets.append

        def heard(error: Any, message: Any) -> None:
            if error is None:
                note(message.offset())

        self._write(values, on_delivery=heard)
        self.producer.flush(PATIENCE)
        return len(offsets)

    def try_send(self, value: bytes) -> bool:
        """Send where there may be no room: whether there was."""
        self.producer.produce(self.topic, value)
        return True

    def try_flush(self) -> None:
        """Flush in vain."""
        self.producer.flush(ASKED)

    def close(self) -> None:
        """Close, with records on their way; it takes no timeout."""
        self.producer.close()


class OfAiokafka:
    """Aiokafka; its `send` returns a future of the loop."""

    def __init__(self, bootstrap: str, topic: str, keys: Mapping[str, Any]) -> None:
        from aiokafka import AIOKafkaProducer  # noqa: PLC0415

        self.topic = topic
        self.loop = asyncio.new_event_loop()
        asyncio.set_event_loop(self.loop)
        named = {key.replace(".", "_"): value for key, value in keys.items()}

        async def begun() -> Any:
            made = AIOKafkaProducer(
                bootstrap_servers=bootstrap, acks="all", enable_idempotence=True, **named
            )
            await made.start()
            return made

        self.producer = self.loop.run_until_complete(begun())

    def flush(self, values: Iterable[bytes]) -> int:
        """Keep nothing."""

        async def write() -> None:
            send, topic = self.producer.send, self.topic
            for value in values:
                await send(topic, value)
            await self.producer.flush()

        self.loop.run_until_complete(write())
        return -1

    def handles(self, values: Iterable[bytes]) -> int:
        """Keep what `send` returns, and ask it."""

        async def write() -> int:
            send, topic = self.producer.send, self.topic
            kept = [await send(topic, value) for value in values]
            await self.producer.flush()
            return sum([(await each).offset >= 0 for each in kept])

        return self.loop.run_until_complete(write())

    def callbacks(self, values: Iterable[bytes]) -> int:
        """Have a callback called for each."""

        async def write() -> int:
            send, topic, offsets = self.producer.send, self.topic, list[int]()
            note = offsets.append

            def heard(future: Any) -> None:
                note(future.result().offset)

            for value in values:
                (await send(topic, value)).add_done_callback(heard)
            await self.producer.flush()
            await asyncio.sleep(0)
            return len(offsets)

        return self.loop.run_until_complete(write())


CLIENTS: Mapping[str, Any] = {
    "prokurist": OfProkurist,
    "confluent-kafka": OfConfluent,
    "aiokafka": OfAiokafka,
    "kafka-python": OfKafkaPython,
}


def cpu() -> float:
    """Processor seconds of this process, those in the kernel included."""
    spent = resource.getrusage(resource.RUSAGE_SELF)
    return spent.ru_utime + spent.ru_stime


def resident() -> float:
    """Memory that this process has at present, in MiB."""
    pages = int(Path("/proc/self/statm").read_text("ascii").split()[1])
    return pages * resource.getpagesize() / (1 << 20)


def written(write: Way, values: Iterable[bytes], count: int) -> dict[str, float]:
    """How long it takes to write so many."""
    spent, began = cpu(), time.perf_counter()
    told = write(islice(values, count))
    seconds = time.perf_counter() - began
    used = cpu() - spent
    if told not in (-1, count):
        raise SystemExit(f"{told} of {count} records were told to be delivered")
    return {"rate": count / seconds, "cpu": used / count * 1e6}


def took(what: Callable[[], object]) -> float:
    """How many seconds a call takes, however it ends."""
    began = time.perf_counter()
    with suppress(Exception):  # A timeout, by each client's own class.
        what()
    return time.perf_counter() - began


def know(client: Any, value: bytes) -> None:
    """Have a client that waits but shortly know the topic."""
    while True:
        with suppress(Exception):  # It does not as yet, by each client's own class.
            if client.try_send(value):
                return


def in_vain(client: Any, value: bytes, times: int) -> dict[str, Any]:
    """Calls beside a frozen broker: how late each ends, what it costs, what it leaves."""
    before = resident()

    def room() -> bool:
        try:
            return bool(client.try_send(value))
        except Exception:  # noqa: BLE001 - no room, by each client's own class
            return False

    while room():
        pass
    full = resident()
    sends, bare = list[float](), list[float]()
    for _ in range(times):
        sends.append(took(lambda: client.try_send(value)))
        bare.append(took(lambda: time.sleep(BLOCKS)))
    spent = cpu()
    time.sleep(STILL)
    still = (cpu() - spent) / STILL
    flushes = [took(client.try_flush) - ASKED for _ in range(3)]
    growth = resident() - full
    print(
        json.dumps(
            {
                "send": sends,
                "bare": bare,
                "still": still,
                "flush": max(flushes),
                "filled": full - before,
                "growth": growth,
            }
        ),
        flush=True,
    )
    return {"close": took(client.close) - ASKED}


def main() -> None:
    """Do what the arguments say."""
    name, way, bootstrap, topic, *numbers, keys = sys.argv[1:]
    count, size = map(int, numbers)
    chance = random.Random(size)  # noqa: S311 - it has to compress badly, no more
    values = cycle([chance.randbytes(size) for _ in range(1000)])
    client = CLIENTS[name](bootstrap, topic, json.loads(keys))
    if way in ("append", "frozen"):
        if way == "frozen":
            know(client, next(values))
        written(client.flush, values, count // 10)
        print("ready", flush=True)
        sys.stdin.readline()
        if way == "frozen":
            figures = in_vain(client, next(values), count)
        else:
            figures = written(client.append, values, count)
    else:
        write = getattr(client, way)
        written(write, values, count // 10)
        figures = written(write, values, count)
    print(json.dumps(figures), flush=True)
    os._exit(0)  # How long a client takes to close is told under `frozen` alone.


if __name__ == "__main__":
    main()
