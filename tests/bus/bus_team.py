"""What the tests of the bus's promises share: a team on a real store whose clock stands still, and what it may say.

Nobody waits: time passes when a test says so, or when somebody sleeps for a message. `team.other()` is another process
on the same file, as far as the store can tell.
"""

import copy
import json
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

import pytest

from telex.client import SyncBus
from telex.clock import SteadyClock
from telex.config import Settings
from telex.connection import connect
from telex.dialects.registry import BUILT_IN
from telex.dialects.schema import ANY, Dialect, MessageType, Tree
from telex.dialects.write import write
from telex.errors import NotAMember
from telex.model.finding import Finding
from telex.model.message import LeasedMessage
from telex.ports.bus import MessageHistory, Receipt
from telex.ports.store import Query
from telex.surfaces.cli.main import main
from telex.testing import FakeClock
from telex.validation.authorization import normalised
from tests.cli.cli_kit import Ran

QUICK = Settings(durable=False)  # nobody pulls the plug here, and a promise is tested hundreds of times
NOTE = "The build is red."


class Speech(NamedTuple):
    """A message that passes, and who may send it."""

    dialect: Dialect
    type: MessageType
    sender: str
    tree: Tree
    raw: bytes


def speech(dialect: Dialect, type_: MessageType, id: str | None = None, **changes: Any) -> Speech:
    """The type's own example, under an id of its own where the dialect has ids, with some top fields changed."""
    tree = copy.deepcopy(type_.example)
    if dialect.wire.id is not None:
        tree[dialect.wire.id] = id or f"{dialect.name}-{type_.name}"
    tree |= changes
    claimed = tree.get(dialect.wire.sender or "")
    anybody = dialect.roles[0] if type_.senders == ANY else type_.senders[0]
    sender = normalised(claimed) if claimed else anybody
    return Speech(dialect, type_, sender, tree, write(dialect, tree, type_.body_example).encode())


def speech_of(dialect: str, type_: str, id: str | None = None, **changes: Any) -> Speech:
    found = next(one for one in BUILT_IN if one.name == dialect)
    return speech(found, found.types[type_], id, **changes)


def flow(type_: str, id: str, sender: str, to: str, task: str = "TASK-001", **changes: Any) -> bytes:
    """A build-flow message about a task."""
    made = speech_of("build-flow", type_, id, **{"from": sender, "to": to, "correlationId": task} | changes)
    if "taskId" in made.tree["payload"]:
        made.tree["payload"]["taskId"] = task
    if "escalationType" in made.tree["payload"] and to == "human":
        made.tree["payload"]["escalationType"] = "HUMAN"
    return write(made.dialect, made.tree, "").encode()


EVERY_TYPE = [(dialect, type_) for dialect in BUILT_IN for type_ in dialect.types.values()]


def each(types: list[tuple[Dialect, MessageType]]) -> pytest.MarkDecorator:
    """A case for each of these types."""
    names = [f"{dialect.name} {type_.name}" for dialect, type_ in types]
    return pytest.mark.parametrize("dialect, type_", types, ids=names)


every_type = each(EVERY_TYPE)
every_dialect = pytest.mark.parametrize("dialect", BUILT_IN, ids=lambda one: one.name)


