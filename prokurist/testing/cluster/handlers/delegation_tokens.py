"""CreateDelegationToken, and the renewing, expiring and describing requests.

Connections without a user may not ask for tokens, so all is refused until the control
`accept_tokens` names one.
"""

from datetime import timedelta
from typing import Any, Final

from kio.schema.errors import ErrorCode

from prokurist.testing.cluster.answers import Context
from prokurist.testing.cluster.handlers import field
from prokurist.testing.cluster.state import State
from prokurist.testing.cluster.tokens import EXPIRY, Token
from prokurist.testing.cluster.wire import Values

NEVER: Final = 0
"""The time in a refusal. Kafka sends −1, which kio does not read."""
USER: Final = "User"


def handle(state: State, request: Any, context: Context) -> Values:
    """Answer by the API."""
    state.tokens.forget_expired(context.now)
    code = context.refusals.whole()
    if state.tokens.user is None:
        code = code or ErrorCode.delegation_token_request_not_allowed
    match context.api.name:
        case "CreateDelegationToken":
            return create(state, request, context, code)
        case "RenewDelegationToken":
            return renew(state, request, context, code)
        case "ExpireDelegationToken":
            return expire(state, request, context, code)
        case _:
            return describe(state, request, code)


def create(state: State, request: Any, context: Context, code: int) -> Values:
    """Create a token."""
    renewers = tuple(map(name_of, request.renewers))
    if not code and any(each.principal_type != USER for each in request.renewers):
        code = ErrorCode.invalid_principal_type
    if code:
        nobody = {"principal_type": "", "principal_name": ""}
        requester = {f"token_requester_{key}": value for key, value in nobody.items()}
        times = dict.fromkeys(("issue_timestamp", "expiry_timestamp", "max_timestamp"), NEVER)
        none = {"error_code": code, "token_id": "", "hmac": b""}
        return {**none, **nobody, **requester, **times}
    kind, name = (field(request, f"owner_principal_{each}") for each in ("type", "name"))
    owner = f"{kind}:{name}" if kind else state.tokens.user or ""
    lifetime: timedelta = request.max_lifetime
    token = state.tokens.create(owner, renewers, lifetime.total_seconds(), context.now)
    return {"error_code": ErrorCode.none, **values_of(token)}


def renew(state: State, request: Any, context: Context, code: int) -> Values:
    """Let a token last longer."""
    token = state.tokens.by_hmac.get(request.hmac)
    if not code and token is None:
        code = ErrorCode.delegation_token_not_found
    if code or token is None:
        return {"error_code": code, "expiry_timestamp": NEVER}
    period: timedelta = request.renew_period
    seconds = period.total_seconds() if period > timedelta() else EXPIRY
    token.expires = min(context.now + seconds, token.ends)
    return {"error_code": ErrorCode.none, "expiry_timestamp": time_of(token.expires)}


def expire(state: State, request: Any, context: Context, code: int) -> Values:
    """Let a token end, at once or later."""
    token = state.tokens.by_hmac.get(request.hmac)
    if not code and token is None:
        code = ErrorCode.delegation_token_not_found
    if code or token is None:
        return {"error_code": code, "expiry_timestamp": NEVER}
    period: timedelta = request.expiry_time_period
    if period < timedelta():
        del state.tokens.by_hmac[request.hmac]
        return {"error_code": ErrorCode.none, "expiry_timestamp": time_of(context.now)}
    token.expires = min(context.now + period.total_seconds(), token.ends)
    return {"error_code": ErrorCode.none, "expiry_timestamp": time_of(token.expires)}


def describe(state: State, request: Any, code: int) -> Values:
    """List tokens."""
    owners = None if request.owners is None else set(map(name_of, request.owners))
    return {
        "error_code": code,
        "tokens": []
        if code
        else [
            {
                **values_of(each),
                "renewers": [
                    dict(zip(("principal_type", "principal_name"), named, strict=True))
                    for named in (renewer.split(":", 1) for renewer in each.renewers)
                ],
            }
            for each in state.tokens.by_hmac.values()
            if owners is None or each.owner in owners
        ],
    }


def name_of(principal: Any) -> str:
    """A user by type and name."""
    return f"{principal.principal_type}:{principal.principal_name}"


def values_of(token: Token) -> dict[str, Any]:
    """A token, without its renewers."""
    kind, name = token.owner.split(":", 1)
    asking_kind, asking = token.requester.split(":", 1)
    return {
        "principal_type": kind,
        "principal_name": name,
        "token_requester_principal_type": asking_kind,
        "token_requester_principal_name": asking,
        "issue_timestamp": time_of(token.issued),
        "expiry_timestamp": time_of(token.expires),
        "max_timestamp": time_of(token.ends),
        "token_id": token.token_id,
        "hmac": token.hmac,
    }


def time_of(seconds: float) -> int:
    """A time of the model in milliseconds."""
    return round(seconds * 1000)
