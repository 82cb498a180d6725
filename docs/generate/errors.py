"""Writes `docs/errors.md` from the classes.

Invariants: the output depends on nothing but the classes and what is advised about them,
and two runs give the same text.
"""

from collections.abc import Iterable, Iterator

from docs.generate.advice import advice
from prokurist.errors.codes import by_code
from prokurist.errors.tree import KafkaException

_INTRO = """\
# Errors

% Written by `make generated`. Change the classes in prokurist/errors instead.

Everything that prokurist raises of its own is a `KafkaException`, from `prokurist.errors`;
`TypeError` and `ValueError` say that an argument cannot be. The classes bear Kafka's names.
Each has `retriable`, whether the same call may succeed when it is made again; `fatal`,
whether this client will not work again; and `error_code`, the broker's number if it was a
broker's word. All of them can be pickled, with their cause.

A call tries again by itself while it has time. So what is retriable below reaches you as
the `last_error` of a `TimeoutException`, or through the callback of `commit_async`:

```python
from prokurist import KafkaConsumer, OffsetAndMetadata, TimeoutException, TopicPartition

with KafkaConsumer(bootstrap_servers="localhost:9092", group_id="billing") as consumer:
    try:
        consumer.commit_sync({TopicPartition("no-such-topic", 0): OffsetAndMetadata(1)}, 0.5)
    except TimeoutException as error:
        print(f"{error.last_error!r}, {len(error.attempts)} times")
```

The attributes of each class are in [the reference](reference.md#errors).
"""


def document() -> str:
    """Write the documentation of all errors.

    Returns:
        The text of `docs/errors.md`.
    """
    codes = by_code()
    own = sorted(_every() - set(codes.values()), key=lambda cls: cls.__name__)
    lines = [
        _INTRO,
        "## What the client raises, and the branches",
        "",
        *_grid(("class", "of", "retriable", "what it means", "what to do"), _own(own)),
        "## What brokers answer",
        "",
        *_grid(
            ("code", "class", "retriable", "what it means", "what to do"),
            ((f"{code}", *_row(cls)) for code, cls in sorted(codes.items())),
        ),
    ]
    return "\n".join(lines).rstrip() + "\n"


def _every() -> set[type[KafkaException]]:
    found: set[type[KafkaException]] = set()
    pending: list[type[KafkaException]] = [KafkaException]
    while pending:
        cls = pending.pop()
        if cls.__module__ == "prokurist.errors":  # Where all of ours say that they are.
            found.add(cls)
            pending.extend(cls.__subclasses__())
    return found


def _own(classes: Iterable[type[KafkaException]]) -> Iterator[tuple[str, ...]]:
    for cls in classes:
        name, *rest = _row(cls)
        bases = ", ".join(f"`{base.__name__}`" for base in cls.__bases__)
        yield (name, bases, *rest)


def _row(cls: type[KafkaException]) -> tuple[str, ...]:
    again = "yes" if cls.retriable else "no, fatal" if cls.fatal else "no"
    if cls.refreshes_metadata:
        again += ", with fresh metadata"
    meaning = (cls.__doc__ or "").partition("\n")[0]
    return (f"`{cls.__name__}`", again, meaning, advice(cls))


def _grid(head: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> Iterator[str]:
    yield f"| {' | '.join(head)} |"
    yield f"|{' --- |' * len(head)}"
    for row in rows:
        yield f"| {' | '.join(row)} |"
    yield ""
