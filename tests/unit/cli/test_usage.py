"""Wrong calls: one line, exit code 2, and no request is sent."""

import os
import subprocess
import sys
from pathlib import Path
from shutil import which

import pytest

from prokurist.cli import entry
from prokurist.cli.completion import COMPLETION
from prokurist.cli.output import Column, Row, plain, table
from prokurist.cli.reports import in_plain_text, row
from prokurist.cli.steps import Step, StepResult
from prokurist.version import VERSION

AT = ("-b", "127.0.0.1:9")
MISUSE = [
    ("nonsense", "No such command 'nonsense'"),
    ("topics --nonsense", "No such option"),
    ("lag --fail-above -3", "(see prokurist lag --help)"),
    ("config chek", "(see prokurist config --help)"),
    ("topics", "no brokers: name them with -b"),
    ("topics -b 127.0.0.1:99999", "a port is a number from 1 to 65535"),
    ("topics -b nowhere:0", "nowhere:0"),
    ("topics -b 127.0.0.1:9 --timeout -1", "not negative"),
    ("topics -b 127.0.0.1:9 --timeout nan", "not NaN"),
    ("topics -b 127.0.0.1:9 --timeout soon", "'--timeout'"),
    ("topics -b 127.0.0.1:9 -X client.id", "key=value"),
    ("topics -b 127.0.0.1:9 -X fetch.max.byte=3", "did you mean fetch.max.bytes"),
    ("topics -b 127.0.0.1:9 -X fetch.max.bytes=many", "fetch.max.bytes"),
    (
        "topics -b 127.0.0.1:9 -X security.protocol=SASL_SSL",
        "sasl.mechanism=GSSAPI, the default",
    ),
    ("topics -b 127.0.0.1:9 -X ssl.key.password=x", "use -F FILE"),
    ("topics -b 127.0.0.1:9 -F /nowhere", "-F /nowhere"),
    ("reassign start -b 127.0.0.1:9 orders:0=1,1", "'orders:0=1,1' names a broker twice"),
    ("quotas set -b 127.0.0.1:9 --user a producer_byte_rate=nan", "a finite number"),
    ("topics create -b 127.0.0.1:9 \udcff", "UTF-8"),
    ("configs show -b 127.0.0.1:9 broker:x", "a broker has a number for its id"),
    ("features set -b 127.0.0.1:9 metadata.version=x", "a level is a number"),
    ("consume -b 127.0.0.1:9", "'-t'"),
    ("consume -b 127.0.0.1:9 -t a -o soon", "-o soon"),
    ("consume -b 127.0.0.1:9 -t a -c 0", "'-c'"),
    ("consume -b 127.0.0.1:9 -t a -p x", "'-p'"),
    ("consume -b 127.0.0.1:9 -t a -f %q", "%q means nothing"),
    ("consume -b 127.0.0.1:9 -t a -f %s -J", "give one of them"),
    ("consume -b 127.0.0.1:9 -t a -G g -p 0", "-p with -G"),
    ("consume -b 127.0.0.1:9 -t a -G g -o 5", "-o with -G"),
    ("offsets -b 127.0.0.1:9", "'-G'"),
    ("offsets -b 127.0.0.1:9 -G g -w --every 0", "'--every'"),
    ("groups reset g -b 127.0.0.1:9 -t a", "there are none"),
    ("groups reset g -b 127.0.0.1:9 -t a --to-latest --shift-by 1", "there are 2"),
    ("groups reset g -b 127.0.0.1:9 -t a --to-offset -1", "not negative"),
    ("groups reset g -b 127.0.0.1:9 -t a --to-datetime soon", "no moment"),
    ("groups reset g -b 127.0.0.1:9 -t a --by-duration soon", "no duration"),
    ("broker --nodes 0", "'--nodes'"),
    ("broker --port 70000", "'--port'"),
    ("broker --every 0", "'--every'"),
    ("consume -b 127.0.0.1:9 -t a -n 5 -c 1", "-n says how many"),
    ("consume -b 127.0.0.1:9 -t a -n 5 -o end", "leave out -o"),
    ("consume -b 127.0.0.1:9 -t a --merge", "--merge needs an end"),
    ("consume -b 127.0.0.1:9 -t a -G g -n 5", "-o with -G"),
    ("consume -b 127.0.0.1:9 -t a -G g --merge -e", "--merge and -n with -G"),
    ("consume -b 127.0.0.1:9 -t a -G g -o e@1", "-o with -G"),
    ("consume -b 127.0.0.1:9 -t a --grep (", "no regular expression"),
    ("consume -b 127.0.0.1:9 -t a --json-values", "is for -J"),
    ("completion csh", "csh"),
    ("broker -t :3", "NAME:PARTITIONS"),
    ("broker -t orders:none", "NAME:PARTITIONS"),
]


