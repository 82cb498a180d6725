"""The admin client of coroutines has the calls of that of threads, and one text serves both."""

import ast
import inspect
from collections.abc import Iterator
from pathlib import Path

from docs.generate import admin_calls
from prokurist.admin import KafkaAdmin
from prokurist.aio import KafkaAdmin as KafkaAdminOfTasks

ROOT = Path(__file__).parents[2]
WAYS_OUT = {"_listing", "_one", "_results", "_run"}
"""Methods that wait on a thread, and return coroutines in `prokurist.aio`."""
OF_THREADS = {"_each_of"}
"""An iterator of threads, which `aio.KafkaAdmin` has in words of its own."""


def public(kind: type) -> set[str]:
    """The names of a class's calls."""
    return {name for name in dir(kind) if not name.startswith("_")}


def test_both_have_the_same_calls() -> None:
    """B727: with the same arguments; generated, but for the iterator."""
    # `wired` is for simulations.
    assert public(KafkaAdminOfTasks) == public(KafkaAdmin)
    for name in public(KafkaAdmin) - {"wired"}:
        expected = inspect.signature(getattr(KafkaAdmin, name))
        taken = inspect.signature(getattr(KafkaAdminOfTasks, name))
        assert list(taken.parameters) == list(expected.parameters), name
        for each in expected.parameters.values():
            other = taken.parameters[each.name]
            assert (other.kind, other.default) == (each.kind, each.default), (name, each)


def test_the_module_is_as_generated() -> None:
    """B727: `python -m docs.generate` writes it."""
    text = (ROOT / "prokurist/aio/admin_calls.py").read_text("utf-8")
    assert text == admin_calls.document()


def used(method: ast.FunctionDef) -> Iterator[ast.Call]:
    """The calls in a method that wait."""
    for node in ast.walk(method):
        if (
            isinstance(node, ast.Call)
            and isinstance(node.func, ast.Attribute)
            and node.func.attr in WAYS_OUT
        ):
            yield node


def returned(method: ast.FunctionDef) -> Iterator[ast.expr]:
    """What a method returns: itself, or by a name that it was given just before."""
    for node in ast.walk(method):
        for body in (getattr(node, "body", []), getattr(node, "orelse", [])):
            if not isinstance(body, list):
                continue
            for before, last in zip([None, *body], body, strict=False):
                if not isinstance(last, ast.Return) or last.value is None:
                    continue
                yield last.value
                if (
                    isinstance(before, ast.AnnAssign)
                    and isinstance(last.value, ast.Name)
                    and isinstance(before.target, ast.Name)
                    and before.target.id == last.value.id
                    and before.value is not None
                ):
                    yield before.value


def methods() -> Iterator[ast.FunctionDef]:
    """The methods of the admin client's parts."""
    for path in sorted((ROOT / "prokurist/admin").glob("*.py")):
        for made in ast.parse(path.read_text("utf-8")).body:
            if isinstance(made, ast.ClassDef):
                yield from (each for each in made.body if isinstance(each, ast.FunctionDef))


def test_what_waits_is_returned_as_it_is() -> None:
    """B727: behind a wait is nothing; more work is a method of steps, given to `_run`."""
    for method in methods():
        if method.name in OF_THREADS | WAYS_OUT | {"close"}:
            continue
        last = {ast.dump(each) for each in returned(method)}
        for call in used(method):
            assert ast.dump(call) in last, (
                f"{method.name} works on what {ast.unparse(call.func)} returns, which is a "
                f"coroutine in prokurist.aio: write the method as steps, with `yield from` of "
                f"self._ask, _ask_all or _ask_one, and return self._run(...) of them"
            )
