"""Team of the demo: its folder, its clock, its git repository, and its agents, which use the bus like any other.

The demo has a folder of its own with a store and a small git repository, recreated on each run. A folder that the demo
did not create is left alone.
"""

import os
import shutil
import subprocess
import time
from collections.abc import Callable, Iterable, Mapping
from threading import Event
from typing import Any, Literal

from telex.client import SyncBus
from telex.clock import SteadyClock
from telex.demo.hands import Hands
from telex.dialects.scalars import format_timestamp
from telex.errors import StoreUnavailable
from telex.messages import class_of
from telex.model.contracts import PathVerdict
from telex.model.finding import Finding, refusals
from telex.model.named_tuple import NamedTuple
from telex.ports.bus import Raw, Receipt

FOLDER, STORE = ".telex-demo", "telex.db"
MARK = "README.txt"
SAYS = "Created by `telex demo`, with its store {}, and created anew by the next run. You can delete it.\n"
HOLD_SECONDS_MAX = 40.0  # of the story: less than a lease
LASTS_SECONDS = 1_740.0  # of the story; it ends a little before now
NAMES = ("lead", "architect", "senior", "dev", "dev-2", "qa", "docs", "human")
CAST: Mapping[str, str] = {name: name.removesuffix("-2") for name in NAMES}  # name → role
Sign = Literal["stored", "refused", "asked", "warned", "climbed", "stopped", "looked"]
SIGNS: dict[Sign, str] = {
    "stored": "stored and delivered",
    "refused": "refused, with findings",
    "asked": "asked; waits for an answer",
    "warned": "stored, with a warning",
    "climbed": "escalated one step further",
    "stopped": "shut down",
    "looked": "read only; nothing was sent",
}


class Scene(NamedTuple):
    title: str
    says: str  # what it shows, in a sentence


class StoryEvent(NamedTuple):
    at: float  # seconds of the story
    sign: Sign
    who: str
    whom: str | None  # None: nothing was sent
    what: str
    why: tuple[Finding, ...] = ()  # findings of the bus
    id: str | None = None  # of the message


Happening = Scene | StoryEvent


class StoryClock(SteadyClock):
    """Real time, advanced instead of waiting."""

    pace = 1.0
    escalation_seconds = 300.0  # of the story, until an escalation goes one step further
    visitor_seconds = 0.0  # real ones, in which a visitor may answer before the story goes on

    def __init__(self, real: Callable[[], float] = time.monotonic, wall: Callable[[], float] = time.time) -> None:
        self._passed, self._real, self._began = 0.0, real, real()
        self.begins_at = wall() - LASTS_SECONDS
        super().__init__(lambda: self.begins_at + self.story, lambda: self.story, self.later)

    @property
    def story(self) -> float:
        """Seconds since the story began."""
        return self._passed + self._real() - self._began

    def later(self, seconds: float) -> None:
        self._passed += seconds


class DemoEnded(Exception):
    """The demo is stopped while it waits."""


class WallClock(StoryClock):
    """Real time, with shorter waits: a second of it is `pace` seconds of the story."""

    def __init__(self, stop: Event, pace: float, *, escalation_seconds: float, visitor_seconds: float) -> None:
        self._stop, self.pace, self.visitor_seconds = stop, pace, visitor_seconds
        self.escalation_seconds = escalation_seconds * pace
        self._began = time.monotonic()
        SteadyClock.__init__(self, sleep=self._pause)

    @property
    def story(self) -> float:
        return (time.monotonic() - self._began) * self.pace

    def later(self, seconds: float) -> None:
        self._pause(seconds / self.pace)

    def _pause(self, seconds: float) -> None:
        if self._stop.wait(seconds):
            raise DemoEnded


def prepare(store: str | None) -> str:
    """Create the folder, or clear what an earlier demo left in it. Returns the path of the store.

    Raises:
        StoreUnavailable: the folder has other files.
    """
    path = os.path.join(FOLDER, STORE) if store is None else store.removeprefix("sqlite:")
    if ":" in os.path.basename(path):
        raise StoreUnavailable("the demo needs a file for its store: give one with --store.")
    if os.path.isdir(path):
        path = os.path.join(path, STORE)
    folder, name = os.path.dirname(path) or ".", os.path.basename(path)
    try:
        if os.path.exists(folder) and os.listdir(folder) and not _is_ours(folder, name):
            raise StoreUnavailable(f"{folder} is not empty: give the demo a folder of its own.")
        _clear(folder, name)
        os.makedirs(folder, exist_ok=True)
        for file, text in {MARK: SAYS.format(name), ".gitignore": "*\n"}.items():
            _write(os.path.join(folder, file), text)
    except OSError as error:
        raise StoreUnavailable(f"{folder} cannot be prepared: {error.strerror}.") from error
    return path


def _is_ours(folder: str, store: str) -> bool:
    try:
        with open(os.path.join(folder, MARK), encoding="utf-8", errors="replace") as file:
            return file.read(1_000) == SAYS.format(store)
    except OSError:
        return False


def _clear(folder: str, store: str) -> None:
    """Remove only what a demo creates."""
    for name in os.listdir(folder) if os.path.isdir(folder) else ():
        path = os.path.join(folder, name)
        if name in (".git", "src", "tests", "docs") and not os.path.islink(path):
            shutil.rmtree(path)
        elif name == store or name.startswith(f"{store}-"):
            os.remove(path)


def _write(path: str, text: str) -> None:
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)


