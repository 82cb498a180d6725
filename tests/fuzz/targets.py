"""What hostile bytes are thrown at, and what has to come of it.

Thread: any; each target is told a `Random` and raises where something is wrong.
"""

import os
import socket
from contextlib import suppress
from functools import partial
from random import Random
from typing import Final

from prokurist.errors import CorruptRecordException, RecordTooLargeException
from prokurist.network_thread.io.pure_watch import PureWatch
from prokurist.network_thread.io.watch import MODULES, READING, MakeWatch, Watch, watch_of
from prokurist.network_thread.wire.codec import decode
from prokurist.network_thread.wire.failures import MalformedAnswer
from prokurist.records.headers import extent
from prokurist.records.implementation import Codec
from prokurist.records.reader import PartitionReader
from prokurist.twins import choose
from tests.fuzz import swelling
from tests.fuzz.costs import of_answer, of_batch, of_stream, within
from tests.fuzz.hostile import hostile_answer, hostile_records, hostile_stream
from tests.unit.records.twins import twin

CAP: Final = 256 << 10
LARGE_CAP: Final = 64 << 20
"""For batches that ask for much, which they would get of less than that."""
LARGEST: Final = 1 << 16
STEPS: Final = 200
"""No run of a few batches has more to read."""


class Differs(AssertionError):
    """The twins do not agree, or something that was refused has moved."""


def read_all(codec: Codec, data: bytes, position: int, most: int, lot: Random) -> list[object]:
    """All that a reader of one twin gives, up to damage: records, places and words."""
    committed = lot.random() < 0.3
    reader = PartitionReader(
        "t",
        1,
        data,
        position=position,
        aborted=[(9, 0)] if committed else None,
        check_crcs=lot.random() < 0.5,
        cap=CAP,
        codec=codec,
    )
    told: list[object] = []
    for _ in range(STEPS):
        before = reader.position
        try:
            runs = reader.take(most)
        except (CorruptRecordException, RecordTooLargeException) as error:
            told.append((str(error), reader.position, reader.exhausted))
            if again(reader, most) != (str(error), reader.position):
                raise Differs("an error that is not met again") from error
            return told
        told += [
            (each.offset, each.timestamp, each.key, each.value, headers_of(each))
            for run in runs
            for each in run
        ]
        told.append((reader.position, reader.leader_epoch, reader.exhausted))
        if reader.position < before:
            raise Differs(f"the position went back from {before} to {reader.position}")
        if not runs:
            return told
    raise Differs(f"{STEPS} steps, and no end")


def again(reader: PartitionReader, most: int) -> tuple[str, int] | None:
    """What a reader that has met damage says when it is asked once more."""
    try:
        reader.take(most)
    except (CorruptRecordException, RecordTooLargeException) as error:
        return str(error), reader.position
    return None


def headers_of(record: object) -> object:
    """A record's headers, or why they cannot be read."""
    try:
        return record.headers  # type: ignore[attr-defined]  # of either twin
    except (CorruptRecordException, UnicodeDecodeError) as error:
        return str(error)


def records(lot: Random) -> None:
    """Both twins read the same, to the letter."""
    data = hostile_records(lot)
    position, most = lot.choice((0, 0, 71, 1 << 40)), lot.choice((1, 3, 500))
    seed = lot.getrandbits(32)
    native, pure = (
        read_all(twin(name), data, position, most, Random(seed))  # noqa: S311
        for name in ("native", "python")
    )
    if native != pure:
        raise Differs(f"of {data!r} from {position}:\n{native}\n{pure}")
    found = extent(data)
    if not 0 <= found.size <= len(data):
        raise Differs(f"{found} of {len(data)} bytes")
    if found != (other := twin("native").extent(data)):
        raise Differs(f"{found} and {other} of {data!r}")


def fetch_answers(lot: Random) -> None:
    """An answer is read or refused, and its records lie within the frame."""
    version, case, frame = hostile_answer(lot)
    try:
        answer = decode(case.request, version, frame)
    except MalformedAnswer:
        return
    for row in answer.partitions:  # type: ignore[attr-defined]  # it is a FetchAnswer
        if len(row.records) > len(frame):
            raise Differs("records that are larger than their frame")
        extent(row.records)


def swollen_batches(lot: Random) -> None:
    """A batch that asks for much gets it or is refused, within what its size allows."""
    given = swelling.batch(lot)
    room = min(given.comes_to, LARGE_CAP)

    def read() -> None:
        extent = twin("native").extent(given.data)
        reader = PartitionReader(
            "t",
            1,
            memoryview(given.data),
            position=0,
            aborted=None,
            check_crcs=True,
            cap=LARGE_CAP,
            codec=twin("native"),
        )
        with suppress(CorruptRecordException, RecordTooLargeException):
            while extent.size and reader.take(500):
                pass

    within(of_batch(len(given.data), room), read, exact=True)


def swollen_answers(lot: Random) -> None:
    """An answer with very many elements of nothing, of any kind, likewise."""
    api, version, frame, elements = swelling.answer(lot)

    def read() -> None:
        with suppress(MalformedAnswer):
            decode(swelling.Asked(api), version, frame)  # type: ignore[arg-type]  # alike

    within(of_answer(len(frame), elements), read, exact=True)


class Pairs:
    """A watch of each kind, each with one pair of sockets at a time."""

    def __init__(self) -> None:
        self._asleep, self._waker = os.pipe()
        makes: list[MakeWatch] = [watch_of(choose(MODULES, "native")), PureWatch]
        self.watches: list[Watch] = [make(self._asleep, LARGEST) for make in makes]

    def close(self) -> None:
        """Let go of everything."""
        for watch in self.watches:
            watch.close()
        os.close(self._asleep)
        os.close(self._waker)

    def heard(self, watch: Watch, pieces: list[bytes]) -> tuple[list[bytes], str]:
        """What a watch makes of pieces, and of the end after them."""
        ours, theirs = socket.socketpair()
        frames: list[bytes] = []
        end: object = None
        with ours, theirs:
            ours.setblocking(False)
            watch.add(1, ours, READING)

            def look() -> object:
                for seen in watch.wait(0):
                    frames.extend(map(bytes, seen.frames))
                    return seen.end
                return None

            for piece in pieces:
                theirs.sendall(piece)
                for _ in range(3):  # The pure twin comes back after each part of a frame.
                    end = end or look()
                if end is not None:
                    break
            theirs.close()
            for _ in range(2):
                end = end or look()
            place = watch.progress(1).place()
            watch.remove(1)
        return frames, f"{end} {place}"

    def swollen_streams(self, lot: Random) -> None:
        """Very many frames cost each twin no more than their size allows."""
        pieces = swelling.stream(lot)
        size = sum(map(len, pieces))
        for watch in self.watches:
            within(of_stream(size), partial(self.heard, watch, pieces), exact=True)

    def streams(self, lot: Random) -> None:
        """Both twins hear the same frames, the same end, in the same place."""
        pieces = hostile_stream(lot)
        native, pure = (self.heard(watch, pieces) for watch in self.watches)
        if native != pure:
            raise Differs(f"of {pieces!r}:\n{native}\n{pure}")
