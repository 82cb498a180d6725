"""SaslHandshake and SaslAuthenticate: who the client of a connection is."""

from typing import Any

from kio.schema.errors import ErrorCode

from prokurist.testing.cluster.answers import Context
from prokurist.testing.cluster.sasl import Refused
from prokurist.testing.cluster.state import State
from prokurist.testing.cluster.wire import Values


def handle(state: State, request: Any, context: Context) -> Values:  # noqa: ARG001
    """Begin an exchange, or go on with it."""
    if context.api.name == "SaslHandshake":
        return begun(request, context)
    return gone_on(request, context)


def begun(request: Any, context: Context) -> Values:
    """Answer a SaslHandshake."""
    sasl = context.sasl
    if sasl is None:
        return {"error_code": ErrorCode.illegal_sasl_state, "mechanisms": ()}
    code = context.refusals.whole() or sasl.begin(request.mechanism, context.now)
    return {"error_code": code, "mechanisms": sasl.settings.mechanisms}


def gone_on(request: Any, context: Context) -> Values:
    """The next message of the broker, or its refusal."""
    sasl = context.sasl
    empty = {"error_message": None, "auth_bytes": b"", "session_lifetime": 0.0}
    if code := context.refusals.whole():
        return {**empty, "error_code": code, "error_message": "refused by a test"}
    if sasl is None or not sasl.is_under_way:
        told = "SaslHandshake was expected"
        return {**empty, "error_code": ErrorCode.illegal_sasl_state, "error_message": told}
    try:
        data = sasl.answer(bytes(request.auth_bytes), context.now)
    except Refused as refused:
        code = ErrorCode.sasl_authentication_failed
        return {**empty, "error_code": code, "error_message": str(refused)}
    lifetime = 0.0 if sasl.is_under_way else sasl.settings.lifetime  # type: ignore[redundant-expr]
    return {**empty, "error_code": 0, "auth_bytes": data, "session_lifetime": lifetime}