@pytest.fixture(autouse=True)
def _nowhere(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("PROKURIST_BOOTSTRAP", raising=False)


@pytest.mark.parametrize(("line", "said"), MISUSE, ids=[line for line, _ in MISUSE])
def test_a_wrong_call_is_one_line_and_exit_code_2(
    capsys: pytest.CaptureFixture[str], line: str, said: str
) -> None:
    """It names what was written, and nothing is on standard output."""
    assert entry.main(line.split()) == entry.USAGE
    told = capsys.readouterr()
    assert told.out == ""
    assert told.err.count("\n") == 1
    assert told.err.startswith("prokurist: ")
    assert said in told.err


def test_a_secret_is_not_repeated(capsys: pytest.CaptureFixture[str]) -> None:
    """Neither where it is refused, nor where it was half of something else."""
    assert entry.main(["topics", *AT, "-X", "ssl.key.password=hush"]) == entry.USAGE
    assert entry.main(["topics", *AT, "-X", "=hush"]) == entry.USAGE
    assert "hush" not in capsys.readouterr().err


def test_keys_come_from_a_file_and_those_of_the_line_replace_them(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    """Comments and empty lines are left out; one that is neither is refused."""
    keys = tmp_path / "keys"
    keys.write_text("# mine\n\nfetch.max.bytes = many\n")
    assert entry.main(["topics", *AT, "-F", str(keys)]) == entry.USAGE
    assert "fetch.max.bytes" in capsys.readouterr().err
    line = ["topics", *AT, "-F", str(keys), "-X", "fetch.max.bytes=9", "--timeout", "0"]
    assert entry.main(line) == entry.FAILURE
    keys.write_text("what\n")
    assert entry.main(["topics", *AT, "-F", str(keys)]) == entry.USAGE
    assert f"-F {keys}: line 1 is no key=value" in capsys.readouterr().err


def test_a_bug_of_ours_is_one_line_too(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """With the way to its traceback."""

    def broken(*_: object, **__: object) -> None:
        raise ZeroDivisionError("planted\nhere")

    monkeypatch.setattr("prokurist.cli.topics.run", broken)
    assert entry.main(["topics", *AT]) == entry.FAILURE
    told = capsys.readouterr().err
    assert told.count("\n") == 1
    assert "a bug in prokurist" in told
    assert "ZeroDivisionError: planted here" in told


@pytest.mark.parametrize("name", ["typer", "rich", "kio"])
def test_without_the_extra_it_says_what_to_install(name: str) -> None:
    """In one line, with exit code 1, before anything of it is imported."""
    program = (
        f"import sys; sys.modules[{name!r}] = None\n"
        "import prokurist.cli.entry as entry; sys.exit(entry.main(['topics']))"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=25, check=False
    )
    assert done.returncode == entry.FAILURE
    assert done.stderr == (
        f"prokurist: the command line needs {name}, not installed here: "
        "pip install 'prokurist[cli]'\n"
    )


COLUMNS = (Column("topic"), Column("in_sync"), Column("lag"))
ROWS: list[Row] = [
    {"topic": "a-very-long-name-" * 8, "in_sync": [1, 2], "lag": 1234},
    {"topic": "b", "in_sync": [], "lag": None},
]


def test_a_pipe_gets_columns_that_no_width_cuts_off() -> None:
    """One line a row, no box, and no column that `awk` would miss."""
    lines = list(plain(COLUMNS, ROWS))
    assert [line.split() for line in lines] == [
        ["topic", "in-sync", "lag"],
        ["a-very-long-name-" * 8, "1,2", "1234"],
        ["b", "-", "-"],
    ]
    assert all(line.isascii() and line == line.rstrip() + "\n" for line in lines)


def test_a_terminal_of_80_columns_gets_every_cell() -> None:
    """A long name is folded; numbers never are."""
    from rich.console import Console

    console = Console(width=80, record=True, force_terminal=False, quiet=False)
    with console.capture() as caught:
        console.print(table(COLUMNS, ROWS))
    text = caught.get()
    assert all(len(line.rstrip()) <= 80 for line in text.splitlines())
    assert "1234" in text
    assert text.replace("\n", "").replace(" ", "").count("a-very-long-name-") >= 7


def test_a_step_of_the_doctor_reads_alike_in_a_pipe_and_on_a_terminal(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Verdict, step, time, finding and, where something is wrong, what to do."""
    from rich.console import Console

    step = Step("TCP", StepResult.FAILED, "no connection", 0.0123, "Start the broker.")
    in_plain_text(step)
    first, second = capsys.readouterr().out.splitlines()
    assert first.split() == ["failed", "TCP", "12.3", "ms", "no", "connection"]
    assert second.strip() == "→ Start the broker."
    console = Console(width=80)
    with console.capture() as caught:
        console.print(row(step))
    for part in ("✗", "TCP", "12.3 ms", "no connection", "→", "Start the broker."):
        assert part in caught.get()


def test_the_version_and_help_need_no_command(capsys: pytest.CaptureFixture[str]) -> None:
    """`--version` alone, and help for nothing at all."""
    assert entry.main(["--version"]) == entry.DONE
    assert capsys.readouterr() == (f"prokurist {VERSION}\n", "")
    assert entry.main([]) == entry.DONE
    told = capsys.readouterr()
    assert told.out.startswith("Usage: prokurist")
    assert told.err == ""


ASKED = [
    ("bash", {"COMP_WORDS": "prokurist share", "COMP_CWORD": "1"}),
    ("zsh", {"_TYPER_COMPLETE_ARGS": "prokurist share"}),
    (
        "fish",
        {"_TYPER_COMPLETE_ARGS": "prokurist share", "_TYPER_COMPLETE_FISH_ACTION": "get-args"},
    ),
]


@pytest.mark.parametrize(("shell", "asked"), ASKED)
def test_a_shell_is_told_what_completes_a_word(shell: str, asked: dict[str, str]) -> None:
    """As the script asks that `prokurist completion` writes for it."""
    variable = {COMPLETION: f"complete_{shell}"}
    done = subprocess.run(
        [sys.executable, "-m", "prokurist"],
        capture_output=True,
        text=True,
        timeout=25,
        check=False,
        env={**os.environ, **asked, **variable},
    )
    assert "share-groups" in done.stdout
    assert "consume" not in done.stdout


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_a_shell_gets_its_script(capsys: pytest.CaptureFixture[str], shell: str) -> None:
    """Which asks by the variable that is listened to."""
    assert entry.main(["completion", shell]) == entry.DONE
    assert f"{COMPLETION}=complete_{shell}" in capsys.readouterr().out


@pytest.mark.skipif(which("bash") is None, reason="there is no bash")
def test_bash_reads_its_script() -> None:
    """And knows what completes `prokurist` from then on."""
    line = f'eval "$({sys.executable} -m prokurist completion bash)" && complete -p prokurist'
    done = subprocess.run(
        ["bash", "-c", line], capture_output=True, text=True, timeout=25, check=True
    )
    assert "_prokurist_completion" in done.stdout


def test_a_closed_output_is_a_failure_in_one_line() -> None:
    """Nothing can be shown: that is said, and is no bug."""
    command = f"'{sys.executable}' -m prokurist broker --timeout 1 >&-"
    ended = subprocess.run(
        ["sh", "-c", command], check=False, capture_output=True, text=True, timeout=60
    )
    assert ended.returncode == 1
    assert ended.stderr.startswith("prokurist: standard output is closed")
    assert ended.stderr.count("\n") == 1
