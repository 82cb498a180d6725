"""A short part of `make fuzz`, and that it is able to fail."""

import os
import shutil
import subprocess
import sys
import time
import zlib
from array import array
from collections.abc import Callable
from contextlib import closing
from http.client import HTTPResponse
from pathlib import Path
from random import Random
from typing import Any, Final

import pytest

from prokurist.errors import CorruptRecordException
from prokurist.network_thread.io.pure_watch import PureWatch
from prokurist.network_thread.io.watch import MODULES
from prokurist.records import compression
from prokurist.records.arrow_interface import Column
from prokurist.records.reader import PartitionReader
from prokurist.twins import choose
from tests.fuzz import costs, endpoints, held, swelling, tables, targets
from tests.fuzz.__main__ import LOOKS, Growth
from tests.fuzz.fuzzing import throw
from tests.fuzz.hostile import answers, batch_around, batches, hostile_records, hostile_stream
from tests.unit.records.twins import native_twin, twin

ROOT = Path(__file__).parents[2]


@pytest.fixture(autouse=True)
def _both_twins() -> None:
    native_twin()
    try:
        choose(MODULES, "native")
    except ImportError as error:
        pytest.skip(f"the native watch was not built: {error}")


def test_some_thousand_hostile_inputs() -> None:
    """B103: no crash, no difference between the twins, no undocumented error."""
    seen: list[int] = []
    throw(range(3000), 2, seen.append)
    assert seen == list(range(3000))