class Team:
    """A bus on a store of its own. Its verbs are those of the bus; what is said often is shorter here."""

    def __init__(self, path: Path, settings: Settings, stack: ExitStack) -> None:
        self.path, self.settings, self.clock, self._stack = path, settings, FakeClock(), stack
        self.bus = self.other()

    def other(self, settings: Settings | None = None) -> SyncBus:
        """The bus as another process has it: its own connection, the same file, the same time of day."""
        settings = settings or self.settings
        return self._stack.enter_context(connect(self.path, settings=settings, clock=self.wall_clock()))

    def wall_clock(self) -> SteadyClock:
        def sleep(seconds: float) -> None:
            self.clock.leap(seconds)
            if self.clock.meanwhile is not None:
                self.clock.meanwhile()

        return SteadyClock(self.clock.now, self.clock.now, sleep)

    def later(self, seconds: float) -> None:
        """Let time pass, and let somebody look at what it brought."""
        self.clock.leap(seconds)
        self.bus.sweep()

    def say(self, speech: Speech, to: str, **more: Any) -> Receipt:
        receipt = self.bus.send(speech.raw, sender=speech.sender, to=to, **more)
        assert receipt.accepted, receipt.findings
        return receipt

    def note(self, text: str = NOTE, sender: str = "dev", to: str = "lead", **more: Any) -> str:
        """Send plain text, which must be kept. Its id."""
        receipt = self.bus.send(text, sender=sender, to=to, **more)
        assert receipt.accepted, receipt.findings
        return receipt.id

    def take(self, agent: str = "lead", **more: Any) -> LeasedMessage:
        [leased] = self.bus.receive(agent, **more)
        return leased

    def taken(self, agent: str = "lead", **more: Any) -> list[str]:
        """Take and ack all there is. The ids, in the order in which they came."""
        leases = self.bus.receive(agent, limit=1000, **more)
        assert all(self.bus.ack(lease.token, agent=agent) for lease in leases)
        return [lease.message.id for lease in leases]

    def fail(self, agent: str = "lead", reason: str = "no table") -> None:
        """Take the next message and give it back, which must be the last time."""
        while self.bus.nack(self.take(agent, wait=60.0).token, agent=agent, reason=reason).state != "dead":
            pass

    def story(self, id: str) -> MessageHistory:
        [story] = self.bus.why(id)
        return story

    def kinds(self, id: str) -> list[str]:
        """What happened to a message, in order."""
        return [event.kind for event in self.story(id).events]

    def happened(self, *kinds: str) -> list[dict[str, Any]]:
        """The details of every event of these kinds, with its message's id."""
        found = self.bus.events(Query(kinds=kinds))
        return [
            json.loads(event.detail or "{}") | {"kind": event.kind, "id": message.id if message else None}
            for event, message in found
        ]

    def inbox(self, agent: str) -> list[str]:
        return [message.id for _, message in self.bus.inbox(agent)]


def join_refused(bus: Any, name: str, **how: Any) -> Finding:
    """The finding of a join that must fail."""
    with pytest.raises(NotAMember) as refused:
        bus.join(name, **how)
    assert refused.value.finding is not None
    assert refused.value.finding.code == refused.value.code
    return refused.value.finding


def codes(findings: tuple[Finding, ...]) -> list[str]:
    """Those of the refusals."""
    return [finding.code for finding in findings if finding.severity == "refusal"]


OpenTeam = Callable[..., Team]
Shell = Callable[..., Ran]


@cache
def empty_store() -> bytes:
    """A store in which nothing has happened. Making one takes longer than most tests."""
    with TemporaryDirectory(prefix="telex-empty-") as folder:
        path = Path(folder, "empty.db")
        with connect(path, settings=QUICK):
            pass
        return path.read_bytes()


@pytest.fixture
def open_team(tmp_path: Path) -> Iterator[OpenTeam]:
    """`open_team(strict=False)`: a team with these settings. Limits are given by name: `open_team(inbox_max=3)`."""
    (tmp_path / "team.db").write_bytes(empty_store())
    with ExitStack() as stack:

        def opened(**given: Any) -> Team:
            limits = {name: given.pop(name) for name in tuple(given) if name in QUICK.limits._fields}
            settings = QUICK._replace(limits=QUICK.limits._replace(**limits), **given)
            return Team(tmp_path / "team.db", settings, stack)

        yield opened


# What means nothing without what came before it, and what may go to one role only.
HISTORY = frozenset({"answer", "stopped", "commit", "move", "escalate"})


@pytest.fixture
def team(open_team: OpenTeam, request: pytest.FixtureRequest) -> Team:
    """The default team: nothing was set up.

    A test of every type says something about delivery. The few that would be refused for what did not come before them
    are said in a team without rules of the work; what those rules are is tested in places of their own.
    """
    callspec = getattr(request.node, "callspec", None)
    type_ = callspec.params.get("type_") if callspec is not None else None
    return open_team(work_rules=not isinstance(type_, MessageType) or type_.action not in HISTORY)


@pytest.fixture
def shell(team: Team, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Shell:
    """`shell("why", "n-1")`: the command line on the team's own store, at the team's own time of day."""
    monkeypatch.setattr("telex.connection.SteadyClock", team.wall_clock)
    monkeypatch.setattr("time.time", team.clock.now)
    monkeypatch.chdir(team.path.parent)
    return lambda *args: Ran(main([*args, "--store", str(team.path)]), *capsys.readouterr())
