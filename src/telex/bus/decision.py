"""Decision of one send, inside a write transaction.

The steps run in this order: sender and route, arguments, duplicates, correlation, work rules, answered requests, inbox
quota, append. Each step returns an outcome that ends the send, or None to go on with the next one. Nothing is written
before the last check has passed; a refusal is recorded in the same transaction and adds no member.

The functions at the end find the message that a send replies to, its conversation, and the requests it answers.
"""

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from telex.bus.context import ESCALATE, BusContext
from telex.delivery.lifecycle import state_of
from telex.delivery.routing import Participants, Route, inboxes_of, normal_address
from telex.delivery.validator_cache import STATUS, CheckedMessage, TypeTraits
from telex.dialects.schema import Tree
from telex.model.finding import Finding, refusals
from telex.model.limits import LIMITS, Limits
from telex.model.message import Event, Message, NewMessage, WorkChange, detail_of
from telex.model.named_tuple import NamedTuple
from telex.model.roster import AGENT, HUMAN, ONE_OF_ROLE, Member, Roster
from telex.model.text import ROOT, path_of, replace_surrogates
from telex.ports.bus import Receipt
from telex.ports.store import Reads, RequestQuery, Transaction, deliveries_of, events_of, find_messages, held_messages
from telex.validation.authorization import normalised
from telex.work.view import COMES_ALONG, DECIDING, UNWEIGHED, WorkMessage, fields_of, parse_tree

if TYPE_CHECKING:
    from telex.bus.work_rules import WorkDecision

