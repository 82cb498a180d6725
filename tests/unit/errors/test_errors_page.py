"""docs/errors.md is what the classes say, and says what to do about each."""

import pytest

from docs.generate.advice import ADVICE, advice
from docs.generate.errors import document
from prokurist import errors
from prokurist.errors.codes import by_code
from prokurist.errors.tree import ApiException
from prokurist.network_thread import error_actions
from prokurist.network_thread.error_actions import Action, ErrorTable

TABLES = [each for each in vars(error_actions).values() if isinstance(each, ErrorTable)]
RAISED = sorted(
    {
        code
        for table in TABLES
        for code, row in table.rows.items()
        if row.action in (Action.FATAL, Action.SURFACE, Action.OUT_OF_RANGE)
    }
)


def test_every_error_has_its_row() -> None:
    """Every code with its class, and every class that has none."""
    page = document()
    for code, cls in by_code().items():
        assert page.count(f"\n| {code} | `{cls.__name__}` | ") == 1
    for name in errors.__all__:
        cls = getattr(errors, name)
        if isinstance(cls, type) and issubclass(cls, errors.KafkaException):
            assert f"| `{name}` | " in page


@pytest.mark.parametrize("code", RAISED)
def test_each_code_that_is_raised_has_advice(code: int) -> None:
    """What a table of verdicts has raised has a row of its own: a branch's says too little."""
    assert by_code()[code] in ADVICE


def test_a_branch_advises_for_its_leaves() -> None:
    """The nearest row counts."""
    assert advice(errors.SslAuthenticationException) == ADVICE[errors.AuthenticationException]
    assert advice(errors.TopicExistsException) == ADVICE[ApiException]
    assert len(RAISED) > 12
