"""The public API as text: the generator of `tests/public_api.txt`.

    PROKURIST_IMPL=python python -m tests.public_api > tests/public_api.txt

One line an entry, in an order that depends on nothing but names. Annotations and defaults are
those of the source: `inspect` writes some types differently in each version of Python. The pure
twins are read, which are the specification of the native ones.
"""

import ast
import enum
import inspect
import re
import sys
import typing
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from importlib import import_module
from itertools import chain
from pathlib import Path
from types import FunctionType, ModuleType
from typing import Any, Final

import typer

from prokurist.cli.app import built
from prokurist.compat.kafka import errors as kafka_errors
from prokurist.compat.kafka.error_names import NAMES
from prokurist.config.clients import CONSUMER, PRODUCER
from prokurist.config.key import Effect
from prokurist.config.kip19 import REPLACEMENTS
from prokurist.config.table import ConfigRow, table
from prokurist.errors import KafkaException
from prokurist.events.accumulator.implementation import CHOICE
from prokurist.events.call_log_events import KINDS
from prokurist.metrics.catalogue import OF_QUERIES, every_metric
from prokurist.spark.sink import options as writing
from prokurist.spark.source import options as reading
from prokurist.testing import plugin

ROOT: Final = Path(__file__).parents[1]
TEXT: Final = ROOT / "tests" / "public_api.txt"
MODULES: Final = (
    "prokurist",
    "prokurist.aio",
    "prokurist.compat.confluent_kafka",
    "prokurist.compat.confluent_kafka.admin",
    "prokurist.compat.confluent_kafka.cimpl",
    "prokurist.compat.confluent_kafka.error",
    "prokurist.compat.kafka",
    "prokurist.compat.kafka.structs",
    "prokurist.errors",
    "prokurist.metrics",
    "prokurist.registry",
    "prokurist.spark",
    "prokurist.testing.kafka",
    "prokurist.otel",
    "prokurist.parallel",
    "prokurist.timeline",
)
"""The public modules that list their names in `__all__`."""

DOCUMENTED: Final = re.compile(r"^\.\. auto(?:class|exception|function):: (\S+)$", re.MULTILINE)
"""A name that a page of docs/ documents, and that is public by that."""

UNLISTED: Final = re.compile(
    "__(init|new|repr|str|reduce|reduce_ex|getstate|setstate|setattr|delattr|getattr|getattribute"
    "|dir|del|post_init|init_subclass|class_getitem|copy|deepcopy|getnewargs|getnewargs_ex|replace"
    "|format|subclasshook)__"
)
"""Special methods that promise nothing beyond Python's own, or stand in the class's line."""

SEAMS: Final = frozenset({"of", "over", "wired"})
"""Constructors for the package itself, which the pages leave out."""

FLAGS: Final = ("retriable", "fatal", "refreshes_metadata", "error_code")
"""Class attributes that every exception of the client has."""

RETURNED: Final = frozenset({"Deliveries", "Delivery"})
"""Classes whose objects are returned by the client, and not constructed by a user."""

_Function = ast.FunctionDef | ast.AsyncFunctionDef


def document() -> str:
    """Write the public API.

    Returns:
        The text of `tests/public_api.txt`.
    """
    sections: Mapping[str, Iterable[str]] = {
        "names": _names(),
        "exceptions": _exceptions(),
        "configuration keys of the consumer": _keys(table(CONSUMER).values()),
        "configuration keys of the producer": chain(
            _keys(table(PRODUCER).values()),
            (f"{old}: deprecated, becomes {new}" for old, new in REPLACEMENTS.items()),
        ),
        "options of the Spark source": (
            f"{each.name}: {each.mode.value}, default {each.default or 'none'}"
            for each in reading.OPTIONS
        ),
        "options of the Spark sink": (
            f"{each.name}: {each.mode.value}, default {each.default or 'none'}"
            for each in writing.OPTIONS
        ),
        "metrics": _metrics(),
        "log events": (
            f"{each.name}: {each.level.name}, prokurist.{each.area} ({', '.join(each.keys)})"
            for each in KINDS
        ),
        "commands": _commands("prokurist", typer.main.get_command(built())),
        "pytest plugin": _plugin(),
    }
    lines = ["# Written by `make generated`; tests/public_api.py reads the code."]
    for title, entries in sections.items():
        lines += ["", f"# {title}", "", *sorted(set(entries), key=_order)]
    return "\n".join(lines) + "\n"


