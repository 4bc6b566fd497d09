"""Simulated agents and their messages, from one seed: send, receive, stall, crash, repeat, leave and join.

This module asserts nothing: it performs an action and passes the result to the observer.
"""

import copy
import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from functools import lru_cache
from random import Random

from telex.bus import run_sync
from telex.bus.local import LocalBus
from telex.dialects.registry import BUILT_IN, by_name
from telex.dialects.schema import Dialect, MessageType, Tree
from telex.dialects.write import write
from telex.errors import LeaseLost, NotFound, Refused, RequestFailed, RequestTimedOut
from telex.model.message import LeasedMessage, StoredMessage
from telex.model.named_tuple import NamedTuple
from telex.ports.bus import Receipt
from telex.testing import FakeClock
from telex.testing.sim_invariants import SendObserver
from telex.validation.authorization import may_receive, may_send

NONSENSE = (b"", b"\xff\xfe", b'{"type": "dev_blocker"', b'{"type": "dev_blokcer", "task": "T1"}', b"a\x00b", b"[1, 2]")


class SimMessage(NamedTuple):
    raw: bytes
    to: str
    id: str
    inside: bool = False  # the message contains its id; not every dialect has a field for it


@lru_cache(maxsize=256)
def sayable(role: str, to_role: str | None) -> tuple[tuple[Dialect, MessageType], ...]:
    """Every type that a role may send to another, or to any."""
    return tuple(
        (dialect, type_)
        for dialect in BUILT_IN
        for type_ in dialect.types.values()
        if may_send(role, type_) and (to_role is None or may_receive(to_role, type_))
    )


def replies_to(question: StoredMessage, role: str) -> list[tuple[Dialect, MessageType]]:
    """The types with which this role may answer a request."""
    dialect = by_name(question.dialect or "")
    type_ = dialect.types.get(question.type or "") if dialect is not None else None
    reply = type_.reply if type_ is not None else None
    return [choice for choice in sayable(role, None) if choice[0] is dialect and choice[1].name == reply]


class SimHeader(NamedTuple):
    sender: str
    role: str
    to: str
    to_role: str | None
    id: str
    topic: str
    reply_to: str | None = None


def written(dialect: Dialect, type_: MessageType, header: SimHeader) -> bytes:
    """The type's example with this header."""
    wire, tree = dialect.wire, copy.deepcopy(type_.example)
    names, to, to_role = dialect.addresses == "names", header.to, header.to_role
    places = {
        wire.sender: header.sender if names else header.role,
        wire.recipient: "*" if to == "*" or to_role is None else to if names else to_role,
        wire.id: header.id,
        wire.correlation: header.topic,
        wire.task: header.topic,  # some dialects warn when it differs from the correlation id
        wire.reply_to: header.reply_to,
    }
    for place, value in places.items():
        if place is not None and value is not None:
            _put(tree, dialect.locate(type_, place), value)
    return write(dialect, tree, type_.body_example or None).encode()


def _put(tree: Tree, path: tuple[str, ...], value: str) -> None:
    """Set a field only if the example has it."""
    for step in path[:-1]:
        tree = tree.get(step, {})
    if path[-1] in tree:
        tree[path[-1]] = value


