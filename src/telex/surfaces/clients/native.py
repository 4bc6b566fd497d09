"""Record of messages that a client has carried between its own teammates.

They are history in the log, like imported ones: checked and searchable, but not delivered again.
"""

from telex.config import load
from telex.connection import connect
from telex.dialects.registry import PLAIN
from telex.dialects.schema import PRIORITIES
from telex.model.message import NewMessage
from telex.model.roster import AGENT, EVERYONE
from telex.model.text import digest_of, replace_surrogates
from telex.surfaces.clients.calls import HookCall
from telex.surfaces.clients.json_text import dump
from telex.surfaces.clients.sessions import Session
from telex.validation.authorization import normalised
from telex.validation.check import check

LEADS = frozenset({"team-lead", "lead", "main"})  # names of the first agent of a session, for its teammates


def record(call: HookCall, session: Session, text: str, store: str, now: float) -> None:
    """Store the message of a successful call as history."""
    settings = load(call.cwd)
    checked = check(text, settings.policy())
    raw = (replace_surrogates(text) or "").encode()
    response = call.tool_response if isinstance(call.tool_response, dict) else {}
    id_ = response.get("msg_id") if isinstance(response.get("msg_id"), str) else call.tool_use_id
    message = NewMessage(
        id=(id_ or digest_of(raw).hex())[: settings.limits.id_characters_max],
        at=now,
        sender=session.agent,
        role=session.role or AGENT,
        to=recipient(call, session),
        dialect=checked.dialect.name if checked.dialect is not None else PLAIN.name,
        type=checked.type if checked.dialect is not None else None,
        rank=len(PRIORITIES) - 1,
        correlation=None,
        reply_to=None,
        digest=digest_of(raw),
        raw=raw,
        kind="imported",
        detail=dump({"carried_by": call.client.name}),
    )
    with connect(store, settings=settings) as bus:
        bus.import_messages([message])


def recipient(call: HookCall, session: Session) -> str:
    """The recipient by its name on the bus: a teammate under the name of the session."""
    named = next((call.tool_input[name] for name in ("to", "recipient") if name in call.tool_input), "")
    name = normalised(named).lstrip("@") if isinstance(named, str) else ""
    lead = session.agent.rpartition("/")[0] if session.parent else session.agent
    if name == EVERYONE or not name:
        return EVERYONE
    return lead if session.parent and name in LEADS else f"{lead}/{name}"
