"""Decision of one send, inside a write transaction.

The steps run in this order: sender and route, arguments, duplicates, correlation, work rules, answered requests, inbox
quota, append. Each step returns an outcome that ends the send, or None to go on with the next one. Nothing is written
before the last check has passed; a refusal is recorded in the same transaction and adds no member.

`check_work_rules` applies the rules of the work; `correlate.py` finds the requests that a send answers.
"""

import json
from collections.abc import Mapping
from typing import Any

from telex.bus.context import BusContext, Topics
from telex.delivery.lifecycle import state_of
from telex.delivery.routing import Participants, Route, normal_address
from telex.delivery.validator_cache import STATUS, CheckedMessage, TypeTraits
from telex.dialects.schema import Tree
from telex.model.finding import Finding, refusals
from telex.model.limits import Limits
from telex.model.message import Event, NewMessage, WorkChange, detail_of
from telex.model.named_tuple import NamedTuple
from telex.model.roster import AGENT, ONE_OF_ROLE, Member, Roster
from telex.model.text import ROOT, replace_surrogates
from telex.ports.bus import Receipt
from telex.ports.store import Transaction, deliveries_of, events_of
from telex.validation.authorization import normalised
from telex.work.view import DECIDING, RULES_OFF, WorkMessage, fields_of, parse_tree

APPROVAL = "approval"  # kind of topic: one request for approval each
SHUT_DOWN = "sender-has-shut-down"
ESCALATIONS = ("escalations",)
NO_RECIPIENT = Finding(
    "recipient-missing", ROOT, "Name the recipient: an agent, role:ROLE, all:ROLE or * for everyone."
)
_NEW = tuple.__new__  # makes a NamedTuple in half the time: by place, for every message
_encode = json.JSONEncoder(ensure_ascii=False).encode  # json.dumps with an option makes an encoder for each call
_FINDING_FIELDS = frozenset(Finding._fields)


class SendRequest(NamedTuple):
    """Arguments of a send."""

    raw: bytes
    sender: str
    role: str | None = None
    to: str | None = None
    id: str | None = None
    reply_to: str | None = None
    correlation: str | None = None
    answer_within: float | None = None  # seconds; None: the default of its type, if it asks for an answer
    ack: str | None = None  # token of the lease that is acked in the same transaction
    revision: int | None = None  # of the contract that an answer is for; another one refuses it


class PreparedSend(NamedTuple):
    """A send that was checked, before its transaction."""

    request: SendRequest
    checked: CheckedMessage
    participants: Participants  # those that it was checked for
    id: str  # its own, or made here: a decision that runs again keeps it
    has_own_id: bool  # then it may be a duplicate
    digest: bytes
    began: float
    traceparent: str | None = None
    evidence: tuple[Finding, ...] = ()


class StoredSend(NamedTuple):
    """Stored, and members have stopped with it: their messages are returned after the commit."""

    receipt: Receipt
    stopped: tuple[Member, ...]


class RefusedSend(NamedTuple):
    message: NewMessage
    checked: CheckedMessage
    findings: tuple[Finding, ...]


DecidedSend = Receipt | StoredSend | RefusedSend


