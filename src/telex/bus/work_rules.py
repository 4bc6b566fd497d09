"""Work rules of one send: what they find, which topics the message changes, and which messages follow from it."""

from collections.abc import Mapping
from typing import Any, NamedTuple

from telex.bus.context import BusContext
from telex.bus.team_state import Topics
from telex.delivery.routing import normal_address, route
from telex.dialects.schema import PRIORITIES
from telex.dialects.write import write
from telex.model.digest import digest_of
from telex.model.event import Event
from telex.model.finding import Finding, refusals
from telex.model.message import NewMessage, WorkChange
from telex.model.roster import HUMAN, TELEX, Member, Roster
from telex.ports.store import Reads
from telex.work import reducer
from telex.work.reducer import DraftMessage, HeaderFields, RuleContext, compose
from telex.work.view import WorkMessage, fields_of


class WorkDecision(NamedTuple):
    findings: tuple[Finding, ...] = ()
    change: WorkChange | None = None  # what is written with the message; None: it changes nothing
    before: Mapping[str, Any] | None = None  # the topics it changes, as they were


NO_CHANGE = WorkDecision()


def check_work_rules(
    context: BusContext, reads: Reads, message: WorkMessage, roster: Roster, evidence: tuple[Finding, ...] = ()
) -> WorkDecision:
    """Apply the rules to a message, on the topics of the transaction. `evidence`: what its claims were found to be."""
    topics, action = Topics(context.team), message.action
    rules = RuleContext(message.at, roster, context.limits, context.work, context.dialects)
    if action == "signal":
        from telex.bus.hints import answers_no_dispatch

        evidence = (*evidence, *answers_no_dispatch(context, reads, message))
    findings = reducer.check_rules(message, topics, rules)
    if findings and refusals(findings):
        return WorkDecision((*evidence, *findings))
    findings = (*evidence, *findings)
    if evidence and refusals(evidence):
        return WorkDecision(findings)
    changed = reducer.topics_changed(message, topics)
    follow_ups = reducer.action_rules(action).follow_ups
    if not changed and not follow_ups and action != "stopped":
        return WorkDecision(findings) if findings else NO_CHANGE
    before = {topic: topics.get(topic) for topic in changed}
    if not follow_ups and action != "stopped":
        return WorkDecision(findings, WorkChange(changed), before)
    after = topics.after({topic: reducer.fold(topic, state, message) for topic, state in before.items()})
    reports = tuple(
        report_of_draft(context, draft, after, roster, message.at)
        for rule in follow_ups
        for draft in rule(message, after, rules)
    )
    stopped = tuple(
        (member._replace(stopped_at=message.at), Event(0, message.at, "stopped", member.name))
        for member in reducer.stopping(message, after, rules)
    )
    change = WorkChange(changed, reports, stopped) if changed or reports or stopped else None
    return WorkDecision(findings, change, before)


def report_of_draft(
    context: BusContext, draft: DraftMessage, topics: Mapping[str, Any], roster: Roster, now: float
) -> NewMessage:
    """A message of the bus itself, stored together with the one that it follows from."""
    id_, dialect, type_ = draft.id or context.clock.new_id(), draft.dialect, draft.type
    header = HeaderFields(id_, now, TELEX, draft.to, correlation=draft.correlation, reply_to=draft.reply_to)
    tree = compose(dialect, type_, draft.of, header)
    found = route(normal_address(draft.to), Member(TELEX, TELEX), roster)
    inboxes = (HUMAN,) if isinstance(found, Finding) else found  # a human always exists
    message = WorkMessage(
        seq=0,
        id=id_,
        at=now,
        sender=TELEX,
        role=TELEX,
        to=draft.to,
        inboxes=inboxes,
        dialect=dialect,
        type=type_,
        fields=fields_of(tree, dialect, type_),
        correlation=draft.correlation,
        reply_to=draft.reply_to,
    )
    raw = write(dialect, tree).encode("utf-8", "backslashreplace")
    return NewMessage(
        id=id_,
        at=now,
        sender=TELEX,
        role=TELEX,
        to=draft.to,
        dialect=dialect.name,
        type=type_.name,
        rank=PRIORITIES.index(type_.priority),
        correlation=draft.correlation,
        reply_to=draft.reply_to,
        digest=digest_of(raw),
        raw=raw,
        inboxes=inboxes,
        answer_by=_answer_by(context, message),
        work_change=WorkChange(reducer.topics_changed(message, topics)),
    )


def _answer_by(context: BusContext, message: WorkMessage) -> float | None:
    if message.action == "escalate":
        from telex.delivery.escalation_chain import deadline_of

        return deadline_of(message.text("level"), message.inboxes, message.at, context.limits)
    asks = message.type.reply is not None and HUMAN not in message.inboxes
    return message.at + context.limits.request_seconds if asks else None
