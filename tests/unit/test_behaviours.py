"""docs/behaviours.md and the tests that quote it: neither says what the other does not.

A test quotes a behaviour by its number in its docstring. Only docstrings of tests
count: a number in a comment or in a module's opening holds nothing.
"""

import ast
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
NUMBER = re.compile(r"\bB([1-9]\d{0,2})\b(?!\.\d)")
MUST_BE_REAL = (
    "Timeouts and deadlines",
    "Commit",
    "Wakeup and interrupt",
    "Close",
)
"""Sections whose held lines want a real Kafka, with a star or without."""
VIRTUAL = ("tests/unit", "tests/simulation")
WHERE = {
    "Held": (*VIRTUAL, "tests/embedded"),
    "On a real Kafka": ("tests/broker", "tests/spark"),
    "Over real sockets": ("tests/embedded",),
}


@dataclass
class Page:
    """What the page says.

    Attributes:
        lines: All numbers, in the page's order.
        demanding: Those that want a real Kafka once they are held.
        lists: For each kind of list the numbers in it.
    """

    lines: list[int]
    demanding: set[int]
    lists: dict[str, set[int]]

    @classmethod
    def of(cls, text: str) -> "Page":
        """Read it."""
        page = cls([], set(), {kind: set() for kind in WHERE})
        for section in text.split("\n## ")[1:]:
            title = section.partition("\n")[0]
            for number, line in re.findall(r"^- \*\*B(\d+)\*\* (.*)$", section, re.MULTILINE):
                page.lines.append(int(number))
                if "★" in line or title in MUST_BE_REAL:
                    page.demanding.add(int(number))
            for kind in WHERE:
                for given in re.findall(rf"^\*{kind}:\* ([^*]*)$", section, re.MULTILINE):
                    page.lists[kind] |= numbers_of(given)
        return page


def numbers_of(text: str) -> set[int]:
    """The numbers of a list such as `B1–B3, B7.`."""
    found: set[int] = set()
    for part in text.strip().rstrip(".").split(","):
        match = re.fullmatch(r"B(\d+)(?:–B(\d+))?", part.strip())
        assert match, f"{part!r} is neither a number nor a range of them: {text!r}"
        first = int(match[1])
        found |= set(range(first, int(match[2] or first) + 1))
    return found


def docstrings_of_tests(source: str) -> Iterator[str]:
    """What the tests of a module say of themselves."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.FunctionDef) and node.name.startswith("test_"):
            yield ast.get_docstring(node) or ""


def quoted_below(*folders: str) -> set[int]:
    """The numbers that the tests of some folders quote."""
    return {
        int(number)
        for folder in folders
        for module in (ROOT / folder).rglob("test_*.py")
        for words in docstrings_of_tests(module.read_text("utf-8"))
        for number in NUMBER.findall(words)
    }


def wrongs(page: Page, quoted: Mapping[str, set[int]]) -> list[str]:
    """What the page promises, and the tests do not say; and what it does not know.

    Args:
        page: The page.
        quoted: For each kind of list the numbers that the tests where it looks quote.
    """
    told = [
        f"{kind}: no test in {' or '.join(WHERE[kind])} quotes B{number}"
        for kind, held in page.lists.items()
        for number in sorted(held - quoted[kind])
    ]
    held = page.lists["Held"]
    elsewhere = page.lists["On a real Kafka"] | page.lists["Over real sockets"]
    told += [f"B{number} is not in the list of what is held" for number in elsewhere - held]
    wanting = (held & page.demanding) - elsewhere
    told += [f"B{number} is held, and wants a real Kafka" for number in sorted(wanting)]
    return told


@pytest.fixture(scope="module")
def page() -> Page:
    """The page as it stands."""
    return Page.of((ROOT / "docs" / "behaviours.md").read_text("utf-8"))


def test_the_page_has_each_number_once_and_in_order(page: Page) -> None:
    """Numbers are for ever: tests, reports and changelogs quote them."""
    assert page.lines == sorted(set(page.lines))
    assert all(numbers <= set(page.lines) for numbers in page.lists.values())


def test_every_number_that_a_test_quotes_is_on_the_page(page: Page) -> None:
    """Anywhere in a test's file: in a comment a wrong number misleads just as well."""
    known = set(page.lines)
    strange = {
        (module.relative_to(ROOT).as_posix(), number)
        for module in (ROOT / "tests").rglob("*.py")
        for number in map(int, NUMBER.findall(module.read_text("utf-8")))
        if number not in known and module != Path(__file__)
    }
    assert not strange


def test_what_the_page_calls_held_is_quoted_where_it_says(page: Page) -> None:
    """In virtual time, on a real Kafka, or over real sockets."""
    told = wrongs(page, {kind: quoted_below(*folders) for kind, folders in WHERE.items()})
    assert not told, "\n".join(told)


EXAMPLE = """# Behaviours

## Close

- **B1** One → other.
- **B2** Two → other.

*Held:* B1.

## Metadata

- **B3** Three → other. ★
- **B4** Four → other.
- **B5** Five → other. ★

*Held:* B3–B4.
*On a real Kafka:* B3.
"""


@pytest.mark.parametrize(
    ("text", "quoted", "expected"),
    [
        (
            EXAMPLE,
            {1, 3},
            [
                "no test in tests/unit or tests/simulation or tests/embedded quotes B4",
                "B1 is held",
            ],
        ),
        (
            EXAMPLE + "*Over real sockets:* B5.",
            {1, 3, 4, 5},
            ["B5 is not in the", "B1 is held"],
        ),
        (EXAMPLE.replace("Kafka:* B3", "Kafka:* B4"), {1, 3, 4}, ["B1 is held", "B3 is held"]),
        (EXAMPLE.replace("B1.\n", "B1.\n*On a real Kafka:* B1.\n"), {1, 3, 4}, []),
    ],
)
def test_a_behaviour_without_a_test_is_found(
    text: str, quoted: set[int], expected: list[str]
) -> None:
    """The reading is able to fail, for each of its reasons and for no other."""
    told = wrongs(Page.of(text), dict.fromkeys(WHERE, quoted))
    assert len(told) == len(expected)
    assert all(words in line for words, line in zip(expected, told, strict=True))


def test_only_the_docstrings_of_tests_count() -> None:
    """A module's opening, a helper and a comment hold nothing; `B018` is no number of ours."""
    source = '''"""B1."""
def helper():
    """B2."""
def test_it():
    """B3, and B018 of ruff's."""
    # B4
'''
    (words,) = docstrings_of_tests(source)
    assert NUMBER.findall(words) == ["3"]