class Decision:
    def __init__(self, context: BusContext, prepared: PreparedSend, tx: Transaction) -> None:
        self._context, self._tx = context, tx
        # Unpacked, because reading a field of a named tuple is slow and every send reads these several times.
        (
            self._request,
            self._checked,
            self._checked_for,
            self._id,
            self._has_own_id,
            self._digest,
            self._began,
            self._trace,
            self._findings,
        ) = prepared
        self._work: WorkDecision | None = None
        self._work_message: WorkMessage | None = None

    @classmethod
    def make(cls, context: BusContext, prepared: PreparedSend, tx: Transaction) -> DecidedSend:
        context.team.begin(tx)
        outcome = cls(context, prepared, tx).decide()
        if prepared.request.ack is not None:
            from telex.bus.leases import ack_with_send

            ack_with_send(context, tx, prepared.request, outcome)
        return outcome

    def decide(self) -> DecidedSend:
        return (
            self._resolve_route()
            or self._check_arguments()
            or self._check_duplicate()
            or self._check_work_rules()
            or self._append()
        )

    # --- sender, recipient, arguments --------------------------------------------------------------------------------

    def _resolve_route(self) -> DecidedSend | None:
        team, key = self._context.team, self._request[1:4]
        route = team.route(key)
        if isinstance(route, Finding):
            return self._refuse_sender(route)
        self._now = team.now
        self._member, self._address, inboxes, participants, self._joins, seen_until = route
        if self._now >= seen_until and not self._joins:
            team.mark_seen(self._tx, key, route)
        if participants is not self._checked_for and participants != self._checked_for:
            # The roster has changed since the message was checked.
            self._checked = self._context.validators.check(self._request.raw, participants)
        if inboxes is not None:
            self._inboxes = inboxes
            return None
        address = self._address = _addressed(self._checked, self._roster)
        self._inboxes = team.route_to(address, self._member, self._roster) if address is not None else NO_RECIPIENT
        return None

    @property
    def _roster(self) -> Roster:
        team = self._context.team
        return team.roster_with(self._member) if self._joins else team.roster

    def _refuse_sender(self, finding: Finding) -> DecidedSend:
        """Refuse; a sender that has shut down may still retry a message that may have been stored."""
        context, request = self._context, self._request
        self._now, self._checked = context.team.now, context.validators.check(request.raw, Participants())
        limit = context.limits.id_characters_max
        name, role = replace_surrogates(request.sender[:limit]), replace_surrogates((request.role or "")[:limit])
        self._member, self._address, self._joins, self._inboxes = Member(name or "", role or ""), None, False, finding
        repeated = None
        if finding.code == SHUT_DOWN and self._own_id is not None:
            to = request.to
            address = normal_address(to) if to is not None else _addressed(self._checked, context.team.roster)
            repeated = self._repeated(normalised(request.sender), address)
        return repeated or self._refuse((finding,))

    @property
    def _own_id(self) -> str | None:
        return replace_surrogates(self._checked.envelope.id or self._request.id)

    def _argument_findings(self) -> tuple[Finding, ...]:
        """Findings on the ids that the caller passed beside the message."""
        id_, reply_to, correlation = self._request[4:7]
        envelope, limits = self._checked.envelope, self._context.limits
        findings: tuple[Finding, ...] = ()
        if id_ is not None:
            findings += _check_id(id_, envelope.id, limits, "id")
        if reply_to is not None:
            findings += _check_id(reply_to, None, limits, "reply-to id")
        if correlation is not None:
            findings += _check_id(correlation, envelope.correlation, limits, "correlation")
        return findings

    def _check_arguments(self) -> DecidedSend | None:
        findings = self._argument_findings()
        if isinstance(self._inboxes, Finding):
            may_repeat = not findings and self._has_own_id
            repeated = self._repeated(self._member.name, self._address) if may_repeat else None
            return repeated or self._refuse((*findings, self._inboxes))
        result = self._checked.checked
        return self._refuse(findings) if findings or (result is not None and not result.valid) else None

    # --- duplicates --------------------------------------------------------------------------------------------------

    def _check_duplicate(self) -> DecidedSend | None:
        if not self._has_own_id:
            return None
        id_, since = self._id, self._now - self._context.limits.dedup_window_seconds
        earlier = self._tx.earlier(self._member.name, id_, since)
        if earlier is None:
            return None
        if (earlier.digest, earlier.to) != (self._digest, self._address):
            say = f"Give it an id of its own: {id_} was used before, for another message."
            return self._refuse((Finding("id-reused", ROOT, say, expected="an id not used before", found=id_),))
        self._tx.record(Event(0, self._now, "duplicate", self._member.name, earlier.seq))
        return self._duplicate(earlier.seq)

    def _repeated(self, sender: str, address: str | None) -> Receipt | None:
        """The receipt of the same message from before, where its sender or recipient has left since."""
        since = self._now - self._context.limits.dedup_window_seconds
        earlier = self._tx.earlier(sender, self._own_id or self._id, since)
        if earlier is None or (earlier.digest, earlier.to) != (self._digest, address):
            return None
        return self._duplicate(earlier.seq)

    def _duplicate(self, seq: int) -> Receipt:
        """The state that the stored message has now, with the findings that it was stored with."""
        deliveries, story = deliveries_of(self._tx, seq), events_of(self._tx, seq)
        listed = detail_of(story[0]).get("findings") if story else None
        dialect, type_, _ = _type_of(self._checked)
        return Receipt(
            accepted=True,
            id=self._own_id or self._id,
            state=state_of(deliveries, story, refused=False),
            to=tuple(dict.fromkeys(delivery.inbox for delivery in deliveries)),
            dialect=dialect,
            type=type_,
            findings=tuple(Finding(**fields) for fields in listed or () if fields.keys() <= _FINDING_FIELDS),
            duplicate=True,
        )

    # --- correlation and work rules ----------------------------------------------------------------------------------

    def _correlate(self) -> None:
        _, traits, (_, correlation, replied, _) = self._checked
        reply_to = replied or self._request.reply_to
        if reply_to is not None or (
            traits is not None and (traits.replies or traits.answers or traits.action == "dispatch")
        ):
            from telex.bus.correlate import infer_reply_to

            self._request = infer_reply_to(
                self._context, self._tx, self._request, self._checked, member=self._member, inboxes=self._route
            )
            reply_to = replied or self._request.reply_to
        self._reply_to, self._correlation = reply_to, correlation or self._request.correlation

    @property
    def _took(self) -> float:
        return self._now - self._began

    @property
    def _route(self) -> Route:
        assert not isinstance(self._inboxes, Finding)
        return self._inboxes

    def _check_work_rules(self) -> DecidedSend | None:
        """Plain text gets a hint; a type with an action is checked by the rules."""
        self._correlate()
        context, checked, traits = self._context, self._checked, self._checked.traits
        if traits is None:
            if self._request.reply_to is not None or not context.team.is_empty(("shutdown",)):
                from telex.bus.correlate import missing_answer_hint

                replied = self._request.reply_to
                self._findings = missing_answer_hint(context, self._member, checked, self._route, replied)
            else:
                self._findings = ()
        elif traits.action is not None and (checked.checked is None or not refusals(checked.findings)):
            idle = traits.idle
            if idle is None or not context.team.is_empty(idle):
                self._apply_work_rules(traits)
        if self._findings and refusals(self._findings):
            if context.policy.strict:
                return self._refuse(self._findings)
            self._work = None  # a lenient team lets it pass, and nothing follows from it
        return None

    def _apply_work_rules(self, traits: TypeTraits) -> None:
        message = self._work_message = self._as_work_message(traits)
        evidence = self._findings
        if self._request.revision is not None:
            from telex.work.plan_checks import revision_findings

            evidence += revision_findings(message, Topics(self._context.team), self._request.revision)
        work = check_work_rules(self._context, message, self._roster, evidence)
        self._work, self._findings = work, work.findings
        if work.change is None or traits.action not in DECIDING:
            return
        from telex.bus.correlate import askers_not_reached, with_decided_request

        for asker in askers_not_reached(work.before or {}, self._roster, self._route):
            route = self._context.team.route_to(asker, self._member, self._roster)
            if isinstance(route, Finding):
                self._findings = (*self._findings, route)
            else:
                self._inboxes = (*self._route, *route)
                self._work_message = message._replace(inboxes=self._inboxes)
        if self._reply_to is None:
            self._request = with_decided_request(self._request, self._checked, work.change)
            self._reply_to = self._request.reply_to

    def _as_work_message(self, traits: TypeTraits) -> WorkMessage:
        decode = None
        if self._checked.checked is None:
            import msgspec  # compiled validators have imported it

            decode = msgspec.json.decode
        return self._work_message_of(parse_tree(self._request.raw, traits.dialect, traits.type, decode), traits)

    def _work_message_of(self, tree: Tree, traits: TypeTraits) -> WorkMessage:
        return _NEW(
            WorkMessage,
            (
                0,
                self._id,
                self._now,
                self._member.name,
                self._member.role,
                self._address or "",
                self._inboxes,
                traits.dialect,
                traits.type,
                fields_of(tree, traits.dialect, traits.type),
                self._correlation,
                self._reply_to,
            ),
        )

    # --- append ------------------------------------------------------------------------------------------------------

    def _append(self) -> DecidedSend:
        context, tx, checked, work = self._context, self._tx, self._checked, self._work
        answered = self._answered_requests() if self._may_answer() else ()
        inboxes = self._route
        full = tx.full_inbox(inboxes, context.limits.inbox_max)
        if full is not None:
            return self._refuse((_inbox_full(context.limits.inbox_max, full),))
        if self._joins:
            # The sender becomes a member with its first stored message
            team = self._context.team
            if self._member.role == AGENT and team.roster.members.get(self._member.name) is None:
                from telex.delivery.membership import joined_as_agent

                self._findings = (*self._findings, joined_as_agent(self._member, team.roster))
            team.add_member(self._tx, self._member)
        change = work.change if work is not None else None
        findings = (*checked.findings, *self._findings) if self._findings else checked.findings
        named = inboxes if inboxes != (self._address,) or (change is not None and change.topics) else ()
        detail = event_detail(context, self._took, findings, inboxes=named, traceparent=self._trace)
        message = self._new_message(detail, inboxes, self._answer_by(), answered, change)
        seq = tx.append(message)
        if change is not None:
            self._update_topics(seq, message)
        id_, dialect, type_ = message[0], message[5], message[6]
        receipt = _NEW(Receipt, (True, id_, "stored", inboxes, dialect, type_, findings, False, None, None, False))
        stopped = change.members if change is not None else ()
        return StoredSend(receipt, tuple(member for member, _ in stopped)) if stopped else receipt

    def _may_answer(self) -> bool:
        """Whether pending requests have to be looked up."""
        traits = self._checked.traits
        if self._reply_to is not None:
            return True
        if traits is None or traits.decides:
            return traits is not None or self._correlation is not None
        if self._correlation is None:
            return False
        return bool(traits.answers) or (traits.settles and not self._context.team.is_empty(ESCALATIONS))

    def _answered_requests(self) -> tuple[int, ...]:
        from telex.bus.correlate import requests_answered_by

        change = self._work.change if self._work is not None else None
        answered = requests_answered_by(
            self._context,
            self._tx,
            self._request,
            self._checked,
            member=self._member,
            inboxes=self._route,
            work_change=change,
        )
        self._findings = (*self._findings, *answered.findings)
        return answered.requests

    def _answer_by(self) -> float | None:
        """Deadline of the answer: for types that ask for one, and for senders that wait for one."""
        traits, within = self._checked.traits, self._request.answer_within
        if within is not None:
            return self._now + within
        if traits is None or not traits.is_due:
            return None
        limits, message = self._context.limits, self._work_message
        if message is not None and message.action == "escalate":
            from telex.bus.escalate import deadline_of

            return deadline_of(message.text("level"), message.inboxes, message.at, limits)
        if not traits.asks:
            return None
        if traits.action == "ask" and message is not None:
            from telex.bus.approve import seconds_left

            return self._now + (seconds_left(message, self._now) or limits.request_seconds)
        return self._now + limits.request_seconds

    def _update_topics(self, seq: int, message: NewMessage) -> None:
        assert self._work is not None
        assert self._work_message is not None
        stored = self._work_message._replace(seq=seq, reply_to=message.reply_to)
        self._context.team.fold_topics(self._tx, self._work.before or {}, stored)

    # --- messages ----------------------------------------------------------------------------------------------------

    def _new_message(
        self,
        detail: str | None,
        inboxes: Route,
        answer_by: float | None = None,
        answered: tuple[int, ...] = (),
        change: WorkChange | None = None,
    ) -> NewMessage:
        dialect, type_, rank = _type_of(self._checked)
        member = self._member
        return _NEW(
            NewMessage,
            (
                self._id,
                self._now,
                member.name,
                member.role,
                replace_surrogates(self._address) or "",
                dialect,
                type_,
                rank,
                replace_surrogates(self._correlation),
                replace_surrogates(self._reply_to),
                self._digest,
                self._request.raw,
                inboxes,
                "accepted",
                detail,
                answer_by,
                answered,
                change,
            ),
        )

    def _refuse(self, findings: tuple[Finding, ...]) -> RefusedSend:
        """Record the refused message, without deliveries."""
        request, checked, context = self._request, self._checked, self._context
        findings = (*checked.findings, *findings)
        id_, self._reply_to = self._id, checked.envelope.reply_to or request.reply_to
        self._correlation = checked.envelope.correlation or request.correlation
        self._address = self._address or request.to
        if any(finding.code == "id-not-allowed" for finding in findings):
            id_ = replace_surrogates(checked.envelope.id) or context.clock.new_id()  # one that can be shown
            self._reply_to = checked.envelope.reply_to
        detail = event_detail(context, self._took, findings, traceparent=self._trace)
        message = self._new_message(detail, ())._replace(id=id_, kind="refused")
        self._tx.append(message)
        return RefusedSend(message, checked, findings)