def _order(line: str) -> tuple[str, str]:
    """Return the key of a line in its section: members follow their class."""
    return re.split(r"[(: ]", line, maxsplit=1)[0], line


# --- names ---------------------------------------------------------------------


@cache
def public() -> dict[str, Any]:
    """Return every public object by its name, those of `__all__` and those of the pages."""
    found: dict[str, Any] = {}
    for name in MODULES:
        module = import_module(name)
        found |= {f"{name}.{each}": getattr(module, each) for each in module.__all__}
    for page in sorted((ROOT / "docs").glob("**/*.md")):
        for path in DOCUMENTED.findall(page.read_text("utf-8")):
            home, _, name = path.rpartition(".")
            found[path] = getattr(import_module(home), name)
    return found


def _names() -> Iterator[str]:
    classes = {each for each in public().values() if isinstance(each, type)}
    first: dict[type, str] = {}
    for path, value in sorted(public().items(), key=lambda item: (item[0].count("."), item[0])):
        if isinstance(value, type):
            if value in first:
                yield f"{path} is {first[value]}"
                continue
            first[value] = path
            yield from _class(path, value, classes)
        elif inspect.isroutine(value):
            yield from _function(path, value)
        elif isinstance(value, ModuleType):
            yield f"{path}: module"
        elif path == "prokurist.__version__":
            yield f"{path}: str"
        else:
            yield f"{path} = {value!r}"
    for code, name in NAMES.items():
        yield f"prokurist.compat.kafka.errors.{name}: error_code={code}"
    for name, value in vars(kafka_errors).items():
        if isinstance(value, type) and value.__module__ == kafka_errors.__name__:
            yield f"prokurist.compat.kafka.errors.{name}: class{_bases(value)}"


def _class(path: str, cls: type, classes: set[type]) -> Iterator[str]:
    """Return the line of a class and those of its members; public bases have their own."""
    yield f"{path}: class{_bases(cls)}{_constructor(cls)}"
    homes = [
        each
        for each in cls.__mro__
        if each.__module__.startswith("prokurist.") and (each is cls or each not in classes)
    ]
    if issubclass(cls, enum.Enum):
        yield from (f"{path}.{name} = {each.value!r}" for name, each in cls.__members__.items())
    members: dict[str, list[str]] = {}
    # The flags of an exception stand in the section of exceptions.
    flags = FLAGS if issubclass(cls, KafkaException) else ()
    for home in reversed(homes):
        members |= {name: [f"{path}.{name}{kind}"] for name, kind in _attributes(home)}
        for name, member in vars(home).items():
            if lines := list(_member(f"{path}.{name}", name, member)):
                members[name] = lines
    for name, lines in members.items():
        if name not in flags and name not in getattr(cls, "__members__", ()):
            yield from lines


def _bases(cls: type) -> str:
    names = [each.__name__ for each in cls.__bases__ if each.__name__ != "object"]
    public_bases = [each for each in names if not each.startswith("_") and each != "Generic"]
    return f"[{', '.join(public_bases)}]" if issubclass(cls, Exception) else ""


def _constructor(cls: type) -> str:
    """Return the signature of a constructor; where it is generated, the fields have lines."""
    for home in cls.__mro__:
        if not home.__module__.startswith("prokurist.") or cls.__name__ in RETURNED:
            return ""
        for name in ("__init__", "__new__"):
            if made := vars(home).get(name):
                plain = inspect.unwrap(getattr(made, "__func__", made))
                node = _source(plain)
                return _signature(node, bound=True, returns=False) if node else ""
    return ""


def _attributes(cls: type) -> Iterator[tuple[str, str]]:
    """Return the annotated names of a class's body, and those that its constructor sets."""
    node = _class_source(cls)
    if node is None:
        return
    for each in node.body:
        if isinstance(each, _Function) and each.name == "__init__":
            yield from _set_by(each)
    for each in node.body:
        if isinstance(each, ast.AnnAssign) and isinstance(each.target, ast.Name):
            # The default of a configuration key stands in the table of keys.
            keyed = ast.unparse(each.annotation).startswith("Annotated[")
            default = f" = {_text(each.value)}" if each.value and not keyed else ""
            if not each.target.id.startswith("_"):
                yield each.target.id, f": {_text(each.annotation)}{default}"


