"""The command line's entry: the words in which a command's error is told."""

from collections.abc import Callable

import pytest

from prokurist import errors
from prokurist.cli import app, entry
from prokurist.cli.errors import Failed
from prokurist.errors import Attempt, DisconnectException, KafkaException, TimeoutException

CONNECTS = DisconnectException("nothing listens there")
ERRORS: list[Exception] = [
    *(
        cls("refused")
        for cls in (getattr(errors, name) for name in errors.__all__)
        if isinstance(cls, type) and issubclass(cls, KafkaException)
    ),
    TimeoutException(operation="list_topics", timeout=1.0),
    TimeoutException(operation="list_topics", timeout=1.0, last_error=CONNECTS),
    TimeoutException(
        operation="list_topics",
        timeout=1.0,
        attempts=[Attempt("Metadata", "broker 1 (b:9092)", 0.0, 0.1, "answered")],
        last_error=CONNECTS,
    ),
    Failed("it has failed"),
    OSError("no such file"),
]


def test_no_refusal_names_the_doctor_twice(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """B489: a command whose time is over names it once, and no other more often."""

    def built() -> Callable[..., object]:
        def command(*_: object, **__: object) -> object:
            raise error

        return command

    monkeypatch.setattr(app, "built", built)
    for error in ERRORS:
        code = 2 if isinstance(error, errors.ConfigException) else 1
        assert entry.main(["topics"]) == code, error
        said = capsys.readouterr().err
        is_late = isinstance(error, TimeoutException)
        assert said.count("prokurist doctor") == is_late, said
        assert ("--timeout gives more time" in said) is is_late, said
