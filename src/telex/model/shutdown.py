"""A team that is asked to stop: who was asked, what has each one said, and how did it end?"""

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Mapping, Sequence
from math import inf
from typing import NamedTuple, Self

from telex.model.finding import Finding
from telex.model.ordered_index import OrderedIndex
from telex.model.roster import Member

TOPIC = "shutdown"

# Where an agent stands. Those of WAITED may still answer, and nothing is dissolved while there are any of UNSETTLED.
STATES: dict[str, str] = {
    "approved": "has answered and shut down",
    "refused": "has answered that it cannot stop yet",
    "silent": "was asked and has not answered",
    "not asked": "may not be sent a shutdown_request in this team",
    "forced": "was stopped without its consent",
    "left": "has left the team since it was asked",
    "not seen": "was declared and has never come",
}
WAITED = frozenset({"silent"})
UNSETTLED = frozenset({"refused", "silent", "not asked"})


class ShutdownAnswer(NamedTuple):
    """What an agent has answered last."""

    id: str  # of the message
    at: float
    approved: bool
    status: str  # complete, idle or in_progress
    pending: str  # what is left to do, in its own words


class ShutdownRequest(NamedTuple):
    """One request to stop."""

    id: str
    by: str
    role: str  # of whoever asked
    reason: str
    team: str
    at: float
    asked: tuple[str, ...]  # the inboxes it was put into
    answers: Mapping[str, ShutdownAnswer]  # by agent


class ShutdownRequests(OrderedIndex[ShutdownRequest]):
    """Every call there was, oldest first; and which was the last to reach an inbox is known as well."""

    __slots__ = ("_latest_at", "_reached")
    _latest_at: float  # when the latest was
    # By inbox: where the calls stand that were put into it and may be the last since some moment. A later call that is
    # not of an earlier time takes the place of those before it, so there is one, unless clocks go backwards.
    _reached: dict[str, Sequence[int]]

    def __new__(cls, *_: object) -> Self:
        calls = super().__new__(cls)
        calls._reached, calls._latest_at = {}, -inf
        return calls

    def answered(self, call: ShutdownRequest, by: str, answer: ShutdownAnswer) -> Self:
        """With what an agent has said to one of these."""
        if not self.is_own:
            return self.replaced(call._replace(answers={**call.answers, by: answer}))
        assert isinstance(call.answers, dict), "the calls are ours, and so is what was answered"
        call.answers[by] = answer
        return self

    def last_into(self, inboxes: Iterable[str], since: float) -> ShutdownRequest | None:
        """The last call that was put into any of these, at that moment or later."""
        found = -1
        for inbox in inboxes:
            places = self._reached.get(inbox, ())
            count = bisect_right(places, -since, key=self._before)
            found = max(found, places[count - 1]) if count else found
        return self._all[found] if found >= 0 else None

    def _before(self, place: int) -> float:
        """The lower, the later it was: the places of an inbox are in the order of this, too."""
        return -self._all[place].at

    def added(self, shutdown_request: ShutdownRequest) -> Self:
        calls = super().added(shutdown_request)
        place = len(calls) - 1
        if shutdown_request.at >= calls._latest_at:
            calls._reached |= dict.fromkeys(shutdown_request.asked, (place,))
            calls._latest_at = shutdown_request.at
            return calls
        for inbox in shutdown_request.asked:
            known = calls._reached.get(inbox, ())
            still = bisect_left(known, -shutdown_request.at, key=calls._before)
            if calls.is_own and isinstance(known, list):
                known[still:] = [place]
            else:
                calls._reached[inbox] = [*known[:still], place]
        return calls

    def owned(self) -> Self:
        if self.is_own:
            return self
        calls = super().owned()
        calls._all = [call._replace(answers=dict(call.answers)) for call in calls._all]
        calls._reached = {inbox: tuple(places) for inbox, places in calls._reached.items()}
        return calls

    def _copy(self) -> Self:
        calls = super()._copy()
        calls._reached, calls._latest_at = self._reached.copy(), self._latest_at
        return calls


class ShutdownState(NamedTuple):
    """Every call there was, oldest first: the state of the topic `shutdown`."""

    calls: Sequence[ShutdownRequest] = ShutdownRequests()

    @property
    def known(self) -> ShutdownRequests:
        """What came over a wire, or out of an old file, is only a list of them."""
        return self.calls if type(self.calls) is ShutdownRequests else ShutdownRequests(self.calls)

    def call(self, id_: str) -> ShutdownRequest | None:
        """The last one of that id."""
        return self.known.get(id_)


NO_SHUTDOWNS = ShutdownState()


class MemberShutdown(NamedTuple):
    """Where one agent stands."""

    member: Member
    state: str  # one of STATES
    call: ShutdownRequest | None = None  # the one that it was asked by last
    answer: ShutdownAnswer | None = None


class ReturnedMessage(NamedTuple):
    """A message that waited for somebody who has stopped. Its sender was told."""

    id: str
    type: str | None
    sender: str
    inbox: str


class ShutdownReport(NamedTuple):
    """How a shutdown stands or has ended. Everyone who is concerned is in it, and nobody twice."""

    by: str
    requests: tuple[str, ...]  # ids of the shutdown_requests it is about
    agents: tuple[MemberShutdown, ...]
    handed_back: tuple[ReturnedMessage, ...] = ()
    dissolved: bool = False
    findings: tuple[Finding, ...] = ()  # why the team could not be asked; then nothing has happened
    until: float | None = None  # when it is waited for no longer

    def of(self, *states: str) -> tuple[MemberShutdown, ...]:
        return tuple(member_shutdown for member_shutdown in self.agents if member_shutdown.state in states)
