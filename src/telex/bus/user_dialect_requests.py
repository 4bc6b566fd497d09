"""Was that asked in a team's own words? What the record knows of it; what follows from it is
`work/user_dialect_requests.py`.
"""

from typing import TYPE_CHECKING

from telex.bus.work_cache import work_message_of_send
from telex.model.finding import Finding
from telex.work.approvals import Approval, ApprovalRequest, topic_of
from telex.work.user_dialect_requests import ANSWERING, LEAVE, decides_nothing, left_over, stands_for, wanted_by
from telex.work.view import WorkMessage

if TYPE_CHECKING:
    from telex.bus.correlate import SendRequest
    from telex.bus.directory import BusContext
    from telex.delivery.routing import Route
    from telex.delivery.validator_cache import CheckedMessage
    from telex.model.message import Message
    from telex.model.roster import Member


async def is_user_dialect_request(
    context: "BusContext", work_message: WorkMessage, findings: tuple[Finding, ...]
) -> tuple[Finding, ...] | None:
    """What is left to say of an answer to something that was asked in a team's own words; None: it is none."""
    wanted = wanted_by(work_message, findings)
    if wanted is None or work_message.reply_to is None:
        return None
    requests = [
        await _request(context, message)
        for message in await user_dialect_requests(context, work_message.reply_to, wanted)
    ]
    return left_over(work_message, findings, requests)


async def answers_user_dialect_request(
    context: "BusContext",
    request: "SendRequest",
    member: "Member",
    checked: "CheckedMessage",
    address: str,
    inboxes: "Route",
) -> tuple[Finding, ...]:
    """What is said of an answer in a team's own words, if it names something that the book keeps."""
    assert checked.traits is not None
    reply_to = checked.envelope.reply_to or request.reply_to
    if reply_to is None or not context.policy.work or not stands_for(checked.traits.type, ANSWERING):
        return ()
    topic = topic_of(reply_to)
    approval: Approval | None = (await context.work_cache.of((topic,))).get(topic)
    if approval is None:
        return ()
    request = request._replace(id=checked.envelope.id or request.id or "")
    work_message = work_message_of_send(request, member, checked, address, inboxes, context.clock.now())
    return decides_nothing(work_message, approval, context.dialects)


async def user_dialect_requests(context: "BusContext", id_: str, wanted: frozenset[str] = LEAVE) -> "list[Message]":
    """Messages of that id whose type stands for one of these intents in the file of its dialect."""
    return [message for message in await context.store.find(id_) if _asks(context, message, wanted)]


def _asks(context: "BusContext", message: "Message", wanted: frozenset[str]) -> bool:
    dialect = context.dialects.get(message.dialect or "")
    type_ = dialect.types.get(message.type or "") if dialect is not None else None
    return type_ is not None and stands_for(type_, wanted) and not message.refused


async def _request(context: "BusContext", message: "Message") -> ApprovalRequest:
    """It, as far as it says who asked whom."""
    inboxes = tuple(delivery.inbox for delivery in await context.store.deliveries(message.seq))
    asked = (message.id, message.sender, message.role, message.to, inboxes)
    return ApprovalRequest(*asked, "", "", message.at, None, message.dialect or "", message.type or "")
