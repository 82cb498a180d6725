"""DescribeUserScramCredentials and AlterUserScramCredentials: users by mechanism.

The model keeps the mechanisms and iterations; its listeners take the users of `Sasl`.
"""

from collections import Counter
from typing import Any, Final

from kio.schema.errors import ErrorCode

from prokurist.testing.cluster.answers import Context
from prokurist.testing.cluster.handlers.administration import Refused, refuse_by_rule
from prokurist.testing.cluster.state import State
from prokurist.testing.cluster.wire import Values

MECHANISMS: Final = (1, 2)
"""SCRAM-SHA-256 and SCRAM-SHA-512."""
FEWEST: Final = 4096
MOST: Final = 16_384


def handle(state: State, request: Any, context: Context) -> Values:
    """Answer by the API."""
    if context.api.name == "DescribeUserScramCredentials":
        return describe(state, request, context)
    return alter(state, request, context)


def describe(state: State, request: Any, context: Context) -> Values:
    """Describe users, or all."""
    code = context.refusals.whole()
    named = [each.name for each in request.users or ()] or sorted(state.scram_users)
    counted = Counter(named)
    return {
        "error_code": code,
        "error_message": None if code else "",
        "results": []
        if code
        else [user_values(state, name, twice=count > 1) for name, count in counted.items()],
    }


def user_values(state: State, name: str, *, twice: bool) -> Values:
    """One user."""
    found = state.scram_users.get(name, {})
    code, text = ErrorCode.none, ""
    if twice:
        code = ErrorCode.duplicate_resource
        text = (
            "Cannot describe SCRAM credentials for the same user twice in a single request: "
            f"{name}"
        )
    elif not found:
        code = ErrorCode.resource_not_found
        text = f"Attempt to describe a user credential that does not exist: {name}"
    return {
        "user": name,
        "error_code": code,
        "error_message": text,
        "credential_infos": []
        if code
        else [
            {"mechanism": mechanism, "iterations": iterations}
            for mechanism, iterations in found.items()
        ],
    }


def alter(state: State, request: Any, context: Context) -> Values:
    """Make, change and delete credentials; each user once in a request."""
    named = Counter(each.name for each in (*request.upsertions, *request.deletions))
    rows = []
    for each in {
        each.name: each for each in (*request.upsertions, *request.deletions)
    }.values():
        code, text = ErrorCode.none, None
        try:
            change(state, each, context, twice=named[each.name] > 1)
        except Refused as refused:
            code, text = ErrorCode(refused.code), refused.text
        rows.append({"user": each.name, "error_code": code, "error_message": text})
    return {"results": rows}


def change(state: State, asked: Any, context: Context, *, twice: bool) -> None:
    """Change or delete one credential."""
    refuse_by_rule(context)
    if twice:
        text = "A user credential cannot be altered twice in the same request"
        raise Refused(ErrorCode.duplicate_resource, text)
    if not asked.name:
        raise Refused(ErrorCode.unacceptable_credential, "Username must not be empty")
    if asked.mechanism not in MECHANISMS:
        raise Refused(ErrorCode.unsupported_sasl_mechanism, "Unknown SCRAM mechanism")
    iterations = getattr(asked, "iterations", None)
    kept = state.scram_users.get(asked.name, {})
    if iterations is None:
        if asked.mechanism not in kept:
            text = "Attempt to delete a user credential that does not exist"
            raise Refused(ErrorCode.resource_not_found, text)
        del kept[asked.mechanism]
        if not kept:
            del state.scram_users[asked.name]
        return
    if iterations < FEWEST:
        raise Refused(ErrorCode.unacceptable_credential, "Too few iterations")
    if iterations > MOST:
        raise Refused(ErrorCode.unacceptable_credential, "Too many iterations")
    state.scram_users.setdefault(asked.name, {})[asked.mechanism] = iterations
