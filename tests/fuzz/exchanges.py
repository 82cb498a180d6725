"""Hostile answers of every kind but fetches, and what brokers say in a SASL authentication.

Thread: any; no state but the good ones, which are made once.
Invariants: everything comes of the `Random` that is handed in.
"""

import struct
from functools import cache
from random import Random
from typing import Any, Final

from prokurist.config.secret import Secret
from prokurist.errors import SaslAuthenticationException
from prokurist.network_thread.wire import apis, codec, reading
from prokurist.network_thread.wire.failures import Malformed, MalformedAnswer
from prokurist.network_thread.wire.schema import message
from prokurist.security.scram import Scram
from prokurist.twins import choose
from tests.fuzz.hostile import harmed
from tests.unit.network_thread.wire.conftest import CASES, Case

NONCE: Final = "fyko+d2lbbFgONRv9qkxdawL"
CHALLENGES: Final = (
    f"r={NONCE}3rfcNHYJY1ZVvWVs7j,s=QSXCR+Q6sek8bf92,i=4096".encode(),
    b"v=6rriTRBi23WpRR/wtup+mMhUZUn/dB5nLTJRsjl95G4=",
    b"e=unknown-user",
)


class Different(AssertionError):
    """The readers do not agree."""


@cache
def frames() -> tuple[tuple[Case, bytes], ...]:
    """Good answers of every kind, in every version."""
    return tuple((case, case.frame()) for case in CASES if case.request.api is not apis.FETCH)


@cache
def readers() -> tuple[Any, Any]:
    """Both readers."""
    return choose(codec.MODULES, "native").module, reading


def answers(lot: Random) -> None:
    """An answer is read or refused, by both readers alike, and means something or nothing."""
    case, good = lot.choice(frames())
    frame = harmed(good, lot)
    table = message(case.request.api, case.version, "response")
    told = [outcome(each.reader_of(table), frame, case) for each in readers()]
    if told[0] != told[1] and not is_brief(told):
        raise Different(f"{case}, {frame!r}:\n{told[0]}\n{told[1]}")
    try:
        codec.decode(case.request, case.version, frame)
    except MalformedAnswer:
        return


def is_brief(told: list[object]) -> bool:
    """Whether both refuse, and the native reader says no more than where: of many elements."""
    refusals = [isinstance(each, tuple) and isinstance(each[0], type) for each in told]
    return all(refusals) and "it is not right at byte" in str(told[0])


def outcome(read: Any, frame: bytes, case: Case) -> object:
    """A body and where it ends, or an error's words."""
    try:
        return read(memoryview(frame), 4, case.request.api.most_elements)
    except (Malformed, struct.error, IndexError) as error:
        return type(error), str(error)


def authentications(lot: Random) -> None:
    """What a broker says in SCRAM is answered or refused."""
    scram = Scram("SCRAM-SHA-256", "user", Secret("pencil"), nonce=lambda: NONCE)
    scram.first()
    try:
        for challenge in CHALLENGES[: lot.choice((1, 2))]:
            scram.answer(harmed(challenge, lot) if lot.random() < 0.8 else challenge)
    except SaslAuthenticationException:
        return
