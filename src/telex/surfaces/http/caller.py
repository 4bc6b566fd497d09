"""Caller of a request, as the authentication middleware has identified it."""

from typing import Any, NamedTuple


class Caller(NamedTuple):
    """Somebody at the door. Nobody else makes one of these than the doorkeeper, and it believes no claim."""

    agent: str | None  # the name that the token is bound to; None: names itself, as on the command line
    role: str | None  # the role that the token is bound to
    operator: bool  # may do what is a person's to do
    token: str | None  # the id of the token, which is no secret; None: came without one


AT_HOME = Caller(None, None, True, None)  # on this very machine and without a token: trusted as the command line is


def caller_of(scope: Any) -> Caller:
    """Who the doorkeeper let in with this request. A route that it does not guard is our own mistake."""
    caller = scope["state"]["caller"]
    assert isinstance(caller, Caller)
    return caller