def event_detail(
    context: BusContext,
    took_seconds: float,
    findings: tuple[Finding, ...],
    *,
    inboxes: Route = (),
    traceparent: str | None = None,
) -> str:
    """JSON of the event that stores a message. `inboxes` are given where they differ from the address, and for messages
    of the work, whose state is folded from them. A message that was stored without work rules never counts for the
    work."""
    detail = f'{{"took": {took_seconds * 1000:.3f}'
    if not context.policy.work:
        detail += f', "{RULES_OFF}": true'
    if inboxes:
        detail += f', "inboxes": {_encode(inboxes)}'
    if traceparent is not None:
        detail += f', "traceparent": "{traceparent}"'
    if findings:
        listed = [{name: value for name, value in f._asdict().items() if value is not None} for f in findings]
        detail += f', "findings": {_encode(listed)}'
    return detail + "}"


def _addressed(checked: CheckedMessage, roster: Roster) -> str | None:
    """The recipient that the message itself names: an agent, or any agent of a role."""
    if checked.envelope.recipient is None:
        return None
    name = normal_address(checked.envelope.recipient)
    by_role = checked.dialect is not None and checked.dialect.addresses == "roles"
    return ONE_OF_ROLE + name if by_role and roster.find(name) is None and roster.of_role(name) else name