APPROVAL = "approval"  # kind of topic: one request for approval each
SHUT_DOWN = "sender-has-shut-down"
ESCALATIONS = ("escalations",)
NO_RECIPIENT = Finding(
    "recipient-missing", ROOT, "Name the recipient: an agent, role:ROLE, all:ROLE or * for everyone."
)
_NEW = tuple.__new__  # makes a NamedTuple in half the time: by place, for every message
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
        self._context, self._prepared, self._tx = context, prepared, tx
        self._request, self._checked = prepared.request, prepared.checked
        self._findings: tuple[Finding, ...] = prepared.evidence
        self._work: WorkDecision | None = None
        self._work_message: WorkMessage | None = None

    @classmethod
    def make(cls, context: BusContext, prepared: PreparedSend, tx: Transaction) -> DecidedSend:
        context.team.begin(tx)
        return cls(context, prepared, tx).decide()

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
        if self._now >= route.seen_until and not route.joins:
            team.mark_seen(self._tx, key, route)
        self._member, self._address, self._joins = route.member, route.address, route.joins
        known = self._prepared.participants
        if route.participants is not known and route.participants != known:
            # The roster has changed since the message was checked.
            self._checked = self._context.validators.check(self._request.raw, route.participants)
        if route.route is not None:
            self._inboxes = route.route
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
        request, envelope, limits = self._request, self._checked.envelope, self._context.limits
        findings: tuple[Finding, ...] = ()
        if request.id is not None:
            findings += _check_id(request.id, envelope.id, limits, "id")
        if request.reply_to is not None:
            findings += _check_id(request.reply_to, None, limits, "reply-to id")
        if request.correlation is not None:
            findings += _check_id(request.correlation, envelope.correlation, limits, "correlation")
        return findings

    def _check_arguments(self) -> DecidedSend | None:
        findings = self._argument_findings()
        if isinstance(self._inboxes, Finding):
            may_repeat = not findings and self._prepared.has_own_id
            repeated = self._repeated(self._member.name, self._address) if may_repeat else None
            return repeated or self._refuse((*findings, self._inboxes))
        result = self._checked.checked
        return self._refuse(findings) if findings or (result is not None and not result.valid) else None

    # --- duplicates --------------------------------------------------------------------------------------------------

    def _check_duplicate(self) -> DecidedSend | None:
        prepared = self._prepared
        if not prepared.has_own_id:
            return None
        since = self._now - self._context.limits.dedup_window_seconds
        earlier = self._tx.earlier(self._member.name, prepared.id, since)
        if earlier is None:
            return None
        if (earlier.digest, earlier.to) != (prepared.digest, self._address):
            return self._refuse((_id_reused(prepared.id),))
        self._tx.record(Event(0, self._now, "duplicate", self._member.name, earlier.seq))
        return self._duplicate(earlier.seq)

    def _repeated(self, sender: str, address: str | None) -> Receipt | None:
        """The receipt of the same message from before, where its sender or recipient has left since."""
        since = self._now - self._context.limits.dedup_window_seconds
        earlier = self._tx.earlier(sender, self._own_id or self._prepared.id, since)
        if earlier is None or (earlier.digest, earlier.to) != (self._prepared.digest, address):
            return None
        return self._duplicate(earlier.seq)

    def _duplicate(self, seq: int) -> Receipt:
        """The state that the stored message has now, with the findings that it was stored with."""
        deliveries, story = deliveries_of(self._tx, seq), events_of(self._tx, seq)
        listed = detail_of(story[0]).get("findings") if story else None
        dialect, type_, _ = _type_of(self._checked)
        return Receipt(
            accepted=True,
            id=self._own_id or self._prepared.id,
            state=state_of(deliveries, story, refused=False),
            to=tuple(dict.fromkeys(delivery.inbox for delivery in deliveries)),
            dialect=dialect,
            type=type_,
            findings=tuple(Finding(**fields) for fields in listed or () if fields.keys() <= _FINDING_FIELDS),
            duplicate=True,
        )

    # --- correlation and work rules ----------------------------------------------------------------------------------

    def _correlate(self) -> None:
        envelope, traits = self._checked.envelope, self._checked.traits
        reply_to = envelope.reply_to or self._request.reply_to
        if reply_to is not None or (
            traits is not None and (traits.replies or traits.answers or traits.action == "dispatch")
        ):
            self._request = infer_reply_to(
                self._context, self._tx, self._request, self._checked, member=self._member, inboxes=self._route
            )
            reply_to = envelope.reply_to or self._request.reply_to
        self._reply_to, self._correlation = reply_to, envelope.correlation or self._request.correlation

    @property
    def _took(self) -> float:
        return self._now - self._prepared.began

    @property
    def _route(self) -> Route:
        assert not isinstance(self._inboxes, Finding)
        return self._inboxes

    def _check_work_rules(self) -> DecidedSend | None:
        """Plain text gets a hint; a type with an action is checked by the rules."""
        self._correlate()
        context, checked, traits = self._context, self._checked, self._checked.traits
        if traits is None:
            self._findings = self._hints()
        elif (
            traits.action is not None
            and (checked.checked is None or not refusals(checked.findings))
            and (traits.idle is None or not context.team.is_empty(traits.idle))
        ):
            self._apply_work_rules(traits)
        if self._findings and refusals(self._findings):
            if context.policy.strict:
                return self._refuse(self._findings)
            self._work = None  # a lenient team lets it pass, and nothing follows from it
        return None

    def _hints(self) -> tuple[Finding, ...]:
        if self._request.reply_to is None and self._context.team.is_empty(("shutdown",)):
            return ()
        from telex.bus.work_rules import missing_answer_hint

        return missing_answer_hint(self._context, self._member, self._checked, self._route, self._request.reply_to)

    def _apply_work_rules(self, traits: TypeTraits) -> None:
        from telex.bus.work_rules import check_work_rules  # plain text and many types need no rules

        message = self._work_message = self._as_work_message(traits)
        work = check_work_rules(self._context, self._tx, message, self._roster, self._findings)
        self._work, self._findings = work, work.findings
        if work.change is None or traits.action not in DECIDING:
            return
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
                self._prepared.id,
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
        context, tx = self._context, self._tx
        answered = self._answered_requests()
        full = tx.full_inbox(self._route, context.limits.inbox_max)
        if full is not None:
            return self._refuse((_inbox_full(context.limits.inbox_max, full),))
        if self._joins:
            self._join()
        change = self._work.change if self._work is not None else None
        findings = (*self._checked.findings, *self._findings) if self._findings else self._checked.findings
        inboxes, by_address = self._route, (self._address,)
        named = inboxes if inboxes != by_address or (change is not None and change.topics) else ()
        detail = event_detail(context, self._took, findings, inboxes=named, traceparent=self._prepared.traceparent)
        message = self._new_message(detail, inboxes, self._answer_by(), answered, change)
        seq = tx.append(message)
        if change is not None:
            self._update_topics(seq, message)
        stored = (True, message.id, "stored", message.inboxes, message.dialect, message.type, findings)
        receipt = _NEW(Receipt, (*stored, False, None, None, False))
        stopped = change.members if change is not None else ()
        return StoredSend(receipt, tuple(member for member, _ in stopped)) if stopped else receipt

    def _join(self) -> None:
        """The sender becomes a member with its first stored message."""
        team = self._context.team
        if self._member.role == AGENT and team.roster.members.get(self._member.name) is None:
            from telex.delivery.membership import joined_as_agent

            self._findings = (*self._findings, joined_as_agent(self._member, team.roster))
        team.add_member(self._tx, self._member)

    def _answered_requests(self) -> tuple[int, ...]:
        traits = self._checked.traits
        is_decision = traits is not None and traits.action in DECIDING
        may_answer = self._reply_to is not None or is_decision
        if not may_answer and (self._correlation is None or not self._may_answer_in_conversation(traits)):
            return ()
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

    def _may_answer_in_conversation(self, traits: TypeTraits | None) -> bool:
        """Any message but a report may answer an escalation of its conversation."""
        if traits is None or traits.answers:
            return True
        settles = traits.action is not None and traits.action not in COMES_ALONG
        return settles and not self._context.team.is_empty(ESCALATIONS)

    def _answer_by(self) -> float | None:
        """When an answer is due: for types that ask for one, and for senders that wait for one."""
        traits, limits, message = self._checked.traits, self._context.limits, self._work_message
        if self._request.answer_within is not None:
            return self._now + self._request.answer_within
        if traits is None or not (traits.asks or traits.action == "escalate"):
            return None
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
        stored = self._stored_work_message(seq, message)
        self._context.team.fold_topics(self._tx, self._work.before or {}, stored)

    def _stored_work_message(self, seq: int, message: NewMessage) -> WorkMessage:
        assert self._work_message is not None
        return self._work_message._replace(seq=seq, reply_to=message.reply_to)

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
        prepared, member = self._prepared, self._member
        return _NEW(
            NewMessage,
            (
                prepared.id,
                self._now,
                member.name,
                member.role,
                replace_surrogates(self._address) or "",
                dialect,
                type_,
                rank,
                replace_surrogates(self._correlation),
                replace_surrogates(self._reply_to),
                prepared.digest,
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
        id_, self._reply_to = self._prepared.id, checked.envelope.reply_to or request.reply_to
        self._correlation = checked.envelope.correlation or request.correlation
        self._address = self._address or request.to
        if any(finding.code == "id-not-allowed" for finding in findings):
            id_ = replace_surrogates(checked.envelope.id) or context.clock.new_id()  # one that can be shown
            self._reply_to = checked.envelope.reply_to
        detail = event_detail(context, self._took, findings, traceparent=self._prepared.traceparent)
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
        detail += f', "{UNWEIGHED}": true'
    if inboxes:
        detail += f', "inboxes": {json.dumps(inboxes, ensure_ascii=False)}'
    if traceparent is not None:
        detail += f', "traceparent": "{traceparent}"'
    if findings:
        listed = [{name: value for name, value in f._asdict().items() if value is not None} for f in findings]
        detail += f', "findings": {json.dumps(listed, ensure_ascii=False)}'
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


def _id_reused(id_: str) -> Finding:
    say = f"Give it an id of its own: {id_} was used before, for another message."
    return Finding("id-reused", ROOT, say, expected="an id not used before", found=id_)


def _inbox_full(limit: int, inbox: str) -> Finding:
    messages = f"{limit:,} {'message' if limit == 1 else 'messages'}"
    say = f"Try again later, or send it to another agent: {inbox} has {messages} waiting and takes no more."
    return Finding("inbox-full", ROOT, say, expected=f"fewer than {messages}", found=inbox)


# --- correlation -----------------------------------------------------------------------------------------------------


def infer_reply_to(
    context: BusContext,
    reads: Reads,
    request: SendRequest,
    checked: CheckedMessage,
    *,
    member: Member,
    inboxes: Route,
) -> SendRequest:
    """Add reply_to and correlation where the message cannot name them.

    A message of a dialect without ids answers the one message that its sender holds from the recipient. An answer
    belongs to the conversation of its request.
    """
    envelope, traits = checked.envelope, checked.traits
    reply_to = envelope.reply_to or request.reply_to
    if reply_to is None and traits is not None:
        reply_to = _held_request(context, reads, traits, member, inboxes)
        if reply_to is None and traits.answers and member.dialects:
            from telex.bus.render import unnamed_request  # it may have been shown a request as another type

            reply_to = unnamed_request(context, reads, member, traits.answers, envelope.correlation, inboxes=inboxes)
        if reply_to is not None:
            request = request._replace(reply_to=reply_to)
    if reply_to is not None and envelope.correlation is None and request.correlation is None:
        messages = [message for message in find_messages(reads, reply_to) if not message.refused]
        request = request._replace(correlation=messages[-1].correlation if messages else None)
    return request


def _held_request(context: BusContext, reads: Reads, traits: TypeTraits, member: Member, inboxes: Route) -> str | None:
    """The id of the one message that the sender holds from the recipient and that this may answer."""
    if traits.dialect.wire.id is None and traits.replies:
        held = [message for message in held_messages(reads, member.name) if _may_answer(traits, message, inboxes)]
        if len(held) == 1:
            return held[0].id
    if _is_decision_without_request(traits):
        held = [message for message in held_messages(reads, member.name) if _is_from(message, inboxes)]
        if len(held) == 1 and context.action_of(held[0]) == "ask":
            return held[0].id
    return None


def _may_answer(traits: TypeTraits, message: Message, inboxes: Route) -> bool:
    fits = message.type in traits.answers or (message.type is None and not traits.answers)
    return fits and _is_from(message, inboxes)


def _is_decision_without_request(traits: TypeTraits) -> bool:
    """A dispatch with a decision, in a dialect that has no requests to name."""
    return traits.action == "dispatch" and "decision" in traits.type.field_map


def _is_from(message: Message, inboxes: Route) -> bool:
    return not {message.sender, ONE_OF_ROLE + message.role}.isdisjoint(inboxes)


class AnsweredRequests(NamedTuple):
    """The pending requests that a message answers, and warnings about the reply."""

    requests: tuple[int, ...] = ()
    findings: tuple[Finding, ...] = ()


def requests_answered_by(
    context: BusContext,
    reads: Reads,
    request: SendRequest,
    checked: CheckedMessage,
    *,
    member: Member,
    inboxes: Route,
    work_change: WorkChange | None,
) -> AnsweredRequests:
    """Pending requests that this message answers: the one it names, or those of its conversation that want its type.

    An answer goes to the sender of the request and comes from those asked. Requests for approval and for shutdown are
    answered only by a message that decides them.
    """
    reply_to, traits = checked.envelope.reply_to or request.reply_to, checked.traits
    correlation = checked.envelope.correlation or request.correlation
    named = reads.pending_requests(RequestQuery(id=reply_to)) if reply_to is not None else []
    settles = _settles_escalations(traits)
    wanted = traits.answers if traits is not None else frozenset()
    types = wanted | context.escalation_types if settles else wanted
    query = RequestQuery(correlation=correlation, types=sorted(types))
    related = reads.pending_requests(query) if correlation is not None and types else []
    decided = _decided(context, reads, work_change) if traits is not None and traits.action in DECIDING else ()
    if not named and not related:
        return AnsweredRequests(decided)
    from telex.bus.escalate import escalations_answered_by  # most messages answer nothing

    settled = escalations_answered_by(
        context, reads, member, traits, named, related=related if settles else [], inboxes=inboxes
    )
    requests = named if reply_to is not None else [pair for pair in related if pair[1].type in wanted]
    requests = [pair for pair in requests if pair[1].sender != member.name and not context.is_escalation(pair[1])]
    findings = [_correlation_differs(checked, message) for _, message in requests if reply_to is not None]
    answered = list[int]()
    for pending, message in requests:
        if _wants_another_answer(context, message, traits, work_change):
            continue
        deliveries, own = deliveries_of(reads, message.seq), inboxes_of(member, context.team.roster)
        was_asked = any(delivery.inbox in own or delivery.holder == member.name for delivery in deliveries)
        if not was_asked and member.role != HUMAN:
            asked = dict.fromkeys(delivery.inbox for delivery in deliveries)
            findings.append(_not_answered(message, " or ".join(asked)) if reply_to is not None else None)
        elif _is_from(message, inboxes):
            answered.append(pending.message)
    return AnsweredRequests((*settled, *decided, *answered), tuple([f for f in findings if f is not None]))


def _not_answered(message: Message, whom: str) -> Finding:
    say = f"Leave the answer to {whom}: this is delivered, and {message.id} still waits for an answer."
    return Finding("request-not-answered", ROOT, say, "warning", expected=whom)


def _correlation_differs(checked: CheckedMessage, message: Message) -> Finding | None:
    """A reply that names another conversation than its request."""
    own, dialect = checked.envelope.correlation, checked.dialect
    field = dialect.wire.correlation if dialect is not None and dialect.name == message.dialect else None
    if field is None or not own or not message.correlation or own.casefold() == message.correlation.casefold():
        return None
    say = f"Give the reply the {field} of its request: {message.id} is in {message.correlation}."
    found = own[: LIMITS.found_characters_max]
    return Finding("correlation-differs", path_of(field), say, "warning", expected=message.correlation, found=found)


def _settles_escalations(traits: TypeTraits | None) -> bool:
    """A report does not answer an escalation of its conversation, nor does another escalation."""
    if traits is None:
        return True
    return traits.action is not None and traits.action not in COMES_ALONG and traits.action != ESCALATE


def with_decided_request(request: SendRequest, checked: CheckedMessage, work_change: WorkChange) -> SendRequest:
    """Add as reply_to the request that the message decides by its task, where it names none."""
    if checked.envelope.reply_to or request.reply_to:
        return request
    decided = _requests_in(work_change)
    return request._replace(reply_to=decided[0]) if len(decided) == 1 else request


def askers_not_reached(before: Mapping[str, Any], roster: Roster, inboxes: Route) -> list[str]:
    """Agents whose requests for approval a message decides without being delivered to them. The inbox of a role counts
    where the agent is its only member."""
    askers = [state.request.by for topic, state in before.items() if topic.startswith(APPROVAL + ":") and state]
    return [asker for asker in askers if asker not in inboxes and not _is_alone_at(asker, roster, inboxes)]


def _is_alone_at(name: str, roster: Roster, inboxes: Route) -> bool:
    member = roster.find(name)
    alone = member is not None and len(roster.of_role(member.role)) == 1
    return member is not None and alone and not set(inboxes_of(member, roster)).isdisjoint(inboxes)


def _requests_in(work_change: WorkChange) -> list[str]:
    """The requests for approval that a message changes."""
    prefix = APPROVAL + ":"
    return [topic.removeprefix(prefix) for topic in work_change.topics if topic.startswith(prefix)]


def _decided(context: BusContext, reads: Reads, work_change: WorkChange | None) -> tuple[int, ...]:
    ids = _requests_in(work_change) if work_change is not None else ()
    requests = [pair for id_ in ids for pair in reads.pending_requests(RequestQuery(id=id_))]
    return tuple(pending.message for pending, message in requests if context.action_of(message) == "ask")


def _wants_another_answer(
    context: BusContext, message: Message, traits: TypeTraits | None, work_change: WorkChange | None
) -> bool:
    """Whether the request still waits after this reply: text decides nothing."""
    action = context.action_of(message) if context.policy.work else ""
    if action == "ask":
        return context.team.topic(f"{APPROVAL}:{message.id}") is not None
    return action == "stop" and (work_change is None or traits is None or traits.action != "stopped")