def _set_by(made: _Function) -> Iterator[tuple[str, str]]:
    for each in ast.walk(made):
        targets = each.targets if isinstance(each, ast.Assign) else ()
        if isinstance(each, ast.AnnAssign):
            targets = [each.target]
        for target in targets:
            if (
                isinstance(target, ast.Attribute)
                and isinstance(target.value, ast.Name)
                and target.value.id == "self"
                and not target.attr.startswith("_")
            ):
                noted = f": {_text(each.annotation)}" if isinstance(each, ast.AnnAssign) else ""
                yield target.attr, noted


def _member(path: str, name: str, member: object) -> Iterator[str]:
    if name in SEAMS or UNLISTED.fullmatch(name) or re.match("_(?!_)", name):
        return
    if isinstance(member, property):
        node = _source(member.fget)
        typed = f" -> {_text(node.returns)}" if node and node.returns else ""
        yield f"{path}: property{typed}{', settable' if member.fset else ''}"
    elif isinstance(member, classmethod | staticmethod):
        kind = type(member).__name__
        bound = isinstance(member, classmethod)
        yield from (f"{each}, {kind}" for each in _function(path, member.__func__, bound=bound))
    elif isinstance(member, FunctionType):
        yield from _function(path, member, bound=True)
    elif not name.startswith("_") and isinstance(member, bool | int | str | float):
        yield f"{path} = {member!r}"


def _function(path: str, function: Any, *, bound: bool = False) -> Iterator[str]:
    plain = inspect.unwrap(function)
    node = _source(plain)
    if node is None:
        return
    variants = [_source(each) for each in typing.get_overloads(plain)]
    for each in [variant for variant in variants if variant] or [node]:
        yield f"{path}{_signature(each, bound=bound)}"


# --- source ---------------------------------------------------------------------


@cache
def _tree(path: str) -> ast.Module:
    return ast.parse(Path(path).read_text("utf-8"))


@cache
def _functions(path: str) -> dict[int, _Function]:
    """Return the functions of a file by their first lines, decorators included."""
    return {
        min(each.lineno, *(decorator.lineno for decorator in each.decorator_list))
        if each.decorator_list
        else each.lineno: each
        for each in ast.walk(_tree(path))
        if isinstance(each, _Function)
    }


def _source(function: Any) -> _Function | None:
    code = getattr(function, "__code__", None)
    if code is None or not Path(code.co_filename).is_relative_to(ROOT / "prokurist"):
        return None  # As that of a dataclass, which is generated.
    return _functions(code.co_filename).get(code.co_firstlineno)


def _class_source(cls: type) -> ast.ClassDef | None:
    # Exceptions say that they are of `prokurist.errors`, whichever file they stand in.
    home = cls.__module__.replace(".", "/")
    for path in (ROOT / f"{home}.py", *sorted((ROOT / home).glob("*.py"))):
        if path.is_file():
            for each in ast.walk(_tree(str(path))):
                if isinstance(each, ast.ClassDef) and each.name == cls.__name__:
                    return each
    return None


def _signature(node: _Function, *, bound: bool, returns: bool = True) -> str:
    """Write a signature on one line, without `self`."""
    given = node.args
    positional = [*given.posonlyargs, *given.args]
    defaults: list[ast.expr | None] = [None] * (len(positional) - len(given.defaults))
    parts = [
        _parameter(each, default)
        for each, default in zip(positional, [*defaults, *given.defaults], strict=True)
    ]
    if given.posonlyargs:
        parts.insert(len(given.posonlyargs), "/")
    if bound:
        parts = parts[1:]
        if parts[:1] == ["/"]:
            del parts[0]
    if given.vararg:
        parts.append(f"*{_parameter(given.vararg)}")
    elif given.kwonlyargs:
        parts.append("*")
    parts += map(_parameter, given.kwonlyargs, given.kw_defaults)
    if given.kwarg:
        parts.append(f"**{_parameter(given.kwarg)}")
    result = f" -> {_text(node.returns)}" if returns and node.returns else ""
    return f"({', '.join(parts)}){result}"


def _parameter(given: ast.arg, default: ast.expr | None = None) -> str:
    noted = f": {_text(given.annotation)}" if given.annotation else ""
    preset = f" = {_text(default)}" if default else ""
    return f"{given.arg}{noted}{preset}"


