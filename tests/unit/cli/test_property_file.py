"""Property files, as Java reads them."""

import pytest

from prokurist.cli.property_file import properties


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("", {}),
        ("# a\n! b\n\n  # c", {}),
        ("a=1\n b.c = 2 \nd: 3\ne=", {"a": "1", "b.c": "2", "d": "3", "e": ""}),
        ("a=b=c:d # e", {"a": "b=c:d # e"}),
        ("a=1\na=2", {"a": "2"}),
        ("a=x \\\n   y\\\n z\nb=1", {"a": "x yz", "b": "1"}),
        ("a=x\\", {"a": "x"}),
        ("a=x\\\\\nb=1", {"a": "x\\", "b": "1"}),
        ("servers=kafka1\\:9092\\=\\u20ac\\t.", {"servers": "kafka1:9092=\N{EURO SIGN}\t."}),
        ("a\\=b=1", {"a=b": "1"}),
    ],
)
def test_what_stands_in_it(text: str, found: dict[str, str]) -> None:
    """Comments, separators, lines that go on, escapes."""
    assert properties(text) == found


@pytest.mark.parametrize("text", ["a=1\nhush", "a=1\n=hush", "a=1\nhush\\\n hush"])
def test_another_line_is_refused_by_its_number(text: str) -> None:
    """It may be half a password, so it is not shown."""
    with pytest.raises(ValueError, match="line 2 is no key=value") as caught:
        properties(text)
    assert "hush" not in str(caught.value)
