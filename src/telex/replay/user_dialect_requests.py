"""What was asked in a team's own words? The book does not keep it, and an answer to it is let pass as the bus does.

Only so many are remembered: an answer that comes later than that many questions is taken for one to nothing.
"""

from itertools import islice
from typing import NamedTuple

from telex.dialects.schema import MessageType
from telex.model.roster import Member
from telex.work.approvals import ApprovalRequest
from telex.work.user_dialect_requests import ASKING, Found, left_over, stands_for, wanted_by
from telex.work.view import WorkMessage

ALIKE_MAX = 16  # under one id
ASKED_MAX = 5_000  # ids of which at least so many are remembered


class MessageContext(NamedTuple):
    """What the log or the roster says about a message."""

    number: int
    id: str | None
    at: float
    sender: Member
    to: str
    inboxes: tuple[str, ...]


class ReplayUserRequests:
    def __init__(self) -> None:
        self._asked: dict[str, list[tuple[MessageType, ApprovalRequest]]] = {}
        self._most = 2 * ASKED_MAX  # the older half is then forgotten

    def heard(self, dialect: str, type_: MessageType, around: MessageContext) -> None:
        """A message of a type that stands for a question was let pass."""
        assert stands_for(type_, ASKING), "it asks for nothing"
        _, id_, at, sender, to, inboxes = around
        if id_ is None:
            return  # nobody can name it
        request = ApprovalRequest(id_, sender.name, sender.role, to, inboxes, "", "", at, None, dialect, type_.name)
        known = self._asked.setdefault(id_, [])
        known.append((type_, request))
        del known[:-ALIKE_MAX]
        if len(self._asked) > self._most:
            self._asked = dict(islice(self._asked.items(), ASKED_MAX, None))

    def left_over(self, work_message: WorkMessage, found: Found) -> Found | None:
        """What is left to say of an answer to one of them; None: it answers none."""
        wanted = wanted_by(work_message, found) if self._asked else None
        if wanted is None:
            return None
        asked = self._asked.get(work_message.reply_to or "", ())
        return left_over(work_message, found, [request for type_, request in asked if stands_for(type_, wanted)])