def _text(node: ast.expr) -> str:
    """Write an expression; quotes around a name that is resolved later are no difference."""
    if isinstance(node, ast.Subscript) and ast.unparse(node.value) == "Annotated":
        assert isinstance(node.slice, ast.Tuple)
        return _text(node.slice.elts[0])
    if (
        isinstance(node, ast.Constant)
        and isinstance(node.value, str)
        and node.value.isidentifier()
    ):
        return node.value if node.value[:1].isupper() else repr(node.value)
    return " ".join(ast.unparse(node).split())


# --- exceptions ------------------------------------------------------------------


def _exceptions() -> Iterator[str]:
    pending: list[type[KafkaException]] = [KafkaException]
    for cls in pending:
        if not cls.__module__.startswith("prokurist."):
            continue
        pending += cls.__subclasses__()
        if (
            cls.__module__ == "prokurist.errors"
        ):  # Where all of the client's own say that they are.
            flags = [
                f"{flag}={getattr(cls, flag)}"
                for flag in FLAGS
                if not isinstance(getattr(cls, flag), property)
            ]
            bases = ", ".join(each.__name__ for each in cls.__bases__)
            yield f"{cls.__name__}({bases}): {', '.join(flags)}"


# --- tables ----------------------------------------------------------------------


def _keys(rows: Iterable[ConfigRow]) -> Iterator[str]:
    for row in rows:
        key = row.key
        if key.status.effect is Effect.REFUSED:
            yield f"{row.name}: refused"
            continue
        unit = f" ({key.kind.unit})" if key.kind.unit else ""
        valid = f", valid {' '.join(key.kind.valid.split())}" if key.kind.valid else ""
        default = "required" if row.required else f"default {_default(row.default)}"
        idle = ", without effect" if key.status.effect is Effect.NONE else ""
        aliases = f", also {', '.join(key.aliases)}" if key.aliases else ""
        yield f"{row.name}: {key.kind.name}{unit}, {default}{valid}{idle}{aliases}"


def _default(value: object) -> str:
    if isinstance(value, tuple):
        return f"[{', '.join(map(str, value))}]"
    return repr(value) if isinstance(value, str) else str(value)


def _metrics() -> Iterator[str]:
    of_queries = {each.name for each in OF_QUERIES}
    for each in every_metric():
        base = ("query", "group") if each.name in of_queries else ("client_id",)
        yield f"{each.name}: {each.kind.value} ({', '.join((*base, *each.labels))})"


def _commands(path: str, command: Any) -> Iterator[str]:
    hints = typing.get_type_hints(inspect.unwrap(command.callback)) if command.callback else {}
    yield f"{path}"
    for each in command.params:
        spelled = ", ".join([*each.opts, *each.secondary_opts])
        typed = _hint(hints.get(each.name, ""))
        default = each.default() if callable(each.default) else each.default
        details = [
            *([typed] if typed else []),
            "required" if each.required else f"default {default!r}",
            *([f"from {each.envvar}"] if each.envvar else []),
        ]
        yield f"{path} {spelled}: {', '.join(details)}"
    for name, each in getattr(command, "commands", {}).items():
        yield from _commands(f"{path} {name}", each)


def _hint(hint: Any) -> str:
    text = hint.__name__ if isinstance(hint, type) and not typing.get_args(hint) else str(hint)
    return re.sub(r"\b(?:\w+\.)+(\w+)", r"\1", text)


def _plugin() -> Iterator[str]:
    for node in ast.walk(_tree(plugin.__file__)):
        text = node.value if isinstance(node, ast.Constant) else None
        if isinstance(text, str) and re.fullmatch(r"--prokurist-[\w-]+", text):
            yield f"option {text}"
        for decorator in getattr(node, "decorator_list", ()):
            if isinstance(node, ast.FunctionDef) and "pytest.fixture" in ast.unparse(decorator):
                scope = re.search(r"scope='(\w+)'", ast.unparse(decorator))
                result = f" -> {ast.unparse(node.returns)}" if node.returns else ""
                yield f"fixture {node.name}: {scope[1] if scope else 'function'}{result}"
    yield f"marker {plugin._MARKER}"


if __name__ == "__main__":
    if CHOICE.name != "python":
        raise SystemExit("The pure twins are the specification: set PROKURIST_IMPL=python.")
    sys.stdout.write(document())
