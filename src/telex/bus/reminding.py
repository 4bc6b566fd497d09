"""Did somebody mean to answer a request to shut down, and did not? Text is no answer, and its sender is told so.

It is on the path of every plain text, so nothing is imported while nobody was ever asked to shut down.
"""

from typing import TYPE_CHECKING

from telex.bus.office import SHUTDOWN, Office
from telex.flow.lanes import Looked
from telex.flow.routing import Route
from telex.model.paths import ROOT
from telex.model.refusal import Finding
from telex.model.roster import ONE_OF_ROLE, Member

if TYPE_CHECKING:
    from telex.model.shutdown import Call


async def reminder(office: Office, member: Member, looked: Looked, inboxes: Route) -> tuple[Finding, ...]:
    """A warning to a member that has a request to shut down before it and sends whoever asked something else that might
    be meant as the answer."""
    roster = await office.roster()
    if looked.kind is not None or not office.was_asked_to_stop:
        return ()
    from telex.flow.book.shutdown import open_call

    known = (await office.books.of((SHUTDOWN,))).get(SHUTDOWN)
    call = open_call(known, member, roster) if known is not None else None
    if call is None or {call.by, ONE_OF_ROLE + call.role}.isdisjoint(inboxes):
        return ()
    return _warning(office, member, looked, call)


def _warning(office: Office, member: Member, looked: Looked, call: "Call") -> tuple[Finding, ...]:
    """With the answer begun, so that the rest is easily filled in."""
    import json

    from telex.dialects.drafting import draft
    from telex.flow.reports import moment

    dialect, type_ = office.type_that("stopped")
    if dialect is None or type_ is None or type_.deed is None:
        return ()
    checked = looked.checked
    if checked is not None and checked.outcome != "plain" and checked.type != type_.name:
        return ()  # a coding tool's own frame, about something else
    given = {type_.deed.names["request"]: call.id}
    now, new_id = moment(office.clock.now()), office.clock.new_id()
    begun = draft(dialect, type_, given, now=now, new_id=new_id, role=member.role)
    say = f"Send a {type_.name} that names {call.id}: this is delivered, but no text answers a request to shut down."
    return (Finding("shutdown-not-answered", ROOT, say, "warning", expected=json.dumps(begun, ensure_ascii=False)),)