def _type_of(checked: CheckedMessage) -> tuple[str | None, str | None, int]:
    """Dialect, type and rank. A frame of a coding tool has a type, though it is not of our dialects."""
    traits = checked.traits
    if traits is not None:
        return traits.dialect.name, traits.type.name, traits.rank
    dialect = checked.dialect.name if checked.dialect is not None else None
    return dialect, replace_surrogates(checked.checked.type) if checked.checked is not None else None, STATUS


def _check_id(given: str, own: str | None, limits: Limits, what: str) -> tuple[Finding, ...]:
    if own is not None and given != own:
        say = f"Leave out the {what}: the message itself has {own}."
        return (Finding("id-differs", ROOT, say, expected=own, found=given[: limits.found_characters_max]),)
    if not given or not given.isprintable() or len(given) > limits.id_characters_max:
        wanted = f"1 to {limits.id_characters_max} printable characters"
        say = f"Choose an id of {wanted}, or leave out the {what}."
        return (Finding("id-not-allowed", ROOT, say, expected=wanted, found=given[: limits.found_characters_max]),)
    return ()


def _inbox_full(limit: int, inbox: str) -> Finding:
    messages = f"{limit:,} {'message' if limit == 1 else 'messages'}"
    say = f"Try again later, or send it to another agent: {inbox} has {messages} waiting and takes no more."
    return Finding("inbox-full", ROOT, say, expected=f"fewer than {messages}", found=inbox)


