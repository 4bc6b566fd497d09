"""Does a coding agent get by with the tools alone? On every transport and in both eras of the protocol."""

import asyncio
import re
from collections.abc import Callable
from pathlib import Path

import pytest

from telex.connection import connect
from telex.generate.prompt import tokens_estimated
from telex.surfaces.mcp.tools import TOOLS
from tests.cli.cli_kit import LACKING, PROGRESS
from tests.mcp.mcp_kit import DOORS, ERAS, NEW, OLD, QUICK, Agent, anyio_backend, at_hand, on_stdio, tokens_of
from tests.proofs import proves

__all__ = ["anyio_backend"]  # a fixture
pytestmark = pytest.mark.anyio

CASES = [
    pytest.param(door, era, id=f"{door}-{era}", marks=proves(f"mcp/story/{door.replace(' ', '-')}"))
    for door in DOORS
    for era in ERAS
]


@pytest.mark.parametrize("door, era", CASES)
async def test_a_message_is_sent_refused_fixed_delivered_acked_and_told(door: str, era: str, tmp_path: Path) -> None:
    async with DOORS[door](tmp_path, era) as meet:
        dev, lead = await meet("dev"), await meet("lead")
        is_old = dev.client.protocol_version == "2025-11-25"
        assert is_old == (era == OLD)
        refused = await dev.send(message=LACKING, to="lead")
        assert not refused.tree["accepted"]
        assert [one["code"] for one in refused.tree["findings"]] == ["field-missing"]
        fixed = refused.text.splitlines()[-1].replace("<fill: text>", "1-1")
        waiting = asyncio.create_task(lead.take(seconds=30))
        kept = await dev.send(message=fixed, to="lead", id="p-1")
        assert (kept.tree["accepted"], kept.tree["id"], kept.tree["to"]) == (True, "p-1", ["lead"])
        leased = await waiting
        assert leased["message"]["id"] == "p-1"
        assert (await lead.ack(token=leased["token"])).tree == {"answer": True}
        told = await dev.why(id="p-1")
        assert told.tree["answer"][0]["state"] == "acked"
        assert "acked" in told.text
        assert (await lead.inbox()).text == "nothing waits for lead"


@pytest.mark.parametrize("door", list(DOORS))
@proves("mcp/text-only")
async def test_an_answer_is_text_and_nothing_else_unless_more_is_asked_for(door: str, tmp_path: Path) -> None:
    async with DOORS[door](tmp_path, NEW, structured=False) as meet:
        dev, lead = await meet("dev"), await meet("lead")
        refused, kept = await dev.send(message=LACKING, to="lead"), await dev.send(message="It is red.", to="lead")
        looked, taken, failed = await lead.inbox(), await lead.wait(seconds=5), await lead.why(id="n-404")
        for said in (refused, kept, looked, taken, failed, await dev.team()):
            assert said.text
            assert not said.tree


@pytest.mark.parametrize("door", list(DOORS))
@proves("mcp/wait/shared")
async def test_of_two_who_wait_at_once_each_message_goes_to_one(door: str, tmp_path: Path) -> None:
    async with DOORS[door](tmp_path, NEW) as meet:
        lead = await meet("lead")
        devs = [await meet(name, role="dev") for name in ("anna", "ben")]
        for dev in devs:
            await dev.team(join=True)
        waiting = [asyncio.create_task(dev.take(seconds=30)) for dev in devs]
        for number in range(2):
            assert (await lead.send(message=f"Job {number}", to="role:dev", id=f"job-{number}")).tree["accepted"]
        got = [leased["message"]["id"] for leased in await asyncio.gather(*waiting)]
        assert sorted(got) == ["job-0", "job-1"]


# --- the listing ---------------------------------------------------------------------------------------------------


async def listing(agent: Agent) -> list[dict]:
    found = await agent.client.list_tools()
    return [tool.model_dump(by_alias=True, exclude_none=True, mode="json") for tool in found.tools]


@proves("mcp/listing/eight-tools")
async def test_the_tools_are_few_and_told_in_few_words(
    tmp_path: Path, record_property: Callable[[str, object], None]
) -> None:
    async with at_hand(tmp_path) as meet:
        tools = await listing(await meet("dev"))
        assert [tool["name"] for tool in tools] == list(TOOLS)
        assert len(tools) <= 8
        tokens = tokens_estimated(tokens_of(tools))
        record_property("mcp listing", f"{tokens} tokens")
        assert tokens <= 900


@proves("mcp/tokens")
async def test_results_are_short(tmp_path: Path) -> None:
    async with on_stdio(tmp_path, NEW, structured=False) as meet:
        dev, lead = await meet("dev"), await meet("lead")
        blocker = {"type": "dev_blocker", "task": "1-1"}
        refused, kept = await dev.send(message=blocker, to="lead"), await dev.send(message="It is red.", to="lead")
        taken, empty = await lead.wait(seconds=30), await dev.wait(seconds=0)
        assert refused.text.count("field-missing") == 3
        sizes = [tokens_estimated(said.text) for said in (refused, kept, empty, taken)]
        body = tokens_estimated("It is red.")
        assert [size <= most for size, most in zip(sizes, (120, 40, 30, 150 + body), strict=True)] == [True] * 4, sizes


@proves("mcp/listing/page")
def test_the_page_tells_the_size_of_the_listing_and_every_tool_with_all_it_takes(tmp_path: Path) -> None:
    page = (Path(__file__).parents[2] / "docs/mcp.md").read_text(encoding="utf-8")

    async def play() -> None:
        async with at_hand(tmp_path) as meet:
            tokens = tokens_estimated(tokens_of(await listing(await meet("dev"))))
            assert f"takes {tokens} tokens" in page

    asyncio.run(play())
    told = re.findall(r"^\| `(\w+)` \| (.+?) \|", page, flags=re.MULTILINE)
    assert {name: re.findall(r"`(\w+)`", takes) for name, takes in told} == {
        name: list(tool.takes) for name, tool in TOOLS.items()
    }


def happened(folder: Path) -> list[int]:
    with connect(folder / "team.db", settings=QUICK) as bus:
        return [event.seq for event, _ in bus.events()]


@proves("mcp/listing/hints")
async def test_a_tool_says_truly_whether_it_changes_anything(tmp_path: Path) -> None:
    async with at_hand(tmp_path) as meet:
        dev = await meet("dev")
        hints = {tool["name"]: tool["annotations"] for tool in await listing(dev)}
        looking = {name for name, hint in hints.items() if hint.get("readOnlyHint")}
        assert looking == {"check", "why", "guard"}
        assert all(hint["destructiveHint"] is False for name, hint in hints.items() if name not in looking)
        assert {hint["openWorldHint"] for hint in hints.values()} == {False}
        await dev.send(message="It is red.", to="lead", id="n-1")
        before = happened(tmp_path)
        await dev.check(message=PROGRESS, to="lead")
        await dev.guard(paths=["src/a.py"])
        await dev.why(id="n-1")
        assert happened(tmp_path) == before
