"""Every attribute that keeps something per topic, topic id or partition stands in one table.

They are found by their annotations: a container whose keys or items are partitions, ids, or
objects that are of one partition or topic. A `str` may be a topic's name as well: containers
with such keys stand in the table, or in the list of those that are of something else.
Counters by label (`Family`) are bounded by themselves, and what never changes is no state.
"""

import ast
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Final

from tests.topic_state import KEPT, OF_OTHERS

PACKAGE: Final = Path(__file__).parents[2] / "prokurist"
ROOMS: Final = (
    "application",
    "assembly",
    "compat",
    "consumer",
    "events",
    "logs",
    "metrics",
    "network_thread",
    "producer",
    "spark",
    "parallel",
    "otel",
)
MAPPINGS: Final = frozenset(
    {"dict", "defaultdict", "Counter", "OrderedDict", "Mapping", "WeakKeyDictionary"}
)
COLLECTIONS: Final = MAPPINGS | {"set", "frozenset", "list", "deque", "Sequence"}
IMMUTABLE: Final = frozenset({"NamedTuple", "Protocol", "TypedDict", "Enum"})
PARTITION_OR_ID: Final = frozenset({"TopicPartition", "UUID"})
OF_ONE: Final = frozenset({"topic", "tp", "partition"})
"""Attributes of objects that are of one topic or partition."""


@dataclass
class Classes:
    """What annotations say.

    Attributes:
        attributes: The annotated attributes of each class, by its name and theirs.
        values: The classes whose objects do not change.
        aliases: The type aliases, and the other names of what is imported.
        variables: Type variables, which may have the name of an alias elsewhere.
    """

    attributes: dict[tuple[str, str], ast.expr] = field(default_factory=dict)
    values: set[str] = field(default_factory=set)
    aliases: dict[str, ast.expr] = field(default_factory=dict)
    variables: set[str] = field(default_factory=set)

    def read(self, tree: ast.Module) -> None:
        """Read a module."""
        for node in ast.walk(tree):
            match node:
                case ast.ClassDef():
                    self._read_class(node)
                case ast.AnnAssign(target=ast.Name(id=alias), value=ast.expr() as value):
                    if name_of(node.annotation) == "TypeAlias":
                        self.aliases[alias] = unquoted(value)
                case ast.Assign(targets=[ast.Name(id=name)], value=ast.Call(func=func)):
                    if name_of(func) == "TypeVar":
                        self.variables.add(name)
                case ast.ImportFrom():
                    for each in node.names:
                        if each.asname is not None and each.asname not in PARTITION_OR_ID:
                            self.aliases[each.asname] = ast.Name(each.name)

    def _read_class(self, node: ast.ClassDef) -> None:
        if is_immutable(node):
            self.values.add(node.name)
        own = (each for each in node.body if isinstance(each, ast.AnnAssign))
        for each in own:
            if isinstance(each.target, ast.Name):
                self.attributes[node.name, each.target.id] = unquoted(each.annotation)
        for inner in ast.walk(node):
            match inner:
                case ast.AnnAssign(
                    target=ast.Attribute(value=ast.Name(id="self"), attr=attribute)
                ):
                    self.attributes[node.name, attribute] = unquoted(inner.annotation)

    # --- what an annotation speaks of ------------------------------------------------

    @property
    def topical(self) -> frozenset[str]:
        """The names of types whose objects are of one topic or partition."""
        return PARTITION_OR_ID | {
            owner
            for (owner, attribute), kind in self.attributes.items()
            if attribute in OF_ONE or PARTITION_OR_ID & set(self._alone(self.spelled_out(kind)))
        }

    def _alone(self, kind: ast.expr) -> Iterator[str]:
        """The types that an annotation names outside of any container."""
        if isinstance(kind, ast.BinOp):
            yield from self._alone(kind.left)
            yield from self._alone(kind.right)
        elif (name := name_of(kind)) is not None:
            yield name

    def names_in(self, kind: ast.expr) -> set[str]:
        """All types that an annotation names, those behind aliases included."""
        return {
            name
            for node in ast.walk(self.spelled_out(kind))
            if (name := name_of(node)) is not None
        }

    def containers_in(self, kind: ast.expr) -> Iterator[tuple[str, list[ast.expr]]]:
        """The containers of an annotation, with what they contain."""
        for node in ast.walk(self.spelled_out(kind)):
            if isinstance(node, ast.Subscript) and name_of(node.value) in COLLECTIONS:
                inner = node.slice
                parts = inner.elts if isinstance(inner, ast.Tuple) else [inner]
                yield name_of(node.value) or "", parts

    def spelled_out(self, kind: ast.expr) -> ast.expr:
        """An annotation without aliases; of functions it says nothing more than that."""
        aliases = {k: at for k, at in self.aliases.items() if k not in self.variables}

        class SpellOut(ast.NodeTransformer):
            def visit_Name(self, node: ast.Name) -> ast.expr:
                known = aliases.pop(node.id, None)
                if known is None:
                    return node
                spelled: ast.expr = self.visit(copy_of(known))
                aliases[node.id] = known  # It is no alias of itself meanwhile.
                return spelled

            def visit_Subscript(self, node: ast.Subscript) -> ast.expr:
                if name_of(node.value) in ("Callable", "ClassVar"):
                    return ast.Name("Callable")
                self.generic_visit(node)
                return node

        whole: ast.expr = SpellOut().visit(copy_of(kind))
        return whole


