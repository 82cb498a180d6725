"""A broker whose answers are well formed and wrong: they contradict each other by lot.

What a model answers is read by the client's own tables, changed, and written again. So the
client reads each answer, and finds what no cluster has: names, ids, leaders, epochs and
assignments that do not belong together, numbers out of all bounds, and errors that come and go.

Thread: the one that runs the world. Everything comes of the `Random` that is handed in.
"""

from dataclasses import replace
from random import Random
from typing import Any, Final
from uuid import UUID

from prokurist.network_thread.wire import apis, reading
from prokurist.network_thread.wire.apis import Api
from prokurist.network_thread.wire.schema import FIXED, Field, Struct, message
from prokurist.testing.cluster.session import Delivery
from prokurist.testing.cluster.wire import HEAD
from tests.simulation.answer_writing import body_bytes
from tests.simulation.world import SimulatedNetwork, World

BY_KEY: Final = {each.key: each for each in vars(apis).values() if isinstance(each, Api)}

NUMBERS: Final = (
    *(0, 1, -1, -2, 2, 3, 5, 127, -128, 1000, 32767, -32768, 60_000, 86_400_000),
    *(2**31 - 1, -(2**31), 2**31 - 2, 2**62, 2**63 - 1, -(2**63)),
)
CODES: Final = (*range(-2, 134), 999, 32767)
WORDS: Final = ("", "orders", "other", "x" * 3000, "\0", "\u202e", "é" * 300, "10.0.0.1")
TIMES: Final = (0, 100, 500, -1, -(2**31))
"""Milliseconds for which a broker throttles: a client has to be silent for all of them."""

Slot = tuple[Field, dict[str, Any], str]
"""A field, the structure that holds it, and the way to it."""


class Contradictions:
    """Changes answers on their way, while it is on.

    Args:
        lot: What it goes by.
        rate: How many of the answers are changed, from 0 to 1.
        only: The APIs whose answers are; None for all but ApiVersions.

    Attributes:
        is_on: Whether answers are changed.
        ids: The ids of the topics that there are.
        log: What was changed.
    """

    def __init__(self, lot: Random, rate: float, only: frozenset[str] | None) -> None:
        self.is_on = False
        self.ids: list[UUID] = []
        self.log: list[str] = []
        self._lot = lot
        self._rate = rate
        self._only = only
        self._swaps = lot.random() < 0.3

    def changed(self, api: Api, version: int, frame: bytes, now: float) -> bytes:
        """The frame of an answer, as it was or as a broker that is wrong sends it."""
        wanted = api is not apis.API_VERSIONS and (self._only is None or api.name in self._only)
        if not (self.is_on and wanted) or self._lot.random() >= self._rate:
            return frame
        table = message(api, version, "response")
        head = 5 if table.header_flexible else 4
        body = thawed(reading.reader_of(table)(memoryview(frame), head, api.most_elements)[0])
        done = self._change(table.struct, body)
        self.log.append(f"{now:.3f} {api.name} v{version}: {'; '.join(done)}")
        return frame[:head] + body_bytes(table.struct, body)

    # --- one answer ------------------------------------------------------------------

    def _change(self, table: Struct, body: dict[str, Any]) -> list[str]:
        done: list[str] = []
        if self._swaps and self._lot.random() < 0.5:
            done += self._exchange(table, body)
        for _ in range(self._lot.choice((1, 1, 1, 2, 3, 6))):
            slots = list(slots_of(table, body))
            codes = [each for each in slots if "error_code" in each[0].name]
            chosen = codes if codes and self._lot.random() < 0.35 else slots
            if not chosen:
                break
            field, holder, way = self._lot.choice(chosen)
            holder[field.name] = self._wrong(field, holder[field.name])
            done.append(f"{way}={holder[field.name]!r}"[:100])
        return done

    def _exchange(self, table: Struct, body: dict[str, Any]) -> list[str]:
        """Have two places of one name change their values: names, ids, leaders, epochs."""
        places: dict[str, list[Slot]] = {}
        for slot in slots_of(table, body):
            if not slot[0].array and slot[0].struct is None:
                places.setdefault(slot[2], []).append(slot)
        several = [way for way, each in places.items() if len(each) > 1]
        if not several:
            return []
        way = self._lot.choice(several)
        (field, one, _), (_, other, _) = self._lot.sample(places[way], 2)
        one[field.name], other[field.name] = other[field.name], one[field.name]
        return [f"{way} exchanged"]

    def _wrong(self, field: Field, value: Any) -> Any:
        """Another value for a field."""
        pick = self._lot.choice
        if field.array:
            return self._array(field, list(value or ()))
        if field.struct is not None:
            return None if field.nullable else value
        if "error_code" in field.name:
            return pick(CODES)
        if "throttle" in field.name:
            return pick(TIMES)
        if field.kind in FIXED:
            near = int(value) + pick((1, -1, 2, 100, -100, 10**6))
            return pick((pick(NUMBERS), near, self._lot.getrandbits(pick((2, 8, 31, 63)))))
        if field.kind == "uuid":
            return pick((None, UUID(int=self._lot.getrandbits(128)), *self.ids))
        if field.kind == "string":
            return pick((*WORDS, None if field.nullable else ""))
        return value if field.kind == "records" else self._bytes(bytes(value or b""))

    def _array(self, field: Field, items: list[Any]) -> list[Any] | None:
        pick = self._lot.choice
        match pick(("none", "fewer", "twice", "many", "shuffled", "null", "wrong")):
            case "none":
                return []
            case "fewer" if items:
                items.pop(self._lot.randrange(len(items)))
            case "twice" if items:
                items.append(pick(items))
            case "many" if items:
                items *= pick((2, 50, 300))
            case "null" if field.nullable:
                return None
            case "wrong" if items and field.struct is None:
                at = self._lot.randrange(len(items))
                items[at] = self._wrong(field._replace(array=False, nullable=False), items[at])
            case _:
                self._lot.shuffle(items)
        return items

    def _bytes(self, data: bytes) -> bytes:
        cut = data[: self._lot.randrange(len(data) + 1)]
        return self._lot.choice((b"", cut, data + data, data))

    def __repr__(self) -> str:
        return f"Contradictions({len(self.log)} answers changed)"


