"""Answers to requests for approval: a message in the dialect of the request if that dialect has one."""

from collections.abc import Sequence

from telex.bus.context import BusContext
from telex.bus.correlate import SendRequest
from telex.dialects.registry import by_name
from telex.dialects.schema import ANY, Dialect, MessageType, OneOf, kind_at
from telex.dialects.write import write
from telex.errors import InvalidValue, NotFound
from telex.model.contracts import SCOPE_CHANGE
from telex.model.dialect_version import choice_of
from telex.model.finding import Finding
from telex.model.json_path import ROOT
from telex.model.roster import HUMAN, Member, Roster
from telex.model.suggestion import nearest
from telex.validation.authorization import may_send, normalised
from telex.work.approvals import Approval, ApprovalRequest, answering, deadline_of, topic_of
from telex.work.escalations import topics_of_step
from telex.work.plan_lookup import CONTRACTS, contracts_in
from telex.work.reducer import APPROVED, CONDITIONAL, REJECTED, HeaderFields, can_compose, compose
from telex.work.view import WorkMessage, parse_tree


def seconds_left(work_message: WorkMessage, now: float) -> float | None:
    """How long the message itself gives for an answer; None where it does not say, or says a time that has passed."""
    deadline = deadline_of(work_message)
    return deadline - now if deadline is not None and deadline > now else None


async def answer_to(
    context: BusContext,
    id_: str,
    agent: str,
    approved: bool,
    reason: str,
    conditions: Sequence[str] = (),
    modifications: Sequence[str] = (),
    role: str | None = None,
) -> SendRequest | Finding:
    """The answer to a request, ready to be sent like any message. A finding: it would approve a wider contract without
    a path.

    Raises:
        NotFound: there is no request of that id.
        InvalidValue: the request's dialect has no words for what is to be said.
    """
    approval: Approval | None = (await context.topics((topic_of(id_),))).get(topic_of(id_))
    if approval is None:
        raise NotFound(await _not_asked(context, id_))
    request, agent = approval.request, normalised(agent)
    roster = await context.roster()
    dialect, type_ = _in_which_words(context, request, roster.find(agent))
    same = dialect.name == request.dialect
    messages = [
        message
        for message in await context.store.find(id_)
        if same and message.sender == request.by and not message.refused
    ]
    if approved and not modifications and await _widens_nothing(context, approval, type_):
        say = f"Add the paths that {request.by} may touch, with --modify PATH (modifications): the request names none."
        return Finding("approval-widens-nothing", ROOT, say, expected="paths")
    header = HeaderFields(
        id=context.clock.new_id(),
        at=context.clock.now(),
        sender=_signed(dialect, type_, request, roster=roster, agent=agent, role=role),
        to=request.by,
        correlation=request.correlation or (None if same else id_),
        reply_to=id_,
    )
    fields = _words(dialect, type_, request, approved, reason, conditions, modifications)
    like = parse_tree(messages[0].raw, dialect, dialect.types[request.type]) if messages else {}
    tree = compose(dialect, type_, fields, header, like)
    raw = write(dialect, tree).encode("utf-8", "surrogatepass")
    return SendRequest(raw, agent, role, to=request.by, reply_to=None if dialect.wire.reply_to else id_)


async def _widens_nothing(context: BusContext, approval: Approval, type_: MessageType) -> bool:
    """Is a contract to be widened, and would this answer add no path to it? An override may be of another gate."""
    contracts = contracts_in(await context.topics((CONTRACTS,)))
    names_paths = "modifications" in type_.field_map and bool(approval.request.paths)
    waits = contracts is not None and approval.waits and approval.request.id in contracts.asks
    return waits and approval.request.kind == SCOPE_CHANGE and not names_paths


def _words(
    dialect: Dialect,
    type_: MessageType,
    request: ApprovalRequest,
    approved: bool,
    reason: str,
    conditions: Sequence[str],
    modifications: Sequence[str],
) -> dict[str, object]:
    """What is to be said, by the deed's names; a dialect takes those that it has."""
    decision = REJECTED if not approved else CONDITIONAL if conditions else APPROVED
    said = {
        "request": request.id,
        "approved": approved,
        "decision": _spelt(dialect, type_, decision),
        "reason": reason,
        "reasons": [reason],
        "conditions": list(conditions) or None,
        "modifications": list(modifications) or None,
        "task": request.task or (None if dialect.name == request.dialect else request.correlation or request.id),
        "confidence": "high",  # it has been decided
    }
    _must_fit(type_, said)
    return said


def _in_which_words(
    context: BusContext, request: ApprovalRequest, member: Member | None
) -> tuple[Dialect, MessageType]:
    """In those of the request; from a role that its dialect does not know in others, such as it reads itself."""
    own = answering(request, context.dialects)
    if own is not None and not can_compose(*own):
        own = None
    role = member.role if member is not None else HUMAN
    if own is not None and (role == HUMAN or role in own[0].roles or may_send(role, own[1])):
        return own
    known = tuple(context.dialects.values())
    names = [choice_of(choice).name for choice in member.dialects] if member is not None else []
    read = [dialect for name in names if (dialect := by_name(name, known)) is not None]
    for dialect in (*read, *known):
        for type_ in dialect.types.values():
            if type_.action == "answer" and can_compose(dialect, type_) and (role == HUMAN or may_send(role, type_)):
                return dialect, type_
    if own is None:
        raise InvalidValue(f"send the answer to {request.id} as a message: no type of it can be composed here.")
    return own


async def _not_asked(context: BusContext, id_: str) -> str:
    if await context.topics(topics_of_step(id_)):
        return f"{id_[:128]} was handed up, not asked for approval: telex answer {id_[:128]} TEXT answers it."
    known: dict[str, Approval] = await context.topics_of_kind("approval")
    waiting = [approval.request.id for approval in known.values() if approval.waits]
    close = nearest(id_, waiting)
    meant = f"did you mean {close}?" if close else "telex approvals lists the pending ones."
    return f"no approval request {id_[:128]}: {meant}"


def _signed(
    dialect: Dialect, type_: MessageType, request: ApprovalRequest, roster: Roster, agent: str, role: str | None
) -> str:
    """Under which name it stands in the message: a person's answer is signed with a role that was asked, where the
    dialect knows roles only. So is that of somebody unknown, who is then told nothing but that."""
    member = roster.find(agent)
    role = member.role if member is not None else role
    if dialect.addresses == "names":
        return agent
    if role is not None and (role != HUMAN or type_.senders == ANY):
        return role
    asked = [name.removeprefix("role:") for name in request.inboxes]
    roles = [found.role if (found := roster.find(name)) is not None else name for name in asked]
    return next((one for one in roles if one in type_.senders), type_.senders[0])


def _spelt(dialect: Dialect, type_: MessageType, decision: str) -> str | None:
    """The decision as the dialect spells it, where it has a field for that."""
    if "decision" in type_.semantics.spelling:
        return decision
    where = type_.field_map.get("decision")
    field = kind_at(dialect.fields_of(type_), dialect.locate(type_, where)) if where is not None else None
    if field is None or not isinstance(field.kind, OneOf):
        return None
    return next((value for value in field.kind.values if value.casefold() == decision), None)


def _must_fit(type_: MessageType, said: dict[str, object]) -> None:
    for name in ("conditions", "modifications"):
        if said[name] is not None and name not in type_.field_map:
            raise InvalidValue(f"leave out the {name}: {type_.name} has no place for them.")
