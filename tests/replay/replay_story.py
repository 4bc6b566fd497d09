"""What the tests of replays share: a team that does whatever comes to mind, and what its bus said after every act."""

from contextlib import suppress
from typing import Any, NamedTuple

from hypothesis import strategies as st

from telex.bus import run_sync
from telex.bus.local import LocalBus
from telex.errors import TelexError
from telex.model.message import Delivery, Event, LeasedMessage, StoredMessage
from telex.model.roster import Member
from telex.ports.store import EVERYTHING, Store, dead_letters, events_with_messages, waiting_deliveries
from telex.testing import FakeClock
from telex.validation.check import CheckPolicy
from tests.work.test_work_state import ACTS, book_of

READERS = st.sampled_from(["dev", "lead", "human", "orchestrator", "dev-2"])
EVENTS_MAX = 1_000_000


def act(does: str, *strategies: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    return st.tuples(st.just(does), *strategies)


MORE_ACTS = st.one_of(
    ACTS,
    ACTS,
    ACTS,
    act("note", st.sampled_from(["*", "all:dev", "dev", "role:lead", "nobody"])),
    act("receive", READERS),
    act("settle", READERS, st.sampled_from(["ack", "nack", "extend"])),
    act("settle", READERS, st.sampled_from(["ack", "nack", "nack"])),
    act("join", st.sampled_from(["dev", "qa", "dev-2"]), st.sampled_from(["dev", "qa"])),
    act("shut down", st.booleans()),
    act("dead", st.booleans()),
    act("later", st.just(61.0)),
)
STORIES = st.lists(MORE_ACTS, min_size=12, max_size=30)


class Seen(NamedTuple):
    """What the bus said at one moment. What no event tells is left out: the numbers of deliveries that nobody has
    touched, and when somebody was last seen."""

    last: int  # the number of the last event by then
    at: float
    deliveries: list[Delivery]
    members: dict[str, Member]
    book: dict[str, Any]


class Story:
    """A team on a store, played act by act."""

    def __init__(self, store: Store, *, strict: bool = True) -> None:
        self.clock, self.store = FakeClock(), store
        self.bus = LocalBus(store, self.clock, policy=CheckPolicy(strict=strict))
        self.seen: list[Seen] = []
        self._held: list[tuple[str, LeasedMessage]] = []

    def play(self, acts: list[Any]) -> "Story":
        for act in acts:
            with suppress(TelexError):
                self._do(act)
            self.seen.append(self._look())
            self.clock.leap(0.5)  # so that every act has a moment of its own
        return self

    def events(self) -> list[tuple[Event, StoredMessage | None]]:
        return run_sync(self.store.read(events_with_messages, EVERYTHING, EVENTS_MAX))

    def _do(self, one: Any) -> None:
        bus = self.bus
        if isinstance(one, dict):
            run_sync(bus.send(**one, check=False))
            return
        match one:
            case ("later", seconds):
                self.clock.leap(seconds)
                run_sync(bus.sweep())
            case ("note", to):
                run_sync(bus.send("The build is red.", sender="qa", to=to, check=False))
            case ("join", name, role):
                run_sync(bus.join(name, role=role))
            case ("receive", name):
                self._held += [(name, lease) for lease in run_sync(bus.receive(name, limit=3))]
            case ("settle", name, how):
                self._settle(name, how)
            case ("shut down", force):
                run_sync(bus.shut_down(agent="lead", reason="phase_complete", wait=False, force=force))
            case ("dead", again):
                for _, message in run_sync(bus.dead_letters()):
                    run_sync(bus.retry(message.id) if again else bus.drop(message.id, reason="nobody wants it"))
            case ("leave", name):
                run_sync(bus.leave(name))

    def _settle(self, name: str, how: str) -> None:
        for _, lease in [one for one in self._held if one[0] == name]:
            with suppress(TelexError):
                if how == "ack":
                    run_sync(self.bus.ack(lease.token, agent=name))
                elif how == "nack":
                    run_sync(self.bus.nack(lease.token, agent=name, reason="not now"))
                else:
                    run_sync(self.bus.extend(lease.token, agent=name))

    def _look(self) -> Seen:
        book, events = book_of(self.bus), self.events()
        inboxes = {message.to for _, message in events if message is not None} | set(
            run_sync(self.store.read(lambda reads: reads.depths()))
        )
        found = [
            *run_sync(self.store.read(waiting_deliveries, sorted(inboxes), EVENTS_MAX)),
            *run_sync(self.store.read(dead_letters, EVENTS_MAX)),
        ]
        members = {
            member.name: member._replace(seen_at=None)
            for member in run_sync(self.store.read(lambda reads: reads.members()))
        }
        last = events[-1][0].seq if events else 0
        return Seen(last, self.clock.now(), told(found), members, book)


def told(found: Any) -> list[Delivery]:
    return sorted(delivery._replace(seq=0) for delivery, _ in found)