def copy_of(kind: ast.expr) -> ast.expr:
    """A copy of an annotation."""
    return ast.parse(ast.unparse(kind), mode="eval").body


def name_of(node: ast.AST) -> str | None:
    """A name, with or without a module before it; None for anything else."""
    match node:
        case ast.Name(id=name) | ast.Attribute(attr=name):
            return name
    return None


def unquoted(annotation: ast.expr) -> ast.expr:
    """An annotation, also where it is a string."""
    match annotation:
        case ast.Constant(value=str(text)):
            return ast.parse(text, mode="eval").body
    return annotation


def is_immutable(node: ast.ClassDef) -> bool:
    """Whether the objects of a class do not change, or are errors."""
    bases = {
        name_of(each.value if isinstance(each, ast.Subscript) else each) or ""
        for each in node.bases
    }
    if bases & IMMUTABLE or any(each.endswith(("Exception", "Error")) for each in bases):
        return True
    return any(
        isinstance(each, ast.Call)
        and name_of(each.func) == "dataclass"
        and any(key.arg == "frozen" for key in each.keywords)
        for each in node.decorator_list
    )


@cache
def classes() -> Classes:
    """The classes of the rooms."""
    found = Classes()
    for room in ROOMS:
        for path in sorted((PACKAGE / room).rglob("*.py")):
            found.read(ast.parse(path.read_text("utf-8")))
    return found


def state(*, named: bool) -> set[str]:
    """The attributes that keep something per topic or partition.

    Args:
        named: Those whose keys or items are a `str`, and so perhaps the name of a topic;
            otherwise those that certainly do.
    """
    known = classes()
    topical = known.topical
    found: dict[bool, set[str]] = {False: set(), True: set()}
    for (owner, attribute), kind in known.attributes.items():
        if owner in known.values:
            continue
        for container, parts in known.containers_in(kind):
            names = set().union(*map(known.names_in, parts))
            first = known.names_in(parts[0]) if container in MAPPINGS else names
            if names & topical:
                found[False].add(f"{owner}.{attribute}")
            elif "str" in first:
                found[True].add(f"{owner}.{attribute}")
    return found[True] - found[False] if named else found[False]


def test_what_is_kept_per_partition_stands_in_the_table() -> None:
    """B493: new state says there what ends it; see `tests/topic_state.py`."""
    missing = state(named=False) - KEPT.keys() - OF_OTHERS.keys()
    assert not missing, f"what ends {', '.join(sorted(missing))}?"


def test_what_is_kept_per_name_stands_in_the_table_or_is_of_something_else() -> None:
    """B493: a `str` says nothing of what it names; the tables do."""
    missing = state(named=True) - KEPT.keys() - OF_OTHERS.keys()
    assert not missing, f"topics, or something else: {', '.join(sorted(missing))}?"


def test_what_the_tables_name_exists() -> None:
    """A line about an attribute that is gone is a line too many."""
    found = {f"{owner}.{attribute}" for owner, attribute in classes().attributes}
    strange = (KEPT.keys() | OF_OTHERS.keys()) - found
    assert not strange, ", ".join(sorted(strange))
    assert not KEPT.keys() & OF_OTHERS.keys()


def test_state_is_found_by_its_annotation() -> None:
    """Behind aliases, in quotes, under other names, inside of containers; and no more."""
    found = Classes()
    found.read(
        ast.parse(
            "from x import TopicPartition as TP\n"
            "Places: TypeAlias = dict[TP, int]\n"
            "class Wish(NamedTuple):\n"
            "    tp: TP\n"
            "class A:\n"
            "    kept: 'list[tuple[int, Places]]'\n"
            "    def __init__(self):\n"
            "        self.wishes: deque[Wish] = deque()\n"
            "        self.number: int = 0\n"
            "        self.told: Callable[[Places], None] = print\n"
        )
    )
    assert "Wish" in found.topical
    assert found.values == {"Wish"}
    inside = {
        attribute: [container for container, _ in found.containers_in(kind)]
        for (owner, attribute), kind in found.attributes.items()
        if owner == "A"
    }
    assert inside == {"kept": ["list", "dict"], "wishes": ["deque"], "number": [], "told": []}