def nonsense(random: Random, raw: bytes) -> bytes:
    """Malformed bytes, or a message with a field removed."""
    if random.random() < 0.5:
        return random.choice(NONSENSE)
    try:
        tree = json.loads(raw)
    except ValueError:
        return raw[: len(raw) // 2]
    tree.pop(random.choice(sorted(tree)))
    return json.dumps(tree).encode()


ROLES = {
    "lead": "lead",
    "dev": "dev",
    "dana": "dev",
    "qa": "qa",
    "kim": "qa",
    "scout": "scout",
    "architect": "architect",
    "orchestrator": "orchestrator",
    "zoë": "worker",
    "w2": "worker",
}
# Agents that read only these dialects and get a translation of others.
READS = {"dana": ("vbw-handoff@1.0",), "kim": ("build-flow", "vbw-typed@2.0+approved"), "w2": ("signal-md", "plain")}
TEAM_MIN, TEAM_MAX = 3, 7
LEAPS_SECONDS = {0.5: 12, 2.0: 12, 5.0: 12, 20.0: 6, 61.0: 4, 130.0: 2, 310.0: 2, 1900.0: 1, 3700.0: 1}  # how likely
LEASES_SECONDS = (None, None, 5.0, 300.0)
WAITS_SECONDS = (0.0, 0.0, 0.0, 0.2)
CHATTY = 0.3  # share of teams with two agents that exchange many messages
BURST_MIN, BURST_MAX = 3, 12  # messages that such an agent sends at once
MEANWHILE = 0.25  # probability of an action while another agent waits


@dataclass
class SimAgent:
    name: str
    role: str
    bus: LocalBus
    here: bool = True
    waits: bool = False  # in a call that has not returned yet
    held: list[LeasedMessage] = field(default_factory=list)
    past: list[LeasedMessage] = field(default_factory=list)  # tokens of leases that are settled or forgotten
    said: list[SimMessage] = field(default_factory=list)
    announced: int = 0  # number of the newest message that a wake has announced


class SimTeam:
    def __init__(self, random: Random, clock: FakeClock, witness: SendObserver, buses: list[LocalBus]) -> None:
        self.random, self.clock, self.witness = random, clock, witness
        names = random.sample(sorted(ROLES), random.randint(TEAM_MIN, TEAM_MAX))
        self.agents = [SimAgent(name, ROLES[name], random.choice(buses)) for name in names]
        self.acts: dict[Callable[[SimAgent], object], int] = {
            self.send: 20,
            self.receive: 20,
            self.ack: 20,
            self.nack: 6,
            self.extend: 4,
            self.repeat: 6,
            self.answer: 10,
            self.babble: 3,
            self.ask: 3,
            self.crash: 4,
            self.come_late: 5,
            self.sweep: 3,
            self.leave: 1,
            self.dig: 1,
            self.wake: 8,
            self.look: 3,
            self.reply: 4,
        }
        if random.random() < CHATTY:
            self.acts[self.chatter] = 6
        self.gossip, self.confidant = random.choice(self.agents), random.choice(self.agents)

    def start(self) -> None:
        self.clock.meanwhile = self._meanwhile
        for agent in self.agents:
            run_sync(agent.bus.join(agent.name, role=agent.role, dialects=READS.get(agent.name, ())))

    def step(self) -> None:
        """One agent acts, and then some time passes, or none."""
        agent = self.random.choice([agent for agent in self.agents if not agent.waits])
        if not agent.here:
            self.join(agent)
        else:
            [act] = self.random.choices(list(self.acts), list(self.acts.values()))
            act(agent)
        if self.random.random() < 0.3:
            [leap] = self.random.choices(list(LEAPS_SECONDS), list(LEAPS_SECONDS.values()))
            self.clock.leap(leap)

    def _meanwhile(self) -> None:
        if self.random.random() < MEANWHILE and not all(agent.waits for agent in self.agents):
            self.step()

    @property
    def now(self) -> float:
        return self.clock.now()

    # --- sends ------------------------------------------------------------------------------------------------------

    def _draw_message(self, agent: SimAgent, *, asking: bool = False) -> SimMessage | None:
        other = self.random.choice(self.agents)
        to = self.random.choice([other.name, other.name, other.name, f"role:{other.role}", f"all:{other.role}", "*"])
        to_role = None if to == "*" else other.role
        choices = [(dialect, type_) for dialect, type_ in sayable(agent.role, to_role) if not asking or type_.reply]
        if not choices:
            return None
        name = self.random.choice(list(dict.fromkeys(dialect.name for dialect, _ in choices)))
        dialect, type_ = self.random.choice([choice for choice in choices if choice[0].name == name])
        id_ = self.clock.new_id()
        header = SimHeader(agent.name, agent.role, to, to_role, id_, topic=f"T{self.random.randint(1, 4)}")
        return SimMessage(written(dialect, type_, header), to, id_, dialect.wire.id is not None)

    def _send(self, agent: SimAgent, sim_message: SimMessage) -> Receipt:
        beside = None if sim_message.inside and self.random.random() < 0.5 else sim_message.id
        receipt = run_sync(
            agent.bus.send(sim_message.raw, sender=agent.name, to=sim_message.to, id=beside, check=False)
        )
        self.witness.sent(self.now, agent.name, sim_message.to, sim_message.raw, receipt)
        return receipt

    def send(self, agent: SimAgent) -> None:
        sim_message = self._draw_message(agent)
        if sim_message is not None and self._send(agent, sim_message).accepted:
            agent.said.append(sim_message)

    def chatter(self, _: SimAgent) -> None:
        """Many messages between the same two agents, which soon use the compiled validator."""
        agent, to, to_role = self.gossip, self.confidant.name, self.confidant.role
        choices = [(dialect, type_) for dialect, type_ in sayable(agent.role, to_role) if dialect.wire.id is not None]
        burst = self.random.randint(BURST_MIN, BURST_MAX) if agent.here and not agent.waits else 0
        for dialect, type_ in self.random.choices(choices, k=burst):
            id_ = self.clock.new_id()
            header = SimHeader(agent.name, agent.role, to, to_role, id_, topic="T1")
            sim_message = SimMessage(written(dialect, type_, header), to, id_, inside=True)
            agent.said.append(sim_message)
            for times in range(self.random.choice([1, 1, 1, 2])):
                self.clock.leap(times * 0.002)
                receipt = run_sync(agent.bus.send(sim_message.raw, sender=agent.name, to=to, check=False))
                self.witness.sent(self.now, agent.name, to, sim_message.raw, receipt)

    def repeat(self, agent: SimAgent) -> None:
        """Send a message again, as after a crash, or other bytes under the same id."""
        if agent.said:
            sim_message = self.random.choice(agent.said[-5:])
            other = sim_message._replace(raw=sim_message.raw + b"\n") if self.random.random() < 0.2 else sim_message
            self._send(agent, other)

    def babble(self, agent: SimAgent) -> None:
        sim_message = self._draw_message(agent)
        if sim_message is not None:
            broken = sim_message._replace(raw=nonsense(self.random, sim_message.raw))
            nobody = sim_message._replace(to=self.random.choice(["lede", "role:nobody", "somebody-else"]))
            self._send(agent, self.random.choice([broken, nobody]))

    def answer(self, agent: SimAgent) -> None:
        """Answer a leased request, if there is one."""
        for question in (lease.message for lease in agent.held):
            for dialect, type_ in replies_to(question, agent.role):
                id_, to = self.clock.new_id(), question.sender
                header = SimHeader(agent.name, agent.role, to, ROLES.get(to), id_, topic=question.correlation or "T1")
                raw = written(dialect, type_, header._replace(reply_to=question.id))
                receipt = run_sync(
                    agent.bus.send(raw, sender=agent.name, to=to, id=id_, reply_to=question.id, check=False)
                )
                self.witness.sent(self.now, agent.name, to, raw, receipt)
                return

    def reply(self, agent: SimAgent) -> None:
        """Reply to a message and ack it in one transaction, or try to under a lease of before."""
        if not agent.held and not agent.past:
            return
        lease = self.random.choice([*agent.held, *agent.past[-2:]])
        id_, to, raw, answer = self.clock.new_id(), lease.message.sender, b"Done.", None
        with suppress(LeaseLost):
            sending = agent.bus.send(raw, sender=agent.name, to=to, id=id_, ack=lease.token, check=False)
            receipt = run_sync(sending)
            self.witness.sent(self.now, agent.name, to, raw, receipt)
            if not receipt.accepted:
                return  # the lease stays as it is
            answer = True
        self.witness.settled(self.now, agent.name, lease, "acks", answer)
        if answer is None:
            self._check_not_stored(agent, id_)
        if lease in agent.held:
            agent.held.remove(lease)
            agent.past.append(lease)

    def _check_not_stored(self, agent: SimAgent, id_: str) -> None:
        with suppress(NotFound):
            run_sync(agent.bus.why(id_))
            self.witness.wrong(f"{id_} of {agent.name} was stored under a lease that was lost")

    def ask(self, agent: SimAgent) -> None:
        """Send a request and wait for the answer while other agents act."""
        sim_message = self._draw_message(agent, asking=True)
        if sim_message is None:
            return
        self.witness.note(self.now, f"{agent.name} asks {sim_message.to} {sim_message.id} and waits")
        request = agent.bus.request(
            sim_message.raw, sender=agent.name, to=sim_message.to, id=sim_message.id, timeout=1.5
        )
        answer = None
        try:
            with _waiting(agent), suppress(RequestFailed, RequestTimedOut):
                answer = run_sync(request)
        except Refused as error:
            self.witness.sent(self.now, agent.name, sim_message.to, sim_message.raw, error.receipt)
            return
        stories = run_sync(agent.bus.why(sim_message.id))
        inboxes = tuple(delivery.inbox for story in stories for delivery in story.deliveries)
        receipt = Receipt(True, sim_message.id, "stored", inboxes)
        self.witness.sent(self.now, agent.name, sim_message.to, sim_message.raw, receipt)
        if answer is not None:
            self.witness.offered(self.now, agent.name, answer, picked=True)
            agent.held.append(answer)

    # --- receives ---------------------------------------------------------------------------------------------------

    def receive(self, agent: SimAgent) -> list[LeasedMessage]:
        lease, wait = self.random.choice(LEASES_SECONDS), self.random.choice(WAITS_SECONDS)
        return self._receive(agent, self.random.randint(1, 3), lease, wait)

    def _receive(
        self, agent: SimAgent, limit: int, lease: float | None = None, wait: float = 0.0
    ) -> list[LeasedMessage]:
        with _waiting(agent):
            taken = run_sync(agent.bus.receive(agent.name, limit=limit, lease=lease, wait=wait))
        for leased in taken:
            self.witness.offered(self.now, agent.name, leased)
        agent.held += taken
        return taken

    def ack(self, agent: SimAgent) -> None:
        """Ack a leased message, whether or not the lease has expired."""
        if agent.held:
            lease = agent.held.pop(self.random.randrange(len(agent.held)))
            self._ack(agent, lease)
            agent.past.append(lease)

    def _ack(self, agent: SimAgent, lease: LeasedMessage) -> None:
        self._settle(agent, lease, "acks", lambda: run_sync(agent.bus.ack(lease.token, agent=agent.name)))

    def _settle(self, agent: SimAgent, lease: LeasedMessage, how: str, verb: Callable[[], object]) -> None:
        answer = None
        with suppress(LeaseLost):
            answer = verb()
        self.witness.settled(self.now, agent.name, lease, how, answer)

    def nack(self, agent: SimAgent) -> None:
        if agent.held:
            lease, delay = agent.held.pop(), self.random.choice([None, None, 0.0, 30.0])
            nack = agent.bus.nack(lease.token, agent=agent.name, reason="no", delay=delay)
            self._settle(agent, lease, "nacks", lambda: run_sync(nack).state)
            agent.past.append(lease)

    def extend(self, agent: SimAgent) -> None:
        if agent.held:
            lease = self.random.choice(agent.held)
            self._settle(agent, lease, "extends", lambda: run_sync(agent.bus.extend(lease.token, agent=agent.name)))

    def crash(self, agent: SimAgent) -> None:
        """Forget all leases; a late ack may still arrive."""
        self.witness.note(self.now, f"{agent.name} crashes with {len(agent.held)} in hand")
        agent.past += agent.held
        agent.held = []

    def come_late(self, agent: SimAgent) -> None:
        """Settle a lease that was settled or lost before."""
        if agent.past:
            self._ack(agent, self.random.choice(agent.past[-8:]))

    # --- wakes ------------------------------------------------------------------------------------------------------

    def wake(self, agent: SimAgent) -> None:
        """Update the wake of an agent from any process, and deliver it when it is due; some deliveries fail."""
        other, mark = self.random.choice(self.agents), self.random.choice([0, 0, agent.announced])
        way = self.random.choice([None, "socket", "keys"])
        force = self.random.random() < 0.1
        wake = run_sync(agent.bus.wake(other.name, by=agent.name, announced=mark, way=way, force=force))
        self.witness.woken(self.now, wake, way)
        if wake.claimed and self.random.random() < 0.2:
            failed = run_sync(agent.bus.wake(other.name, by=agent.name, announced=mark, way=way, failed="no answer"))
            self.witness.woken(self.now, failed, None)
        elif wake.claimed:
            other.announced = wake.newest

    def look(self, agent: SimAgent) -> None:
        """Read a waiting message without leasing it."""
        for _, message in run_sync(agent.bus.inbox(agent.name, limit=1)):
            run_sync(agent.bus.read(message.id, agent=agent.name))
            self.witness.note(self.now, f"{agent.name} looks at {message.id}")

    # --- the team ---------------------------------------------------------------------------------------------------

    def sweep(self, agent: SimAgent) -> None:
        run_sync(agent.bus.sweep())

    def leave(self, agent: SimAgent) -> None:
        withdrawn = run_sync(agent.bus.leave(agent.name))
        self.witness.note(self.now, f"{agent.name} leaves, {withdrawn} withdrawn")
        agent.here = False
        agent.past += agent.held
        agent.held = []

    def join(self, agent: SimAgent) -> None:
        if self.random.random() < 0.3:
            joined = run_sync(agent.bus.join(agent.name, role=agent.role))
            self.witness.note(self.now, f"{agent.name} joins again: {joined}")
            agent.here = True

    def dig(self, agent: SimAgent) -> None:
        """Retry or drop dead letters, as a human would."""
        for _, message in run_sync(agent.bus.dead_letters(limit=2)):
            again = self.random.random() < 0.7
            try:
                count = run_sync(
                    agent.bus.retry(message.id) if again else agent.bus.drop(message.id, reason="no longer wanted")
                )
            except NotFound:
                continue
            self.witness.note(self.now, f"{count} of {message.id} {'retried' if again else 'dropped'} by hand")

    # --- the end ----------------------------------------------------------------------------------------------------

    def rest(self, rounds: int) -> None:
        """All agents receive and ack until nothing is left."""
        self.witness.note(self.now, "the team comes to rest")
        self.clock.meanwhile = None
        for agent in self.agents:
            agent.held = []
        for _ in range(rounds):
            self.clock.leap(400.0)  # longer than any lease, backoff or deadline
            for agent in self.agents:
                run_sync(agent.bus.sweep())
                while agent.here and (taken := self._receive(agent, 100)):
                    for lease in taken:
                        self._ack(agent, lease)
                        agent.past.append(lease)

    def readers(self) -> set[str]:
        """Inboxes that have a reader."""
        return {inbox for agent in self.agents if agent.here for inbox in (agent.name, f"role:{agent.role}")}


@contextmanager
def _waiting(agent: SimAgent) -> Iterator[None]:
    agent.waits = True
    try:
        yield
    finally:
        agent.waits = False
