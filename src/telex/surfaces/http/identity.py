"""Identity of a request: the name and role of its token, against which the names in its arguments are checked."""

from typing import Any

from telex.model.finding import Finding
from telex.model.roster import HUMAN, LEADS
from telex.protocol.verbs import Verb, arguments
from telex.surfaces.http.caller import Caller
from telex.validation.authorization import normalised

DIFFERS = "identity-differs"
_OPERATOR_ONLY = Finding("operator-only", "$", "Ask a person: this needs an operator's token.")


def acting(caller: Caller, verb: Verb, given: dict[str, Any]) -> dict[str, Any] | Finding:
    """The arguments with the name and role that the door vouches for, or why they may not stand.

    Whoever came without a token names itself; one with a token need not say who it is.
    """
    if verb.may == "operator" and not caller.operator:
        return _OPERATOR_ONLY
    if caller.token is None or verb.acts is None:
        return given
    claimed = _word(given.get(verb.acts))
    if caller.operator:
        for name, value in ((verb.acts, caller.agent or HUMAN), (verb.by, HUMAN)):
            if name is not None and _word(given.get(name)) is None:
                given = given | _written(verb, name, value)
        return given
    assert caller.agent is not None, "a token that is no operator's is bound to an agent"
    if verb.by is not None:
        by = _word(given.get(verb.by))
        if by is not None and normalised(by) != caller.agent:
            return _differs(caller, verb.by, by)
        given = given | _written(verb, verb.by, caller.agent)
    if claimed is not None and normalised(claimed) != caller.agent:
        if verb.by is None or caller.role not in LEADS:
            return _differs(caller, verb.acts, claimed)
        return _OPERATOR_ONLY if HUMAN in (normalised(claimed), normalised(_word(given.get("role")) or "")) else given
    given = given | _written(verb, verb.acts, caller.agent)
    if "role" not in arguments(verb.name) or caller.role is None:
        return given
    role = _word(given.get("role"))
    if role is not None and normalised(role) != caller.role:
        say = f"Leave role out: the token is bound to the role {caller.role}."
        return Finding("role-claim-differs", "$.role", say, expected=caller.role, found=role[:60])
    return given | _written(verb, "role", caller.role)


def _differs(caller: Caller, name: str, claimed: str | None) -> Finding:
    say = f"Act as {caller.agent}, or leave {name} out: the token is bound to that name."
    return Finding(DIFFERS, f"$.{name}", say, expected=caller.agent, found=(claimed or "")[:60])


def _word(value: Any) -> str | None:
    """What was claimed, whether it stood in a query or in a JSON object. What is no word is told to be wrong later."""
    if isinstance(value, tuple):
        value = value[-1] if len(value) == 1 else "\0".join(value) or None
    return value if isinstance(value, str) else None if value is None else "\0"


def _written(verb: Verb, name: str, value: str) -> dict[str, Any]:
    return {name: value if verb.body == "json" else (value,)}
