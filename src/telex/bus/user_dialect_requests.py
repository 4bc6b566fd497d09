"""Was that asked in a team's own words? What the record knows of it; what follows from it is
`work/user_dialect_requests.py`.
"""

from typing import TYPE_CHECKING

from telex.bus.work_cache import said_by
from telex.model.finding import Finding
from telex.work.approvals import Approval, ApprovalRequest, topic_of
from telex.work.rule_set import LazyFinding
from telex.work.user_dialect_requests import ANSWERING, LEAVE, decides_nothing, left_over, stands_for, wanted_by
from telex.work.view import WorkMessage

if TYPE_CHECKING:
    from telex.bus.correlate import SendRequest
    from telex.bus.directory import BusContext
    from telex.delivery.routing import Route
    from telex.delivery.validator_cache import CheckedMessage
    from telex.model.message import Message
    from telex.model.roster import Member


async def in_own_words(
    office: "BusContext", said: WorkMessage, findings: tuple[Finding, ...]
) -> tuple[Finding, ...] | None:
    """What is left to say of an answer to something that was asked in a team's own words; None: it is none."""
    wanted = wanted_by(said, findings)
    if wanted is None or said.reply_to is None:
        return None
    requests = [await _request(office, one) for one in await asked_in_own_words(office, said.reply_to, wanted)]
    left = left_over(said, findings, requests)
    return None if left is None else tuple([one.told() if isinstance(one, LazyFinding) else one for one in left])


async def answers_in_own_words(
    office: "BusContext",
    asked: "SendRequest",
    member: "Member",
    looked: "CheckedMessage",
    address: str,
    inboxes: "Route",
) -> tuple[Finding, ...]:
    """What is said of an answer in a team's own words, if it names something that the book keeps."""
    assert looked.kind is not None
    reply_to = looked.facts.reply_to or asked.reply_to
    if reply_to is None or not office.desk.work or not stands_for(looked.kind.type, ANSWERING):
        return ()
    topic = topic_of(reply_to)
    found: Approval | None = (await office.books.of((topic,))).get(topic)
    if found is None:
        return ()
    asked = asked._replace(id=looked.facts.id or asked.id or "")
    said = said_by(asked, member, looked, address, inboxes, office.clock.now())
    return tuple(one.told() for one in decides_nothing(said, found, office.dialects))


async def asked_in_own_words(office: "BusContext", id_: str, wanted: frozenset[str] = LEAVE) -> "list[Message]":
    """Messages of that id whose type stands for one of these intents in the file of its dialect."""
    return [one for one in await office.store.find(id_) if _asks(office, one, wanted)]


def _asks(office: "BusContext", message: "Message", wanted: frozenset[str]) -> bool:
    dialect = office.dialects.get(message.dialect or "")
    type_ = dialect.types.get(message.type or "") if dialect is not None else None
    return type_ is not None and stands_for(type_, wanted) and not message.refused


async def _request(office: "BusContext", message: "Message") -> ApprovalRequest:
    """It, as far as it says who asked whom."""
    inboxes = tuple(one.inbox for one in await office.store.deliveries(message.seq))
    asked = (message.id, message.sender, message.role, message.to, inboxes)
    return ApprovalRequest(*asked, "", "", message.at, None, message.dialect or "", message.type or "")