class DemoProject:
    """Git repository of the demo's agents. Without git the demo runs with invented commit hashes."""

    def __init__(self, folder: str, clock: StoryClock) -> None:
        self._folder, self._clock, self._git = folder, clock, shutil.which("git")
        self._count = 0
        self._run("init", "--quiet", "--template=")

    def commit(self, message: str, files: Mapping[str, str]) -> str:
        """Returns the short hash."""
        self._count += 1
        for name, text in files.items():
            path = os.path.join(self._folder, *name.split("/"))
            os.makedirs(os.path.dirname(path), exist_ok=True)
            _write(path, text)
        self._run("add", "--force", "--", *files)
        self._run("commit", "--quiet", "--no-verify", "--no-gpg-sign", f"--message={message}")
        return self._run("rev-parse", "--short=7", "HEAD") or f"{0xC0FFEE0 + self._count:07x}"

    def _run(self, *words: str) -> str:
        if self._git is None:
            return ""
        who = {"NAME": "Telex demo", "EMAIL": "demo@example.org", "DATE": f"{self._clock.now():.0f} +0000"}
        identity = {f"GIT_{side}_{key}": value for side in ("AUTHOR", "COMMITTER") for key, value in who.items()}
        environment = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")} | identity
        command = [self._git, "-c", f"core.hooksPath={os.devnull}", *words]
        result = subprocess.run(
            command, cwd=self._folder, env=environment, capture_output=True, text=True, check=False, timeout=30
        )
        return result.stdout.strip() if result.returncode == 0 else ""


class DemoTeam:
    """The agents. Each action is a call of the bus, and its result a `StoryEvent`.

    Each round of an endless demo has a plan and message ids of its own. `after` is a pause before the action.
    """

    def __init__(
        self, bus: SyncBus, clock: StoryClock, project: DemoProject, number: int = 1, hands: Hands | None = None
    ) -> None:
        self.bus, self.clock, self.project, self.number = bus, clock, project, number
        self._hands = hands
        self.plan = f"{number}-1"
        self._shown: set[str] = set()  # texts of findings

    def task(self, number: int) -> str:
        return f"{self.plan}-T{number}"

    def id(self, name: str) -> str:
        return name if self.number == 1 else f"{name}.{self.number}"

    def commit(self, message: str, files: Mapping[str, str], *, after: float = 0.0) -> str:
        """Commit files; they differ in each round, otherwise there would be nothing to commit."""
        self.clock.later(after)
        end = "" if self.number == 1 else f"# {self.number}\n"
        return self.project.commit(message, {name: text + end for name, text in files.items()})

    def typed(
        self, sender: str, to: str, id: str, type_: str, what: str, *, task: str = "", after: float = 0.0, **fields: Any
    ) -> StoryEvent:
        """Send a vbw-typed message, with its envelope."""
        self.clock.later(after)
        fields |= {"phase": 1, "task": task or self.plan, "confidence": "high"}
        message = class_of("vbw-typed", type_)(timestamp=format_timestamp(self.clock.now()), **fields)
        return self.send(message, sender, to, what, id=id)

    def send(
        self,
        message: Raw,
        sender: str,
        to: str,
        what: str,
        sign: Sign = "stored",
        after: float = 0.0,
        **more: Any,
    ) -> StoryEvent:
        self.clock.later(after)
        more |= {name: self.id(more[name]) for name in ("id", "reply_to") if name in more}
        return self.answered(self.bus.send(message, sender=sender, to=to, check=False, **more), sender, to, what, sign)

    def answered(self, receipt: Receipt, who: str, whom: str, what: str, sign: Sign = "stored") -> StoryEvent:
        """The event of a send, with the refusals of a refused message or all findings of an accepted one."""
        findings = receipt.findings
        if not receipt.accepted:
            sign, findings = "refused", tuple(refusals(findings))
        elif any(finding.severity == "warning" for finding in findings):
            sign = "warned"
        whom = "all" if whom == "*" else whom
        return StoryEvent(self.clock.story, sign, who, whom, what, why=self._news(findings), id=receipt.id)

    def _news(self, findings: Iterable[Finding]) -> tuple[Finding, ...]:
        """Findings, with the text of repeated ones shortened and repeated notes left out."""
        news = []
        for finding in findings:
            if finding.say not in self._shown:
                news.append(finding)
            elif finding.severity != "note":
                news.append(finding._replace(say="As before."))
        self._shown |= {finding.say for finding in findings}
        return tuple(news)

    def ack_all(self, *agents: str, after: float = 0.0) -> None:
        """Receive all messages of these agents, hold them for the last part of `after`, and ack them."""
        held_seconds = min(after, HOLD_SECONDS_MAX)
        self.clock.later(after - held_seconds)
        if self._hands is not None:  # they lease and ack by themselves
            self.clock.later(held_seconds)
            return
        leases = [(agent, lease) for agent in agents for lease in self.bus.receive(agent, limit=100)]
        self.clock.later(held_seconds)
        for agent, lease in leases:
            self.bus.ack(lease.token, agent=agent)

    def rest(self) -> None:
        """From now on the agents lease messages only in a step of the story."""
        if self._hands is not None:
            self._hands.rest()
            self._hands = None

    def guard(self, agent: str, path: str, *, after: float = 0.0) -> tuple[PathVerdict, StoryEvent]:
        self.clock.later(after)
        [verdict] = self.bus.guard([path], agent=agent)
        if not verdict.allowed:
            refusal = Finding(verdict.code or "", "$", verdict.reason)
            return verdict, self.look(agent, f"may I write {path}? No.", (refusal,), sign="refused")
        notes = [Finding("approval-conditions", "$", f"{condition}.", "note") for condition in verdict.conditions]
        return verdict, self.look(agent, f"may I write {path}? Yes.", notes)

    def look(self, agent: str, what: str, why: Iterable[Finding] = (), sign: Sign = "looked") -> StoryEvent:
        return StoryEvent(self.clock.story, sign, agent, None, what, why=self._news(tuple(why)))
