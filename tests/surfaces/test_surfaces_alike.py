"""Is every word the same at every door? One story is played at each, at the same time of day, and held side by side."""

import asyncio
import json
import re
import subprocess
import sys
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import httpx2
import pytest
from mcp import Client

from telex.errors import TelexError
from telex.ports.bus import Bus
from telex.ports.store import Query
from telex.protocol import plain
from telex.protocol.verbs import VERBS, work_state_kinds
from tests.bus.bus_team import speech_of
from tests.proofs import proves
from tests.surfaces.surfaces_kit import Door, Time, opened, running_hub
from tests.work.contract_team import ask, contract, report

ULID = re.compile(r"\b[0-7][0-9A-HJKMNP-TV-Z]{25}\b")  # given by Telex, and never the same twice
DIGEST = re.compile(r'(?<="digest": ")[0-9a-f]+')  # of what may have such an id in it
Step = tuple[str, Callable[[Any], Any]]
CONTRACT, ASK, REPORT = contract("P", tasks=["T1"]), ask(), report(files=["docs/a.md"])
VERDICT = json.dumps(speech_of("vbw-typed", "qa_verdict", "v-1").tree | {"confidence": "hihg"})
ESCALATION = speech_of("vbw-company", "escalation", **{"from": "dev", "to": "senior"}).raw
ODD = 'half \\ud800 \u2028 \x85 \x1b[31m "quoted" \U0001f600'


def first_token(bus: Any, agent: str, **more: Any) -> str:
    return str(bus.receive(agent, **more)[0].token)


# What every door can do; then what takes more than eight tools.
STORY: tuple[Step, ...] = (
    ("join", lambda bus: bus.join("ada", role="dev", dialects=["signal-md", "plain"])),
    ("join refused", lambda bus: bus.join("bob", role="wizard")),
    ("join a version", lambda bus: bus.join("ada", role="dev", dialects=["build-flow@9"])),
    ("send", lambda bus: bus.send("The build is red.", sender="dev", to="lead", id="n-1", correlation="c-1")),
    ("send odd", lambda bus: bus.send(ODD, sender="dev", to="lead", id="n-2")),
    ("send again", lambda bus: bus.send("The build is red.", sender="dev", to="lead", id="n-1", correlation="c-1")),
    ("send other words", lambda bus: bus.send("The build is green.", sender="dev", to="lead", id="n-1", check=False)),
    ("send to nobody", lambda bus: bus.send("Hello?", sender="dev", to="laed", id="n-3", check=False)),
    ("send as a stranger", lambda bus: bus.send("Hello?", sender="xyzzy", to="lead", id="n-4")),
    ("send nothing", lambda bus: bus.send("", sender="dev", to="lead", id="n-5", check=False)),
    ("send under no id", lambda bus: bus.send("x", sender="dev", to="lead", id="a\nb", check=False)),
    ("send a verdict", lambda bus: bus.send(VERDICT, sender="qa", to="lead", check=False)),
    ("send as another", lambda bus: bus.send(VERDICT, sender="dev", to="lead", check=False)),
    ("agree", lambda bus: bus.send(json.dumps(CONTRACT), sender="lead", to="dev")),
    ("report", lambda bus: bus.send(json.dumps(REPORT), sender="dev", to="lead", check=False)),
    ("guard", lambda bus: bus.guard(["src/a.py", "docs/a.md", ".env", "../x", "ä"], agent="dev")),
    ("guard unknown", lambda bus: bus.guard(["src/a.py"], agent="xyzzy")),
    ("ask", lambda bus: bus.send(json.dumps(ASK), sender="dev", to="lead")),
    ("translated", lambda bus: bus.send(json.dumps(CONTRACT | {"id": "p-2"}), sender="lead", to="ada")),
    ("receive translated", lambda bus: bus.receive("ada", limit=5)),
    ("receive", lambda bus: bus.receive("lead", limit=2)),
    ("ack", lambda bus: bus.ack("196608.1", agent="lead")),
    ("ack nonsense", lambda bus: bus.ack("x.y", agent="lead")),
    ("why", lambda bus: bus.why("n-1")),
    ("why nothing", lambda bus: bus.why("no-such")),
    ("roster", lambda bus: bus.roster()),
)  # fmt: skip
MORE: tuple[Step, ...] = (
    ("inbox", lambda bus: bus.inbox("lead")),
    ("read", lambda bus: bus.read("n-2", agent="lead")),
    ("read nothing", lambda bus: bus.read("n-99", agent="lead")),
    ("rendering", lambda bus: bus.rendering(bus.why("p-2")[0].message, agent="ada")),
    ("nack", lambda bus: bus.nack(first_token(bus, "lead"), agent="lead", reason="no table\n", delay=0.0)),
    ("extend", lambda bus: bus.extend(first_token(bus, "lead"), agent="lead", seconds=90.0)),
    ("request refused", lambda bus: bus.request("x", sender="dev", to="laed", id="q-1", timeout=1.0)),
    ("approve nothing", lambda bus: bus.approve("no-such", approved=True, reason="x")),
    ("approve as nobody", lambda bus: bus.approve(ASK["id"], approved=True, reason="x", agent="qa", check=False)),
    ("approve", lambda bus: bus.approve(ASK["id"], approved=True, reason="go on", agent="lead", conditions=["mind"])),
    ("escalate", lambda bus: bus.send(ESCALATION, sender="dev", to="senior", id="e-1")),
    ("escalations", lambda bus: bus.escalations()),
    ("stall", lambda bus: bus.stall()),
    ("search", lambda bus: bus.search("build red")),
    ("trace", lambda bus: bus.trace("c-1")),
    ("conversations", lambda bus: bus.conversations()),
    ("states", lambda bus: bus.states([3, 4, 5, -(2**63), 2**60])),
    ("settled", lambda bus: bus.settled("n-1", sender="dev", until="leased", timeout=5.0)),
    *((f"work_state {kind}", lambda bus, kind=kind: bus.work_state(kind)) for kind in work_state_kinds()),
    ("work_state of nothing", lambda bus: bus.work_state("nothing")),
    ("wake", lambda bus: bus.wake("lead", by="human", way="keys", force=True)),
    ("wake of nobody", lambda bus: bus.wake("a:b", announced=3)),
    ("drop nothing", lambda bus: bus.drop("n-1", reason="x")),
    ("retry nothing", lambda bus: bus.retry("n-1")),
    ("dead letters", lambda bus: bus.dead_letters()),
    ("import", lambda bus: bus.import_messages([])),
    ("sweep", lambda bus: bus.sweep()),
    ("leave", lambda bus: bus.leave("ada")),
    ("shut down as nobody", lambda bus: bus.shut_down(agent="xyzzy", reason="x", deadline=1.0)),
    ("shut down for no reason", lambda bus: bus.shut_down(agent="lead", reason="x", deadline=5.0, wait=False)),
    ("shut down", lambda bus: bus.shut_down(agent="lead", reason="phase_complete", deadline=5.0, wait=False)),
    ("events of one kind", lambda bus: list(bus.events(Query(kinds=("refused", "acked"), agent="dev")))),
    ("newest event", lambda bus: next(iter(bus.events(Query(newest_first=True))))),
    ("events", lambda bus: list(bus.events())),
)  # fmt: skip


