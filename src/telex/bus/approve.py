"""Answers to requests for approval: a message in the dialect of the request if that dialect has one."""

from telex.bus.context import BusContext
from telex.bus.decision import SendRequest
from telex.dialects.registry import by_name
from telex.dialects.schema import ANY, Dialect, MessageType, OneOf, kind_at
from telex.dialects.write import write
from telex.errors import InvalidValue, NotFound
from telex.model.contracts import SCOPE_CHANGE
from telex.model.finding import Finding
from telex.model.named_tuple import NamedTuple
from telex.model.roster import HUMAN, Member, Roster, choice_of
from telex.model.text import ROOT, nearest
from telex.ports.store import find_messages
from telex.validation.authorization import may_send, normalised
from telex.work.approvals import Approval, ApprovalRequest, answering, topic_of
from telex.work.escalations import topics_of_step
from telex.work.plans import CONTRACTS, contracts_in
from telex.work.reducer import APPROVED, CONDITIONAL, REJECTED, HeaderFields, can_compose, compose
from telex.work.view import WorkMessage, parse_tree


class Answer(NamedTuple):
    """The decision of an agent or a person."""

    agent: str
    role: str | None
    approved: bool
    reason: str
    conditions: tuple[str, ...] = ()
    modifications: tuple[str, ...] = ()
    revision: int | None = None  # of the contract that it was made for; None: any


def seconds_left(message: WorkMessage, now: float) -> float | None:
    """Seconds until the deadline that the message names; None: it names none, or one that has passed."""
    deadline = message.moment("deadline")
    return deadline - now if deadline is not None and deadline > now else None


async def answer_to(context: BusContext, id_: str, answer: Answer) -> SendRequest | Finding:
    """The answer to a request, ready to be sent. A finding: it would approve a wider contract without a path.

    Raises:
        NotFound: there is no request of that id.
        InvalidValue: the request's dialect has no field for a part of the answer.
    """
    approval: Approval | None = (await context.topics((topic_of(id_),))).get(topic_of(id_))
    if approval is None:
        raise NotFound(await _not_found(context, id_))
    request, agent = approval.request, normalised(answer.agent)
    roster = await context.roster()
    dialect, type_ = _dialect_and_type(context, request, roster.find(agent))
    same = dialect.name == request.dialect
    if answer.approved and not answer.modifications and await _widens_nothing(context, approval, type_):
        how = "as modifications (--modify PATH in a shell)"
        say = f"Add the paths that {request.by} may touch, {how}: the request names none."
        return Finding("approval-widens-nothing", ROOT, say, expected="paths")
    header = HeaderFields(
        id=context.clock.new_id(),
        at=context.clock.now(),
        sender=_signature(dialect, type_, request, roster=roster, agent=agent, role=answer.role),
        to=request.by,
        correlation=request.correlation or (None if same else id_),
        reply_to=id_,
    )
    messages = [message for message in await context.store.read(find_messages, id_) if message.sender == request.by]
    like = next(
        (parse_tree(m.raw, dialect, dialect.types[request.type]) for m in messages if same and not m.refused), {}
    )
    tree = compose(dialect, type_, _fields(dialect, type_, request, answer), header, like)
    raw = write(dialect, tree).encode("utf-8", "surrogatepass")
    reply_to = None if dialect.wire.reply_to else id_
    return SendRequest(raw, agent, answer.role, to=request.by, reply_to=reply_to, revision=answer.revision)


async def _widens_nothing(context: BusContext, approval: Approval, type_: MessageType) -> bool:
    """Whether the request waits for a wider contract and this answer would add no path to it. An override may be of
    another gate."""
    contracts = contracts_in(await context.topics((CONTRACTS,)))
    names_paths = "modifications" in type_.field_map and bool(approval.request.paths)
    waits = contracts is not None and approval.waits and approval.request.id in contracts.asks
    return waits and approval.request.kind == SCOPE_CHANGE and not names_paths


def _fields(dialect: Dialect, type_: MessageType, request: ApprovalRequest, answer: Answer) -> dict[str, object]:
    """Values by the names of the action; a dialect takes those that it has."""
    decision = REJECTED if not answer.approved else CONDITIONAL if answer.conditions else APPROVED
    for name in ("conditions", "modifications"):
        if getattr(answer, name) and name not in type_.field_map:
            raise InvalidValue(f"leave out the {name}: {type_.name} has no field for them.")
    return {
        "request": request.id,
        "approved": answer.approved,
        "decision": _decision_value(dialect, type_, decision),
        "reason": answer.reason,
        "reasons": [answer.reason],
        "conditions": list(answer.conditions) or None,
        "modifications": list(answer.modifications) or None,
        "task": request.task or (None if dialect.name == request.dialect else request.correlation or request.id),
        "confidence": "high",
    }


def _dialect_and_type(
    context: BusContext, request: ApprovalRequest, member: Member | None
) -> tuple[Dialect, MessageType]:
    """Those of the request; for a role that its dialect does not know, those of a dialect that the member reads."""
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


async def _not_found(context: BusContext, id_: str) -> str:
    if await context.topics(topics_of_step(id_)):
        return f"{id_[:128]} is an escalation, not a request for approval: telex answer {id_[:128]} TEXT answers it."
    approvals: dict[str, Approval] = await context.topics_of_kind("approval")
    close = nearest(id_, [approval.request.id for approval in approvals.values() if approval.waits])
    meant = f"did you mean {close}?" if close else "telex approvals lists the pending ones."
    return f"no approval request {id_[:128]}: {meant}"


def _signature(
    dialect: Dialect, type_: MessageType, request: ApprovalRequest, *, roster: Roster, agent: str, role: str | None
) -> str:
    """The sender that the message names. In a dialect that knows roles only, a person signs with a role that was asked.
    So does an unknown agent, whose only finding is then that it is unknown."""
    member = roster.find(agent)
    role = member.role if member is not None else role
    if dialect.addresses == "names":
        return agent
    if role is not None and (role != HUMAN or type_.senders == ANY):
        return role
    names = [name.removeprefix("role:") for name in request.inboxes]
    roles = [other.role if (other := roster.find(name)) is not None else name for name in names]
    return next((role for role in roles if role in type_.senders), type_.senders[0])


def _decision_value(dialect: Dialect, type_: MessageType, decision: str) -> str | None:
    """The decision as the dialect spells it, where it has a field for that."""
    if "decision" in type_.semantics.spelling:
        return decision
    where = type_.field_map.get("decision")
    field = kind_at(dialect.fields_of(type_), dialect.locate(type_, where)) if where is not None else None
    if field is None or not isinstance(field.kind, OneOf):
        return None
    return next((value for value in field.kind.values if value.casefold() == decision), None)