class ContradictedWorld(World):
    """A world whose brokers' answers are changed on their way.

    Attributes:
        wrong: What changes them; None for nothing.
    """

    wrong: Contradictions | None = None

    def network(self) -> SimulatedNetwork:
        """See `World`."""
        return ContradictedNetwork(self)


class ContradictedNetwork(SimulatedNetwork):
    """A network on which answers are changed."""

    def __init__(self, world: ContradictedWorld) -> None:
        super().__init__(world)
        self._contradicted = world
        self._asked: dict[tuple[int, int], tuple[int, int]] = {}

    def write(self, connection: int, frame: bytes | bytearray) -> None:
        """Write a frame, noting what it asks."""
        key, version, number = HEAD.unpack_from(frame, 4)
        self._asked[connection, number] = key, version
        super().write(connection, frame)

    def deliver(self, delivery: Delivery) -> None:
        """Something came from a broker."""
        wrong = self._contradicted.wrong
        for connection, session in self._sessions.items():
            if session is delivery.session and not delivery.end and wrong is not None:
                number = int.from_bytes(delivery.frame[:4], signed=True)
                key, version = self._asked.pop((connection, number))
                frame = wrong.changed(
                    BY_KEY[key], version, delivery.frame, self.world.clock.time
                )
                delivery = replace(delivery, frame=frame)
                break
        super().deliver(delivery)


def slots_of(table: Struct, body: dict[str, Any], way: str = "") -> Any:
    """Every field of an answer, with the structure that holds it."""
    for field in table.fields:
        if field.name not in body:
            continue
        here = f"{way}.{field.name}"
        yield field, body, here
        value = body[field.name]
        if field.struct is not None and value is not None:
            for each in value if field.array else (value,):
                yield from slots_of(field.struct, each, here)


def thawed(value: Any) -> Any:
    """A body as dictionaries and lists that may be changed."""
    if isinstance(value, dict):
        return {key: thawed(each) for key, each in value.items()}
    if isinstance(value, tuple):
        return [thawed(each) for each in value]
    return value
