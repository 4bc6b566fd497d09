"""Between whom is a message of a log, and may one that is right by itself pass between them?

The track of a replay is open for messages of nobody in particular. Who speaks to whom is known in a log that Telex has
kept: what they may say to each other is found out once for each type, and held against what each message claims.
"""

from telex.delivery.routing import Route
from telex.dialects.schema import Dialect, MessageType
from telex.model.finding import Finding
from telex.model.roster import TELEX, Member
from telex.replay.fast_path import TypeProfile
from telex.replay.pair_cache import PairCache
from telex.replay.team import ReplayTeam
from telex.validation.check import CheckPolicy
from telex.validation.envelope import paths_of
from telex.validation.fast_validator import AllowedTypes

Claims = tuple[
    tuple[str, ...] | None, tuple[str, ...] | None
]  # what may stand there as sender and recipient; None: any


class ReplayRoute:
    """From one agent to others, as the bus would have seen it."""

    __slots__ = ("_known", "_passage", "address", "inboxes", "member")

    def __init__(self, member: Member, address: str | None, inboxes: Route, passage: AllowedTypes) -> None:
        self.member, self.address, self.inboxes = member, address, inboxes
        self._passage = passage
        self._known: dict[int, Claims | None] = {}  # by the plate, which lives as long as its track

    def lets(self, plate: TypeProfile, sender: str | None, recipient: str | None) -> bool:
        """Is there nothing to find in such a message, given that it names these two?"""
        try:
            claims = self._known[id(plate)]
        except KeyError:
            claims = self._known[id(plate)] = self._claims(plate)
        if claims is None:
            return False
        if self.address is None and recipient and recipient.isspace():
            return False  # it is for nobody in particular, as if nothing stood there
        senders, recipients = claims
        return (senders is None or type(sender) is not str or sender in senders) and (
            recipients is None or type(recipient) is not str or recipient in recipients
        )

    def _claims(self, plate: TypeProfile) -> Claims | None:
        """None: such a message never passes here without a closer look."""
        dialect, type_ = plate.dialect, plate.type
        if not self._passage.lets(dialect, type_) or _is_for_two(dialect, type_):
            return None
        allowed, wire = self._passage.claims(dialect, type_), dialect.wire
        return allowed.get(wire.sender or ""), allowed.get(wire.recipient or "")


def _is_for_two(dialect: Dialect, type_: MessageType) -> bool:
    """May it name two recipients: one in its envelope, which is held against the road, and one in its payload, which is
    where it goes? A plate tells of the latter only."""
    recipient = dialect.wire.recipient
    return recipient in dialect.envelope and paths_of(dialect, type_).get("recipient") != (recipient,)


class ReplayRoutes:
    def __init__(self, desk: CheckPolicy, team: ReplayTeam) -> None:
        self._desk, self._team = desk, team
        self._known = PairCache[tuple[str, str | None, str | None], ReplayRoute]()
        self._changes = 0

    def between(self, sender: str, role: str | None, to: str | None) -> ReplayRoute | None:
        """None: there is something to say about the two themselves, or it is the bus that speaks."""
        if self._changes != self._team.changes:
            self._known.clear()
            self._changes = self._team.changes
        return self._known.get((sender, role, to)) or self._learnt(sender, role, to)

    def _learnt(self, sender: str, role: str | None, to: str | None) -> ReplayRoute | None:
        way = self._team.way(sender, role, to, True, False)
        if sender == TELEX or isinstance(way, Finding) or way.wrong is not None:
            return None
        if way.address == "":  # a log may have blanks there, of which nothing is left
            return None
        road = ReplayRoute(way.member, way.address, way.inboxes, AllowedTypes(self._desk, *way.pair))
        self._known.keep((sender, role, to), road, len(road.inboxes))
        return road