# --- work rules ------------------------------------------------------------------------------------------------------


class WorkDecision(NamedTuple):
    findings: tuple[Finding, ...] = ()
    change: WorkChange | None = None  # work change that is written with the message; None: there is none
    before: Mapping[str, Any] | None = None  # the topics it changes, as they were


NO_CHANGE = WorkDecision()


def check_work_rules(
    context: BusContext, message: WorkMessage, roster: Roster, evidence: tuple[Finding, ...] = ()
) -> WorkDecision:
    """Apply the rules to a message, on the topics of the transaction. `evidence`: findings on its claims."""
    from telex.work import reducer  # plain text and many types need no rules

    topics, action = Topics(context.team), message.action
    rules = _NEW(reducer.RuleContext, (message.at, roster, context.limits, context.work, context.dialects))
    if action == "signal":
        from telex.bus.correlate import answers_no_dispatch

        evidence = (*evidence, *answers_no_dispatch(context, message))
    findings = reducer.check_rules(message, topics, rules)
    if evidence:
        findings = (*evidence, *findings)
    if findings and refusals(findings):
        return WorkDecision(findings)
    changed = reducer.topics_changed(message, topics)
    follow_ups = reducer.action_rules(action).follow_ups
    has_effects = follow_ups or action == "stopped"  # besides the changed topics
    if not changed and not has_effects:
        return WorkDecision(findings) if findings else NO_CHANGE
    before = {topic: topics.get(topic) for topic in changed}
    if not has_effects:
        return WorkDecision(findings, WorkChange(changed), before)
    after = topics.after({topic: reducer.fold(topic, state, message) for topic, state in before.items()})
    from telex.bus.correlate import report_of_draft

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