def told(door: Door, story: tuple[Step, ...]) -> list[tuple[str, str]]:
    """What the bus says to each step, as JSON: the door must not change a letter of it."""
    found = ((name, json.dumps(_said(door.bus, step), indent=1)) for name, step in story)
    return [(name, DIGEST.sub("DIGEST", ULID.sub("ULID", text))) for name, text in found]


def _said(bus: Any, step: Callable[[Any], Any]) -> Any:
    try:
        return plain(step(bus))
    except TelexError as error:
        return {"raised": type(error).__name__, "code": error.code, "say": error.say}


@proves("surfaces/same-text")
@pytest.mark.parametrize("other, story", [("http", (*STORY, *MORE)), ("mcp", STORY)], ids=["http", "mcp"])
def test_a_whole_story_is_told_in_the_same_words(other: str, story: tuple[Step, ...], tmp_path: Path) -> None:
    with ExitStack() as stack:
        here = told(opened("local", tmp_path, stack, still=True), story)
        there = told(opened(other, tmp_path, stack, still=True), story)
    for (name, expected), (_, found) in zip(here, there, strict=True):
        assert found == expected, name


def test_the_story_asks_for_every_verb() -> None:
    text = Path(__file__).read_text(encoding="utf-8")
    assert {name for name in VERBS if f"bus.{name}(" in text} == set(VERBS)
    assert {name for name in vars(Bus) if not name.startswith("_")} == {*VERBS, "agent", "close", "policy"}


@proves("surfaces/check")
@pytest.mark.parametrize(
    "raw, sender, to",
    [
        (VERDICT, "qa", "lead"),
        (VERDICT, "dev", "lead"),
        (json.dumps(REPORT), "dev", "lead"),
        (ESCALATION.decode(), "dev", "qa"),
        ("The build is red.", "dev", "lead"),
        ("```json\n{'type': 'qa_verdct',}\n```", "qa", "lead"),
        ("", "dev", "lead"),
    ],
)
def test_a_check_finds_the_same_on_the_command_line_over_http_and_by_its_tool(
    raw: str, sender: str, to: str, tmp_path: Path
) -> None:
    command = [sys.executable, "-m", "telex", "check", "--json", "--role", sender, "--to", to, "-"]
    line = subprocess.run(command, input=raw, capture_output=True, encoding="utf-8", cwd=tmp_path).stdout
    with running_hub(tmp_path / "hub.db", Time()) as hub, httpx2.Client(base_url=hub.url) as client:
        over_http = client.post("/check", params={"sender": sender, "to": to}, content=raw.encode()).json()

        async def by_tool() -> Any:
            async with Client(f"{hub.url}/mcp?as={sender}&structured=1") as agent:
                return (await agent.call_tool("check", {"message": raw, "to": to})).structured_content

        with_the_tool = asyncio.run(by_tool())
    expected = {name: value for name, value in json.loads(line).items() if name in over_http}
    assert over_http == expected
    assert {name: with_the_tool[name] for name in over_http} == expected
