"""The way in and the way out: a command's end as an exit code and one line.

Thread: the main one.
Invariants: no exception gets past `main`. An unexpected one is a line, too; with
`python -X dev -m prokurist` it keeps its traceback.
"""

import io
import logging
import os
import signal
import sys
import warnings
from collections.abc import Sequence
from importlib.util import find_spec
from typing import Final

from prokurist.cli.completion import COMPLETION
from prokurist.cli.errors import Failed, Misused
from prokurist.errors import (
    ConfigException,
    ConfigWarning,
    KafkaException,
    TimeoutException,
)
from prokurist.errors.timeout import DOCTOR

DONE, FAILURE, USAGE, INTERRUPTED = 0, 1, 2, 130
UNREAD: Final = 128 + 13
"""The reader of a pipe has gone: what a shell tells of a program that SIGPIPE has ended."""
TERMINATED: Final = 128 + 15


class Terminated(KeyboardInterrupt):
    """SIGTERM has come: the command ends as by Ctrl-C, and a member leaves its group."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command.

    Args:
        arguments: The words after `prokurist`; None for this process's own.

    Returns:
        The exit code.
    """
    lacking = [name for name in ("typer", "rich", "kio") if find_spec(name) is None]
    if lacking:
        complain(
            f"the command line needs {' and '.join(lacking)}, not installed here: "
            "pip install 'prokurist[cli]'"
        )
        return FAILURE
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="replace")  # An arrow must not end it in a poor locale.
    # What goes wrong is told once, by the line below.
    log, silence = logging.getLogger("prokurist"), logging.NullHandler()
    log.addHandler(silence)
    before = signal.signal(signal.SIGTERM, terminate)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConfigWarning)  # `Asked.keys` tells of them.
            return ended(sys.argv[1:] if arguments is None else list(arguments))
    except Terminated:
        complain("terminated")
        return TERMINATED
    except KeyboardInterrupt:
        complain("interrupted")
        return INTERRUPTED
    except BrokenPipeError:
        # The interpreter flushes once more at its end, and would complain by itself.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return UNREAD
    finally:
        signal.signal(signal.SIGTERM, before)
        log.removeHandler(silence)


CHECKED: Final = ("prokurist.admin.", "prokurist.types.")
"""Modules that check the arguments of administrative calls."""


def terminate(_number: int, _frame: object) -> None:
    """End the command."""
    raise Terminated


def ended(arguments: list[str]) -> int:
    """Run a command and return its exit code; without a command, write the help."""
    import typer  # noqa: PLC0415 - in the extra

    from prokurist.cli.app import built  # noqa: PLC0415 - the same

    if sys.stdout is None:
        complain("standard output is closed: there is no place for what was asked")
        return FAILURE
    if COMPLETION in os.environ:
        # What Typer calls for its own options of the same end; it is not exported.
        from typer.completion import completion_init  # type: ignore[attr-defined]  # noqa: PLC0415

        completion_init()
    try:
        read = built()(arguments or ["--help"], prog_name="prokurist", standalone_mode=False)
        code = read() if callable(read) else read
        sys.stdout.flush()
    except ConfigException as error:
        for fault in error.faults or (str(error),):
            complain(fault)
        return USAGE
    except Misused as error:
        complain(str(error))
        return USAGE
    except typer.TyperException as error:
        context = getattr(error, "ctx", None)
        command = "prokurist" if context is None else context.command_path
        complain(f"{error.format_message()} (see {command} --help)")
        return USAGE
    except BrokenPipeError:
        raise
    except TimeoutException as error:
        ledger = str(error).partition(" To wait ")[0]
        # The ledger of a connection that did not come about names it already.
        cause = "" if DOCTOR in ledger else f" {DOCTOR} looks for the cause;"
        complain(f"{ledger}{cause} --timeout gives more time.")
        return FAILURE
    except (Failed, KafkaException, OSError) as error:
        complain(str(error))
        return FAILURE
    except Exception as error:
        if is_refused_argument(error):
            complain(str(error))
            return USAGE
        if sys.flags.dev_mode:
            raise
        complain(
            f"a bug in prokurist, please report it: {type(error).__name__}: {error} "
            "(python -X dev -m prokurist … shows where)"
        )
        return FAILURE
    return code if isinstance(code, int) else DONE


def is_refused_argument(error: Exception) -> bool:
    """Return True for a value that the admin client, or one of its types, has refused."""
    place = error.__traceback__
    while place is not None and place.tb_next is not None:
        place = place.tb_next
    module = "" if place is None else str(place.tb_frame.f_globals.get("__name__"))
    return isinstance(error, ValueError) and module.startswith(CHECKED)


def complain(text: str) -> None:
    """One line on standard error, even for a text of several lines."""
    if sys.stderr is not None:
        sys.stderr.write(f"prokurist: {' '.join(text.split())}\n")
