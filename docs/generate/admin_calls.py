"""`prokurist/aio/admin_calls.py`: the calls of the admin client, to be awaited.

Each public method of `prokurist.admin.KafkaAdmin` that is written in one of its parts has one
there, with its arguments and annotations, as the sources have them.
"""

import ast
import inspect
from collections.abc import Iterable
from pathlib import Path
from typing import Final

from prokurist.admin.admin import KafkaAdmin

ROOT: Final = Path(__file__).parents[2]
BY_HAND: Final = frozenset({"iter_topic_partitions"})
"""Calls that are no coroutines; `aio/admin.py` has them."""

HEAD: Final = '''"""The calls of an admin client for coroutines, each as that of threads.

Written by `python -m docs.generate` from `prokurist/admin`: change nothing here.

Thread: the event loop's.
"""

from __future__ import annotations

from inspect import isawaitable
from typing import TYPE_CHECKING, Any

{needed}

if TYPE_CHECKING:
{imports}


class AdminCalls:
    """Calls of `KafkaAdmin`."""

    _inner: TaskAdmin

    async def _awaited(self, operation: str, *given: Any, **keywords: Any) -> Any:
        """Make a call, and wait for what it has asked brokers."""
        found = getattr(self._inner, operation)(*given, **keywords)
        return await found if isawaitable(found) else found
'''
CALL: Final = '''
    async def {name}(
        {parameters},
    ) -> {returned}:
        """As `prokurist.admin.KafkaAdmin.{name}`."""
        found: {annotation} = await self._awaited(
            {given},
        )
        return found
'''


def document() -> str:
    """The text of the module."""
    calls, words, needed, imports = [], set(), set(), {}
    for part in KafkaAdmin.__mro__[1:]:
        if not part.__module__.startswith("prokurist.admin."):
            continue
        path = Path(inspect.getsourcefile(part) or "")
        tree = ast.parse(path.read_text("utf-8"))
        for node in tree.body:
            if isinstance(node, ast.ImportFrom):
                for name in node.names:
                    imports[name.asname or name.name] = node.module
        for made in tree.body:
            if isinstance(made, ast.ClassDef) and made.name == part.__name__:
                for call in made.body:
                    if isinstance(call, ast.FunctionDef) and not call.name.startswith("_"):
                        if call.name in BY_HAND:
                            continue
                        calls.append(text_of(call))
                        words |= names_in(call)
                        needed |= names_of_defaults(call)
        # What a module defines itself, such as an alias of types.
        for node in tree.body:
            if isinstance(node, ast.ClassDef):
                imports.setdefault(node.name, part.__module__)
            for named in getattr(node, "targets", [getattr(node, "target", None)]):
                if isinstance(named, ast.Name):
                    imports.setdefault(named.id, part.__module__)
    imports["TaskAdmin"] = "prokurist.aio.task_admin"
    lines = by_module((words & imports.keys()) - needed | {"TaskAdmin"}, imports)
    at_runtime = by_module(needed & imports.keys(), imports)
    first = "\n".join(imported(each, at_runtime[each], "") for each in sorted(at_runtime))
    standard = [each for each in sorted(lines) if not each.startswith("prokurist")]
    own = [each for each in sorted(lines) if each.startswith("prokurist")]
    text = "\n".join(imported(each, lines[each]) for each in standard)
    text += "\n\n" + "\n".join(imported(each, lines[each]) for each in own)
    return HEAD.format(imports=text, needed=first) + "".join(calls)


def by_module(words: set[str], imports: dict[str, str | None]) -> dict[str, list[str]]:
    """Names by the module that they are imported from."""
    lines: dict[str, list[str]] = {}
    for word in sorted(words, key=lambda each: (not each.isupper(), each.lower())):
        lines.setdefault(str(imports[word]), []).append(word)
    return lines


def imported(module: str, names: list[str], margin: str = "    ") -> str:
    """An import, in the form of the formatter."""
    line = f"{margin}from {module} import {', '.join(names)}"
    if len(line) <= 96:
        return line
    inner = "".join(f"{margin}    {each},\n" for each in names)
    return f"{margin}from {module} import (\n{inner}{margin})"


def text_of(call: ast.FunctionDef) -> str:
    """One call."""
    arguments = call.args
    parameters = ["self"]
    given = [f'"{call.name}"']
    positional = [*arguments.posonlyargs, *arguments.args][1:]
    missing: list[ast.expr | None] = [None] * (len(positional) - len(arguments.defaults))
    for each, default in zip(positional, [*missing, *arguments.defaults], strict=True):
        parameters.append(parameter(each, default))
        given.append(each.arg)
    if arguments.posonlyargs:
        parameters.insert(len(arguments.posonlyargs), "/")
    if arguments.kwonlyargs:
        parameters.append("*")
    for each, value in zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True):
        parameters.append(parameter(each, value))
        given.append(f"{each.arg}={each.arg}")
    returned = annotation = ast.unparse(call.returns) if call.returns else "None"
    if len(f"        found: {returned} = await self._awaited(") > 96:
        kind, _, inner = returned.partition("[")
        annotation = f"{kind}[\n            {inner[:-1]}\n        ]"
    return CALL.format(
        name=call.name,
        parameters=",\n        ".join(parameters),
        returned=returned,
        annotation=annotation,
        given=",\n            ".join(given),
    )


def parameter(argument: ast.arg, default: ast.expr | None) -> str:
    """One parameter, with its annotation and default."""
    kind = ast.unparse(argument.annotation) if argument.annotation else "Any"
    text = f"{argument.arg}: {kind}"
    return text if default is None else f"{text} = {ast.unparse(default)}"


def names_in(call: ast.FunctionDef) -> set[str]:
    """Names in the annotations and defaults of a call."""
    arguments = call.args
    every = [each.annotation for each in (*arguments.args, *arguments.kwonlyargs)]
    return names_among([*every, call.returns]) | names_of_defaults(call)


def names_of_defaults(call: ast.FunctionDef) -> set[str]:
    """Names in the defaults of a call, which its module needs at run time."""
    return names_among([*call.args.defaults, *call.args.kw_defaults])


def names_among(every: Iterable[ast.expr | None]) -> set[str]:
    """Names in expressions."""
    return {
        node.id
        for each in every
        if each is not None
        for node in ast.walk(each)
        if isinstance(node, ast.Name)
    }
