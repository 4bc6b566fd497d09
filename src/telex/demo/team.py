"""Values of the demo's story: scenes and events, one line each."""

import os
import shutil
import subprocess
import time
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Literal, NamedTuple

from telex.client import SyncBus
from telex.clock import SteadyClock
from telex.delivery.system_messages import format_timestamp
from telex.errors import StoreUnavailable
from telex.messages import vbw_typed
from telex.model.contracts import PathVerdict
from telex.model.finding import Finding, refusals
from telex.model.message import Message
from telex.ports.bus import Receipt

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
    """Something happened."""

    at: float  # seconds of the story
    sign: Sign
    who: str
    whom: str | None  # None: nothing was sent
    what: str
    why: tuple[Finding, ...] = ()  # what the bus said to it
    id: str | None = None  # of the message


Happening = Scene | StoryEvent


def sign_of(receipt: Receipt, otherwise: Sign = "stored") -> Sign:
    if not receipt.accepted:
        return "refused"
    return "warned" if any(finding.severity == "warning" for finding in receipt.findings) else otherwise


def worth_telling(receipt: Receipt) -> tuple[Finding, ...]:
    """The refusals of what was refused; of what was stored, all that was said about the work."""
    return tuple(receipt.findings) if receipt.accepted else tuple(refusals(receipt.findings))


FOLDER, STORE = ".telex-demo", "telex.db"
MARK = "README.txt"
SAYS = "Created by `telex demo`, with its store {}, and created anew by the next run. You can delete it.\n"
LASTS_SECONDS = 1_740.0  # of the story; it ends a little before now


class StoryClock(SteadyClock):
    """Real time, advanced instead of waiting."""

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
        for beside, text in {MARK: SAYS.format(name), ".gitignore": "*\n"}.items():
            with open(os.path.join(folder, beside), "w", encoding="utf-8") as file:
                file.write(text)
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


class DemoProject:
    """Git repository of the demo's agents. Without git the demo runs with made-up commit hashes."""

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
            with open(path, "w", encoding="utf-8") as file:
                file.write(text)
        self._run("add", "--force", "--", *files)
        self._run("commit", "--quiet", "--no-verify", "--no-gpg-sign", f"--message={message}")
        return self._run("rev-parse", "--short=7", "HEAD") or f"{0xC0FFEE0 + self._count:07x}"

    def _run(self, *words: str) -> str:
        if self._git is None:
            return ""
        date = f"{self._clock.now():.0f} +0000"
        who = {"NAME": "Telex demo", "EMAIL": "demo@example.org", "DATE": date}
        identity = {f"GIT_{side}_{key}": value for side in ("AUTHOR", "COMMITTER") for key, value in who.items()}
        kept = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
        command = [self._git, "-c", f"core.hooksPath={os.devnull}", *words]
        done = subprocess.run(
            command, cwd=self._folder, env=kept | identity, capture_output=True, text=True, check=False, timeout=30
        )
        return done.stdout.strip() if done.returncode == 0 else ""


CAST: Mapping[str, str] = {  # name → role
    "lead": "lead",
    "architect": "architect",
    "senior": "senior",
    "dev": "dev",
    "dev-2": "dev",
    "qa": "qa",
    "docs": "docs",
    "human": "human",
}


class DemoTeam:
    def __init__(self, bus: SyncBus, clock: StoryClock, project: DemoProject) -> None:
        self.bus, self.clock, self.project = bus, clock, project
        self._told: set[str] = set()

    # --- send --------------------------------------------------------------------------------------------------------

    def typed(
        self, sender: str, to: str, id: str, type_: str, what: str, *, task: str = "1-1", **fields: Any
    ) -> StoryEvent:
        """A vbw-typed message, with its envelope."""
        envelope = {"id": id, "phase": 1, "task": task, "author_role": CAST[sender], "confidence": "high"}
        envelope["timestamp"] = format_timestamp(self.clock.now())
        made: dict[str, Any] = getattr(vbw_typed, type_)(**fields) | envelope
        return self.send(made, sender, to, what)

    def send(
        self, message: dict[str, Any] | str, sender: str, to: str, what: str, sign: Sign = "stored", **more: Any
    ) -> StoryEvent:
        receipt = self.bus.send(message, sender=sender, to=to, **more)
        return self.told(receipt, sender, to, what, sign)

    def told(self, receipt: Receipt, who: str, whom: str, what: str, sign: Sign = "stored") -> StoryEvent:
        whom = "all" if whom == "*" else whom
        why = self._news(worth_telling(receipt))
        return StoryEvent(self.clock.story, sign_of(receipt, sign), who, whom, what, why=why, id=receipt.id)

    def _news(self, findings: Iterable[Finding]) -> tuple[Finding, ...]:
        """Findings, with the text of repeated ones shortened and repeated notes left out."""
        news = []
        for finding in findings:
            if finding.say not in self._told:
                news.append(finding)
            elif finding.severity != "note":
                news.append(finding._replace(say="As before."))
        self._told |= {finding.say for finding in findings}
        return tuple(news)

    # --- receive -----------------------------------------------------------------------------------------------------

    def deal(self, *agents: str) -> list[Message]:
        """Receive and ack all messages of these agents."""
        dealt: list[Message] = []
        for agent in agents:
            for lease in self.bus.receive(agent, limit=100):
                self.bus.ack(lease.token, agent=agent)
                dealt.append(lease.message)
        return dealt

    def guard(self, agent: str, path: str) -> tuple[PathVerdict, StoryEvent]:
        [verdict] = self.bus.guard([path], agent=agent)
        if verdict.allowed:
            notes = tuple(
                Finding("approval-conditions", "$", f"{condition}.", "note") for condition in verdict.conditions
            )
            return verdict, self.look(agent, f"may I write {path}? Yes.", notes)
        why = Finding(verdict.code or "", "$", verdict.reason)
        return verdict, self.look(agent, f"may I write {path}? No.", (why,), sign="refused")

    def look(self, agent: str, what: str, why: Iterable[Finding] = (), sign: Sign = "looked") -> StoryEvent:
        return StoryEvent(self.clock.story, sign, agent, None, what, why=self._news(tuple(why)))
