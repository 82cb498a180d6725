"""DescribeClientQuotas and AlterClientQuotas: kept, and not enforced.

To have a client throttled use the control `throttle`.
"""

from typing import Any, Final

from kio.schema.errors import ErrorCode

from prokurist.testing.cluster.answers import Context
from prokurist.testing.cluster.handlers.administration import Refused, refuse_by_rule
from prokurist.testing.cluster.state import State
from prokurist.testing.cluster.wire import Values

USER, CLIENT, IP = "user", "client-id", "ip"
TYPES: Final = (USER, CLIENT, IP)
EXACT, DEFAULT, ANY = range(3)
WHOLE: Final = frozenset({"producer_byte_rate", "consumer_byte_rate"})
OF_IPS: Final = frozenset({"connection_creation_rate"})
OF_CLIENTS: Final = frozenset({*WHOLE, "request_percentage", "controller_mutation_rate"})

Entity = frozenset[tuple[str, str | None]]
"""Types and names; None for the default of a type."""


def handle(state: State, request: Any, context: Context) -> Values:
    """Answer by the API."""
    if context.api.name == "DescribeClientQuotas":
        return describe(state, request, context)
    return alter(state, request, context)


def entity_values(entity: Entity) -> list[Values]:
    """An entity, its parts by type."""
    parts = sorted(entity, key=lambda part: part[0])
    return [{"entity_type": kind, "entity_name": name} for kind, name in parts]


def describe(state: State, request: Any, context: Context) -> Values:
    """List the entities matching all components."""
    try:
        refuse_by_rule(context)
        check_components(request.components)
    except Refused as refused:
        return {"error_code": refused.code, "error_message": refused.text, "entries": None}
    return {
        "error_code": ErrorCode.none,
        "error_message": "",
        "entries": [
            {
                "entity": entity_values(entity),
                "values": [{"key": key, "value": value} for key, value in quotas.items()],
            }
            for entity, quotas in state.quotas.items()
            if fits(entity, request)
        ],
    }


def check_components(components: Any) -> None:
    """Refuse an invalid filter."""
    named = [each.entity_type for each in components]
    for each in components:
        kind, code, why = each.entity_type, ErrorCode.invalid_request, None
        if not kind:
            why = "Invalid empty entity type."
        elif named.count(kind) > 1:
            why = f"Entity type {kind} cannot appear more than once in the filter."
        elif kind not in TYPES:
            code, why = ErrorCode.unsupported_version, f"Unsupported entity type {kind}"
        elif each.match_type not in (EXACT, DEFAULT, ANY):
            why = f"Unknown match type {each.match_type}"
        elif each.match_type == EXACT and each.match is None:
            why = "Request specified MATCH_TYPE_EXACT, but set match string to null."
        elif each.match_type != EXACT and each.match is not None:
            name = "DEFAULT" if each.match_type == DEFAULT else "SPECIFIED"
            why = f"Request specified MATCH_TYPE_{name}, but also specified a match string."
        if why is not None:
            raise Refused(code, why)
    if IP in named and len(set(named)) > 1:
        raise Refused(
            ErrorCode.invalid_request,
            "Invalid entity filter component combination. IP filter component should not be "
            "used with user or clientId filter component.",
        )


def fits(entity: Entity, request: Any) -> bool:
    """True if an entity fits all components, and has no other part where that is strict."""
    parts = dict(entity)
    for each in request.components:
        if each.entity_type not in parts:
            return False
        if each.match_type != ANY and parts[each.entity_type] != each.match:
            return False
    return not request.strict or len(parts) == len(request.components)


def alter(state: State, request: Any, context: Context) -> Values:
    """Change the quotas of each entity; a second entry of the same is refused."""
    rows: dict[Entity, Values] = {}
    for each in request.entries:
        given = {part.entity_type: part.entity_name for part in each.entity}
        entity = frozenset(given.items())
        code, text = ErrorCode.none, None
        try:
            refuse_by_rule(context)
            if entity in rows:
                name = ", ".join(f"{kind}={name}" for kind, name in given.items())
                text = f"Ignoring duplicate entity ClientQuotaEntity(entries={{{name}}})"
                raise Refused(ErrorCode.invalid_request, text)  # noqa: TRY301
            check_entity(given)
            change(state, entity, each.ops, dry=request.validate_only)
        except Refused as refused:
            code, text = ErrorCode(refused.code), refused.text
        rows[entity] = {
            "error_code": code,
            "error_message": text,
            "entity": entity_values(entity),
        }
    return {"entries": list(rows.values())}


def check_entity(given: dict[str, str | None]) -> None:
    """Refuse an invalid entity."""
    why = None
    if not given:
        why = "Invalid empty client quota entity"
    for kind, name in given.items():
        if kind not in TYPES:
            why = f"Unhandled client quota entity type: {kind}"
        elif name == "":
            why = f"Empty {kind} not supported"
    if why is None and IP in given and len(given) > 1:
        why = (
            "Invalid quota entity combination, IP entity shouldnot be combined with User or "
            "ClientId"
        )
    if why is None and " " in (given.get(IP) or ""):
        why = f"{given[IP]} is not a valid IP or resolvable host."
    if why is not None:
        raise Refused(ErrorCode.invalid_request, why)


def change(state: State, entity: Entity, operations: Any, *, dry: bool) -> None:
    """Set and remove quotas of an entity; forget an entity with its last quota."""
    known = OF_IPS if IP in dict(entity) else OF_CLIENTS
    quotas = dict(state.quotas.get(entity, {}))
    for each in operations:
        why = None
        if each.key not in known:
            why = f"Invalid configuration key {each.key}"
        elif not each.remove and each.value <= 0:
            why = f"Quota {each.key} must be greater than 0"
        elif not each.remove and each.key in WHOLE and each.value % 1:
            why = f"{each.key} cannot be a fractional value."
        if why is not None:
            raise Refused(ErrorCode.invalid_request, why)
        if each.remove:
            quotas.pop(each.key, None)
        else:
            quotas[each.key] = each.value
    if dry:
        return
    state.quotas.pop(entity, None)
    if quotas:
        state.quotas[entity] = quotas
