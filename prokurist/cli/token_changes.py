"""`prokurist tokens`: delegation tokens, whose secrets are in files alone.

Thread: the main one.
Invariants: a token's HMAC, which is its password, is written to a property file that its owner
alone can read, and to nothing else. The file is there before the token is asked for.
"""

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime, timedelta
from pathlib import Path
from typing import Final, TextIO

from prokurist.admin import DelegationToken
from prokurist.cli.changes import confirmed, error_of, reported
from prokurist.cli.command_options import CommandOptions, properties_of
from prokurist.cli.errors import Misused
from prokurist.cli.output import Column, Row, show
from prokurist.cli.time_arguments import span
from prokurist.config import Secret
from prokurist.errors import KafkaException
from prokurist.types import counted

TOKENS = (
    Column("token", "bold"),
    Column("owner"),
    Column("renewers"),
    Column("expires"),
    Column("ends"),
)
DESCRIBED = (
    Column("token", "bold"),
    Column("owner"),
    Column("requester"),
    Column("renewers"),
    Column("issued"),
    Column("expires"),
    Column("ends"),
)
PASSWORD: Final = "sasl.password"  # noqa: S105 - a key
USER: Final = "sasl.username"
OWNER_ALONE: Final = 0o600


def list_tokens(asked: CommandOptions, *, as_json: bool) -> None:
    """List delegation tokens, without their secrets.

    Raises:
        KafkaException: Brokers refuse it.
    """
    with asked.admin() as admin:
        found = admin.describe_tokens(timeout=asked.left())
    show(TOKENS, [row_of(each) for each in found], as_json=as_json)
    asked.say(counted(len(found), "token"))


def describe(asked: CommandOptions, owners: Sequence[str], *, as_json: bool) -> None:
    """Show the tokens of owners, with their times.

    Raises:
        KafkaException: Brokers refuse it.
    """
    with asked.admin() as admin:
        found = admin.describe_tokens(owners, timeout=asked.left())
    rows: list[Row] = [
        {**row_of(each), "requester": each.requester, "issued": told(each.issued)}
        for each in found
    ]
    show(DESCRIBED, rows, as_json=as_json)
    asked.say(counted(len(found), "token"))


def row_of(token: DelegationToken) -> Row:
    """A token in one row."""
    return {
        "token": token.token_id,
        "owner": token.owner,
        "renewers": ",".join(token.renewers) or None,
        "expires": told(token.expires),
        "ends": told(token.ends),
    }


def told(moment: datetime) -> str:
    """A time, to the second."""
    return moment.isoformat(timespec="seconds")


def create(
    asked: CommandOptions,
    file: Path,
    owner: str | None,
    renewers: Sequence[str],
    lifetime: str | None,
    *,
    dry_run: bool,
    as_json: bool,
) -> int:
    """Create a token; write what a client needs to log in with it to a file.

    Raises:
        KafkaException: Brokers refuse it.
        Misused: The file exists, or cannot be written.
    """
    period = period_of(lifetime)
    if dry_run:
        outcome = {"token": None}
        return reported(asked, outcome, "created", as_json=as_json, dry_run=True)
    with asked.admin() as admin, written(file) as kept:
        made = admin.create_token(
            owner=owner, renewers=renewers, lifetime=period, timeout=asked.left()
        )
        kept.write(
            f"sasl.mechanism=SCRAM-SHA-256\nsasl.delegation.token=true\n"
            f"{USER}={made.token_id}\n{PASSWORD}={made.hmac.reveal()}\n"
        )
    words = {made.token_id: f"created for {made.owner}, expires {told(made.expires)}"}
    code = reported(asked, {made.token_id: None}, "created", as_json=as_json, words=words)
    asked.say(f"{file} has its keys, for -F and for any client")
    return code


@contextmanager
def written(file: Path) -> Iterator[TextIO]:
    """A new file that its owner alone can read; it is removed after an error.

    Raises:
        Misused: The file exists, or cannot be written.
    """
    try:
        number = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, OWNER_ALONE)
    except OSError as error:
        raise Misused(f"--to {file}: {error.strerror}") from None
    with os.fdopen(number, "w", encoding="utf-8") as made:
        try:
            yield made
        except BaseException:
            file.unlink()
            raise


def renew(
    asked: CommandOptions, file: Path, period: str | None, *, dry_run: bool, as_json: bool
) -> int:
    """Renew a token.

    Raises:
        KafkaException: Nothing could be asked.
        Misused: The file has no token.
    """
    name, secret = token_of(file)
    seconds = period_of(period)
    if dry_run:
        return reported(asked, {name: None}, "renewed", as_json=as_json, dry_run=True)
    words = {}
    error: KafkaException | None = None
    with asked.admin() as admin:
        try:
            expires = admin.renew_token(secret, seconds, timeout=asked.left())
            words[name] = f"renewed, expires {told(expires)}"
        except KafkaException as refused:
            error = refused
    return reported(asked, {name: error}, "renewed", as_json=as_json, words=words)


def expire(
    asked: CommandOptions,
    file: Path,
    period: str | None,
    *,
    yes: bool,
    dry_run: bool,
    as_json: bool,
) -> int:
    """End a token, at once or after a time.

    Raises:
        Failed: It is not confirmed.
        KafkaException: Nothing could be asked.
        Misused: The file has no token.
    """
    name, secret = token_of(file)
    seconds = period_of(period)
    if dry_run:
        return reported(asked, {name: None}, "ended", as_json=as_json, dry_run=True)
    asked = confirmed(asked, "end", 1, "token", yes=yes)
    with asked.admin() as admin:
        error: KafkaException | None = error_of(
            lambda: admin.expire_token(secret, seconds, timeout=asked.left())
        )
    return reported(asked, {name: error}, "ended", as_json=as_json)


def token_of(file: Path) -> tuple[str, Secret]:
    """The id of a token and its HMAC, from a property file.

    Raises:
        Misused: It has none.
    """
    keys = properties_of(file, "")
    if not keys.get(PASSWORD):
        raise Misused(f"{file} has no {PASSWORD}: `prokurist tokens create` writes such a file")
    return keys.get(USER, "token"), Secret(keys[PASSWORD])


def period_of(text: str | None) -> timedelta | None:
    """A time, such as `1d12h`; None for the brokers' default.

    Raises:
        Misused: It is none.
    """
    return None if text is None else timedelta(milliseconds=span(text))
