"""One client in the lab: its home, its project with a store, its model session, and the ways to start it."""

import json
import subprocess
import sys
import time
from pathlib import Path
from typing import Any, NamedTuple

from tests.clients.lab.isolation import marks
from tests.clients.lab.model import ModelSession, ScriptedModel
from tests.clients.lab.programs import LabClient, LabHome, environment, search_path
from tests.clients.lab.tmux import TmuxPane, TmuxServer

TELEX = Path(sys.executable).parent / "telex"
COMMAND_SECONDS_MAX = 120
START_SECONDS_MAX = 60


class CommandResult(NamedTuple):
    code: int
    output: str
    seconds: float


class ClientRoom:
    """`agent` is the client's name on the bus, `lead` sends to it."""

    def __init__(
        self, client: LabClient, folder: Path, model: ScriptedModel, programs: Path, agent: str = "dev"
    ) -> None:
        self.client, self.agent, self.model = client, agent, model
        name = f"{folder.name}-{agent}"
        self.session: ModelSession = model.session(name)
        self.lab = LabHome(folder / "home", folder / "project", model.address(name), programs)
        self.lab.home.mkdir(parents=True, exist_ok=True)  # two clients of one person share it
        self.lab.project.mkdir(exist_ok=True)
        self.variables = environment(client, self.lab, search_path(programs, client, TELEX)) | marks()
        client.configure(self.lab)
        self.run("git", "init", "-q", ".")

    def run(
        self, *words: str, stdin: str = "", named: bool = False, seconds: float = COMMAND_SECONDS_MAX
    ) -> CommandResult:
        """A command in the project, in the client's environment. `named`: with the name of the agent in TELEX_AGENT."""
        began = time.monotonic()
        variables = self.variables | ({"TELEX_AGENT": self.agent} if named else {})
        try:
            done = subprocess.run(
                words, cwd=self.lab.project, env=variables, input=stdin, text=True, timeout=seconds, check=False,
                stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
            )  # fmt: skip
        except subprocess.TimeoutExpired as late:
            output = (late.stdout or b"").decode(errors="replace")  # bytes also in text mode
            return CommandResult(124, output, time.monotonic() - began)
        return CommandResult(done.returncode, done.stdout, time.monotonic() - began)

    def connect(self, *arguments: str) -> str:
        """Let `telex init` configure the client. Returns what it printed."""
        done = self.telex("init", self.client.name, *arguments)
        if done.code != 0:
            raise RuntimeError(f"telex init {self.client.name}: exit {done.code}\n{done.output}")
        return done.output

    def telex(self, *words: str, stdin: str = "") -> CommandResult:
        return self.run(str(TELEX), *words, stdin=stdin)

    def send(self, id: str, text: str, sender: str = "lead") -> None:
        done = self.telex("send", "--as", sender, "--to", self.agent, "--id", id, "-q", "-", stdin=text)
        if done.code != 0:
            raise RuntimeError(f"telex send: {done.output}")

    def state(self, id: str) -> str:
        """State of a message at its recipient: stored, leased, acked …"""
        tree = self.json("why", id, "--json")
        return str(tree[0].get("state")) if tree else "not found"

    def json(self, *words: str) -> list[Any]:
        lines = self.telex(*words).output.splitlines()
        return [json.loads(line) for line in lines if line.startswith(("{", "["))]

    def headless(self, prompt: str, *arguments: str) -> CommandResult:
        client = self.client
        result = self.run(client.name, *client.headless[:-1], *arguments, *client.headless[-1:], prompt, named=True)
        (self.model.logs / f"{self.session.name}.out").open("a").write(result.output)
        return result

    def run_in_pane(self, server: TmuxServer, *arguments: str) -> TmuxPane:
        """The client in a pane, started by `telex run` and ready for a prompt."""
        words = [str(TELEX), "run", self.client.name, "--as", self.agent, "--", *arguments]
        return self._ready(server, words, self.variables)

    def _ready(self, server: TmuxServer, words: list[str], variables: dict[str, str]) -> TmuxPane:
        client = self.client
        pane = server.open(self.session.name, words, self.lab.project, variables)
        for question, keys in client.agrees:
            if pane.wait(f"{question}|{client.ready}", START_SECONDS_MAX) and question in pane.screen():
                pane.type(keys)
        if not pane.wait(client.ready, START_SECONDS_MAX):
            raise RuntimeError(f"{client.title} does not take a prompt:\n{pane.screen()}")
        return pane
