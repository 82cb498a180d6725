"""Writes `docs/logging.md` from the table.

Invariants: the output depends on nothing but the table, and two runs give the same text.
"""

from collections.abc import Iterator

from prokurist.events.call_log_events import KINDS
from prokurist.events.callback_log_events import CALLBACKS
from prokurist.events.trace import EVERY, EventKind, Level

_INTRO = """\
# Log events

% Written by `make generated`. Change the tables in prokurist/events instead.

A client that is well is quiet: at WARNING it writes nothing, at INFO one line for each
change of state that an operator may want to see, and nothing for a record or a call.
prokurist configures nothing and adds no handler.

**With Python's logging**, lines go to `prokurist.<area>`: `prokurist.group`,
`prokurist.connection` and so on. The message is a sentence for people; the keys of the
tables below are attributes of the record, for formatters that write JSON:

```python
import logging

logging.basicConfig(level=logging.INFO)
logging.getLogger("prokurist.connection").setLevel(logging.DEBUG)
```

**With structlog**, once it is configured, each event goes through your own processors by
its name, with its keys, from INFO on. `logging.getLogger("prokurist").setLevel(...)` sets
another threshold for that, in both directions; beyond it your own filters hold. structlog
is never imported by prokurist.

**With neither**, Python writes warnings and worse to stderr, as it does for every library
that logs. `logging.getLogger("prokurist").addHandler(logging.NullHandler())` silences that.

Each line bears `client_id`, and `group` where there is one. Lines about a call have its
number, `call`, unique in its client; an `error` has its class beside it, as `error_type`.
A configuration is never logged, nor any other secret; a value from outside is put on one
line, even if it holds line breaks. Lists are cut after ten items, and `count` says how many
there are.

A problem that lasts is logged once in {every:.0f} s. Where a row gives a time, it has to have
lasted that long first. Its end is logged if the problem itself was.

A consumer's `on_event` is called with a `LogEvent` for what is written at INFO and above,
whatever levels are set: its `name`, its `text` and, in `values`, the keys of the tables below
as objects ([how to use it](howto/callbacks.md)).

Single calls, with their attempts and waits, are logged at DEBUG by clients that are built
while `prokurist` is at DEBUG. `prokurist.timeline` records the same, and draws it.
"""

_TITLES = {
    "client": "The client",
    "connection": "Connections",
    "metadata": "The cluster",
    "group": "The group",
    "commit": "Commits",
    "fetch": "Reading",
    "share": "Share groups",
    "produce": "Writing",
    "call": "Calls",
    "loop": "The loop",
}

_RECORDED = "only in a recording (`prokurist.timeline`)"
_CALLBACK = "only for `on_event`"


def document() -> str:
    """Write the page of all log events.

    Returns:
        The text of `docs/logging.md`.
    """
    lines = [_INTRO.format(every=EVERY)]
    for area, title in _TITLES.items():
        lines += [f"## {title}: `prokurist.{area}`", ""]
        for kind in KINDS:
            if kind.area == area:
                lines += _entry(kind)
    return "\n".join(lines).rstrip() + "\n"


def _entry(kind: EventKind) -> Iterator[str]:
    level = kind.level.name
    if kind.level is Level.RECORDED:
        level = _CALLBACK if kind in CALLBACKS else _RECORDED
    yield f"### `{kind.name}`: {level}"
    yield ""
    yield f"> {kind.text}"
    yield ""
    yield kind.learns
    yield ""
    keys = ", ".join(f"`{key}`" for key in kind.keys)
    yield f"- keys: {keys or 'none'}{' and the traceback' * kind.traceback}"
    if kind.ends is not None:
        yield f"- logged only if `{kind.ends.name}` was, for the same {kind.story}"
    elif kind.story is not None:
        patience = f", after {kind.patience:.0f} s" if kind.patience else ""
        yield f"- once in {EVERY:.0f} s for each {kind.story}{patience}"
    yield ""
