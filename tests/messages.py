"""What the client's messages are made of, by kio: the generator of `wire/tables.py`.

    python -m tests.messages > prokurist/network_thread/wire/tables.py

kio has a dataclass for each structure of each version. Here those of one message become one
table, in which a field says which versions have it.
"""

import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields, is_dataclass
from importlib import import_module
from types import NoneType
from typing import Any, Final, TypeVar, get_args, get_origin

from prokurist.network_thread.wire import apis
from prokurist.network_thread.wire.apis import Api

T = TypeVar("T")

PLAIN: Final = {
    "error_code": "int16",
    "timedelta_i32": "int32",
    "timedelta_i64": "int64",
    "datetime_i64": "int64",
}
"""What kio has types of its own for, and is a number to us."""

Row = tuple[int, str, str, int, int, int, int]

HEAD: Final = '''"""Fields of all messages that the client speaks, by `make generated`.

For each API the first version that is flexible (KIP-482), the fields of its request, and
those of its response. A field is

    depth, name, kind, first version, last version, first in which it may be null, tag

where −1 stands for no such version and no tag. An array's kind begins with `[]`. What a
structure is made of follows it, one deeper.

Thread: any; tables.
"""

from typing import Final

Row = tuple[int, str, str, int, int, int, int]
Table = tuple[int, tuple[Row, ...], tuple[Row, ...]]

TABLES: Final[dict[str, Table]] = {
'''


@dataclass(frozen=True)
class Seen:
    """A field, as one version has it.

    Attributes:
        who: Its name, kind and tag.
        nullable: Whether it, or the array as a whole, may be null.
        struct: kio's class for the structure that it holds.
    """

    who: tuple[str, str, int]
    nullable: bool
    struct: type[Any] | None

    @classmethod
    def of(cls, field: Any) -> "Seen":
        """Read one of kio's: `X`, `X | None`, `tuple[X, ...]` or `tuple[X, ...] | None`."""
        members = get_args(field.type)
        nullable = NoneType in members
        inner = (
            next(each for each in members if each is not NoneType) if nullable else field.type
        )
        array = get_origin(inner) is tuple
        inner = get_args(inner)[0] if array else inner
        struct = inner if is_dataclass(inner) and isinstance(inner, type) else None
        kind = "struct" if struct else field.metadata["kafka_type"]
        who = field.name, "[]" * array + PLAIN.get(kind, kind), field.metadata.get("tag", -1)
        # A number is never null on the wire: of a time, kio takes −1 for that.
        return cls(who, nullable and (array or kind not in PLAIN), struct)


def rows(structs: Mapping[int, type[Any]], depth: int = 0) -> Iterator[Row]:
    """The fields of one structure, of which each version has a class."""
    seen = {
        version: {each.who: each for each in map(Seen.of, fields(cls))}
        for version, cls in structs.items()
    }
    for who in in_order([list(each) for each in seen.values()]):
        for run in runs({version: each.get(who) for version, each in seen.items()}):
            yield from row(run, depth)


def runs(those: Mapping[int, Seen | None]) -> Iterator[dict[int, Seen]]:
    """Those versions of a field that follow each other."""
    run: dict[int, Seen] = {}
    for version, each in those.items():
        if each is not None:
            run[version] = each
        elif run:
            yield run
            run = {}
    if run:
        yield run


def row(run: Mapping[int, Seen], depth: int) -> Iterator[Row]:
    """A field that so many versions have, one after the other, and what it is made of."""
    name, kind, tag = run[min(run)].who
    null = next((version for version, each in run.items() if each.nullable), -1)
    assert all(each.nullable == (version >= null >= 0) for version, each in run.items()), run
    yield depth, name, kind, min(run), max(run), null, tag
    structs = {version: each.struct for version, each in run.items() if each.struct}
    yield from rows(structs, depth + 1)


def in_order(lists: list[list[T]]) -> Iterator[T]:
    """All that are in any of the lists, so that none of them has another order."""
    left = lists
    while left := [each for each in left if each]:
        later = {one for each in left for one in each[1:]}
        chosen = next(each[0] for each in reversed(left) if each[0] not in later)
        yield chosen
        left = [each[1:] if each[0] == chosen else each for each in left]


def classes(api: Api, kind: str) -> dict[int, type[Any]]:
    """Kio's class of each version that we speak."""
    name = "".join(f"_{c.lower()}" if c.isupper() else c for c in api.name).removeprefix("_")
    return {
        version: getattr(
            import_module(f"kio.schema.{name}.v{version}.{kind}"), f"{api.name}{kind.title()}"
        )
        for version in range(api.oldest, api.newest + 1)
    }


def table(api: Api) -> Iterator[str]:
    """All of one API."""
    asked, answered = classes(api, "request"), classes(api, "response")
    flexible = next((version for version, cls in asked.items() if cls.__flexible__), -1)
    for version, cls in (*asked.items(), *answered.items()):
        assert cls.__flexible__ == (version >= flexible >= 0), (api, version)
    yield f'    "{api}": ('
    yield f"        {flexible},"
    for structs in (asked, answered):
        written = [str(each).replace("'", '"') for each in rows(structs)]
        if len(written) == 1:  # As the formatter has it.
            yield f"        ({written[0]},),"
            continue
        yield "        ("
        yield from (f"            {each}," for each in written)
        yield "        ),"
    yield "    ),"


def document() -> str:
    """The file."""
    spoken = (each for each in vars(apis).values() if isinstance(each, Api))
    lines = [line for api in sorted(spoken, key=lambda api: api.key) for line in table(api)]
    return HEAD + "\n".join(lines) + "\n}\n"


if __name__ == "__main__":
    sys.stdout.write(document())