@pytest.mark.slow
def test_the_command() -> None:
    """Processes that are watched, and an input by itself."""
    for more in (["--count", "400"], ["--only", "7"]):
        done = subprocess.run(
            [sys.executable, "-m", "tests.fuzz", "--seed", "5", *more],
            cwd=ROOT,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stdout + done.stderr
        assert not done.stderr


def test_the_same_seed_is_the_same_harm() -> None:
    """Else it could not be reproduced."""
    harms: list[Callable[[Random], object]] = [hostile_records, hostile_stream]
    for harm in harms:
        first = [str(harm(Random(seed))) for seed in range(50)]  # noqa: S311
        assert first == [str(harm(Random(seed))) for seed in range(50)]  # noqa: S311
        assert len(set(first)) > 25


def test_what_is_harmed_was_good_before() -> None:
    """Both twins read all of it."""
    assert len(batches()) > 30
    assert len(answers()) > 5
    for data in batches():
        for name in ("native", "python"):
            told = targets.read_all(twin(name), data, 0, 500, Random(1))  # noqa: S311
            assert told[-1][-1] is True, told  # type: ignore[index]  # exhausted


def test_a_difference_between_the_twins_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of records: and the error says how to see it again."""
    native = native_twin()

    class Lying:
        """A twin that sees no records anywhere."""

        Columns = native.Columns
        RecordRun = native.RecordRun
        header_at = staticmethod(native.header_at)

        @staticmethod
        def decode_batch(*given: Any) -> Any:
            return native.decode_batch(*given[:4], given[4], given[4])

    monkeypatch.setattr(targets, "twin", lambda name: Lying if name == "python" else twin(name))
    with pytest.raises((targets.Differs, CorruptRecordException)) as caught:
        throw(range(6, 20), 1, lambda _number: None)
    assert "--only" in caught.value.__notes__[0]


def test_a_reader_that_forgets_damage_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """An error has to be met again."""
    take = PartitionReader.take

    def forgetful(reader: PartitionReader, most: int) -> Any:
        try:
            return take(reader, most)
        except CorruptRecordException:
            reader._data = memoryview(b"")
            raise

    monkeypatch.setattr(PartitionReader, "take", forgetful)
    with pytest.raises(targets.Differs):
        throw(range(6, 20), 1, lambda _number: None)


def test_a_watch_that_loses_bytes_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of streams."""
    wait = PureWatch.wait

    def deaf(watch: PureWatch, seconds: float | None) -> Any:
        return [each._replace(frames=each.frames[1:]) for each in wait(watch, seconds)]

    monkeypatch.setattr(PureWatch, "wait", deaf)
    with pytest.raises(targets.Differs):
        throw(range(0, 400, 20), 1, lambda _number: None)


def test_inputs_that_ask_for_much_cost_what_they_may() -> None:
    """B103, B272, B277, B278: some of each kind."""
    with closing(targets.Pairs()) as pairs:
        for number in range(60):
            for target in (
                targets.swollen_batches,
                targets.swollen_answers,
                pairs.swollen_streams,
            ):
                target(Random(number))  # noqa: S311 - it can be drawn again


def test_tables_and_endpoints_that_ask_for_much() -> None:
    """B367, B368: rows with next to nothing in them, and answers without end."""
    for number in range(25):
        tables.swollen_tables(Random(number))  # noqa: S311 - it can be drawn again
        endpoints.swollen_endpoints(Random(number))  # noqa: S311 - likewise


def test_an_endpoint_without_a_bound_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """What the standard library reads of a piece whose length is -1."""
    monkeypatch.setattr(endpoints.LocalConnection, "response_class", keeping(HTTPResponse))
    monkeypatch.setattr(endpoints, "FLOODS", [(endpoints.CHUNKED + b"-1\r\n", b"x")])
    with pytest.raises(costs.Costly):
        endpoints.swollen_endpoints(Random(1))  # noqa: S311


@pytest.mark.skipif(not costs.SEEN, reason="its memory alone tells")
def test_an_endpoint_that_keeps_its_pieces_is_found() -> None:
    """What the standard library keeps of many; in a process without memory to hide it in."""
    done = subprocess.run(
        [sys.executable, "-c", KEEPS_PIECES],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 1, done.stdout
    assert "Costly: " in done.stderr
    assert "bytes at the peak" in done.stderr


KEEPS_PIECES: Final = """
from random import Random
from prokurist.network_thread.io.http_exchange import BoundedResponse
from tests.fuzz import endpoints
from tests.fuzz.test_fuzz import keeping

endpoints.LocalConnection.response_class = keeping(BoundedResponse)
endpoints.FLOODS = [(endpoints.CHUNKED, b"1\\r\\nx\\r\\n")]
endpoints.swollen_endpoints(Random(1))
"""


def keeping(kind: type[HTTPResponse]) -> type[HTTPResponse]:
    """An answer that is read by what keeps its pieces."""

    class Keeping(kind):  # type: ignore[misc, valid-type]
        """See `keeping`."""

        def readinto(self, into: Any) -> int:
            read = self.read(len(into))[: len(into)]
            into[: len(read)] = read
            return len(read)

    return Keeping


def test_a_table_that_is_read_beyond_its_rows_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """Offsets that go back, which once were nulls."""

    def unchecked(given: Column, code: Any) -> Any:
        offsets = given.numbers(code, 1, given.length + 1)
        return offsets, array("i", [0] * given.length)

    monkeypatch.setattr(Column, "ascending", unchecked)
    with pytest.raises(tables.Wrong):
        list(map(tables.good_table, map(Random, range(200))))


def test_an_input_that_takes_too_long_is_found() -> None:
    """Seconds of the processor, and not for once."""
    tries: list[int] = []

    def slow() -> None:
        tries.append(1)
        until = time.process_time() + 0.02
        while time.process_time() < until:
            pass

    with pytest.raises(costs.Costly, match=r"s, and 0\.0\d* are allowed"):
        costs.within(costs.Allowance(0.01 / costs.SLOWER, 1 << 30), slow)
    assert len(tries) == costs.TRIES


def test_a_process_that_grows_is_found() -> None:
    """What is there at input after input; one that asks for much, however slowly, is not."""
    growth = Growth()
    for number in range(LOOKS):
        growth.look(number, 100 << 20)
    for _ in range(10 * LOOKS):
        growth.look(LOOKS, 200 << 20)
    growth.look(LOOKS + 1, 100 << 20)
    assert growth.most == 0
    for number in range(LOOKS + 2, 2 * LOOKS + 2):
        growth.look(number, 140 << 20)
    assert growth.most == 40 << 20


def test_what_the_sanitizer_keeps_is_not_held() -> None:
    """Its heap and its shadow are left out by address; all else that is resident counts."""
    lines = (
        b"10007fff8000-10007fff9000 rw-p 00000000 00:00 0\nSize: 64 kB\nRss: 8 kB\nPss: 8 kB\n"
        b"7fff8000-80000000 rw-p 00000000 00:00 0\nSize: 64 kB\nRss: 16 kB\nPss: 16 kB\n"
        b"602000000000-602000010000 rw-p 00000000 00:00 0\nSize: 64 kB\nRss: 32 kB\n"
        b"7f0000000000-7f0000100000 r-xp 00000000 08:01 7 /lib/libc.so.6\nRss: 64 kB\n"
    )
    kept = [range(0x7FFF8000, 0x10007FFF8000), range(0x600000000000, 0x640000000000)]
    assert held.outside(lines, kept) == (8 + 64) << 10
    assert held.outside(lines, []) == (8 + 16 + 32 + 64) << 10


PLANTED: Final = """
import ctypes, mmap, os, sys
from tests.fuzz.held import COUNTED, held, live

def now():
    return held(os.getpid(), live())

assert COUNTED
library = ctypes.CDLL(None)
library.malloc.restype = ctypes.c_void_p

def native(size):
    return [ctypes.memset(library.malloc(size), 1, size) for _ in range((33 << 20) // size)]

def mapped():
    there = mmap.mmap(-1, 33 << 20)
    there.write(bytes(33 << 20))
    return there

what = {
    "freed": lambda: [object() for _ in range(3_000_000)] and None,
    "objects": lambda: [bytes(900) for _ in range(40_000)],
    "small": lambda: native(100),
    "large": lambda: native(1 << 20),
    "mapped": mapped,
}[sys.argv[1]]
before = now()
kept = what()
print(now() - before >> 20)
"""


@pytest.mark.slow
@pytest.mark.parametrize("what", ["freed", "objects", "small", "large", "mapped"])
def test_what_is_lost_under_the_sanitizer_is_found(what: str) -> None:
    """Of 33 MiB none is missed, of whatever kind; what was freed does not count."""
    library = (
        subprocess.run(
            ["gcc", "-print-file-name=libasan.so"], capture_output=True, text=True, check=False
        ).stdout.strip()
        if shutil.which("gcc")
        else ""
    )
    if not Path(library).is_absolute():
        pytest.skip("there is no AddressSanitizer")
    options = {"ASAN_OPTIONS": "detect_leaks=0:quarantine_size_mb=4", "PYTHONMALLOC": "malloc"}
    done = subprocess.run(
        [sys.executable, "-c", PLANTED, what],
        cwd=ROOT,
        env={**os.environ, **options, "LD_PRELOAD": library},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    grown = int(done.stdout)
    assert grown < 4 if what == "freed" else grown > 32


@pytest.mark.skipif(not costs.SEEN, reason="the peak of memory cannot be read here")
def test_an_input_that_takes_too_much_memory_is_found() -> None:
    """At the peak, not only in the end."""
    with pytest.raises(costs.Costly, match="bytes at the peak, and 8388608 are allowed"):
        costs.within(costs.Allowance(9.0, 8 << 20), lambda: bytearray(32 << 20)[:1], exact=True)


def test_a_codec_without_a_budget_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """Very many pieces of nothing, when they are not counted."""
    monkeypatch.setattr(compression.Budget, "piece", lambda _self: None)
    monkeypatch.setattr(compression, "GZIP_NEXT_WINDOW", compression.GZIP_WINDOW)
    data = batch_around(1, zlib.compress(b"", wbits=31) * 50_000, 1)
    monkeypatch.setattr(swelling, "batch", lambda _lot: swelling.Swollen(data, 0))
    with pytest.raises(costs.Costly):
        targets.swollen_batches(Random(1))  # noqa: S311


def test_every_api_is_asked_for_much() -> None:
    """A new one is found by itself."""
    assert len(swelling.APIS) >= 13
