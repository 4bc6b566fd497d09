"""What does each tool answer? Words that an agent can act on, and the same tree as at the other doors."""

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest
from mcp import MCPError

from telex.connection import connect
from telex.model.finding import Finding
from telex.ports.bus import MessageHistory, Presence, Receipt
from telex.protocol import made
from telex.surfaces.mcp import tool_calls
from telex.surfaces.mcp.tools import TOKENS_MIN
from tests.cli.cli_kit import LACKING, PROGRESS
from tests.mcp.mcp_kit import ERAS, QUICK, Meet, anyio_backend, meet, played
from tests.proofs import proves
from tests.work.contract_team import contract

__all__ = ["anyio_backend", "meet"]  # fixtures
pytestmark = pytest.mark.anyio

# --- refusals and errors -------------------------------------------------------------------------------------------


@proves("mcp/refusal/send")
async def test_a_refused_message_is_told_so_that_it_can_be_fixed_at_once(meet: Meet) -> None:
    dev = await meet("dev")
    said = await dev.send(message=PROGRESS | {"status": "complte"}, to="laed")
    receipt = made(Receipt, said.tree)
    assert not said.wrong  # the call did what it was asked to
    assert not receipt.accepted
    assert {"recipient-unknown", "not-one-of"} <= {one.code for one in receipt.findings}
    for finding in receipt.findings:
        assert finding.code in said.text
        assert finding.path in said.text
        assert finding.say in said.text
        assert not finding.nearest or finding.nearest in said.text
    assert receipt.fixed is not None
    assert json.loads(said.text.splitlines()[-1]) == json.loads(receipt.fixed)


@proves("mcp/refusal/check")
async def test_check_says_the_same_and_sends_nothing(meet: Meet) -> None:
    dev, lead = await meet("dev"), await meet("lead")
    said = await dev.check(message=LACKING, to="lead")
    assert not said.wrong
    assert not said.tree["valid"]
    assert [one["code"] for one in said.tree["findings"]] == ["field-missing"]
    assert "plan_id" in said.text
    passed = await dev.check(message=PROGRESS, to="lead")
    assert not passed.wrong
    assert passed.tree["valid"]
    foreign = await lead.check(message=PROGRESS, to="lead")
    assert "role-may-not-send" in {one["code"] for one in foreign.tree["findings"]}
    assert (await lead.inbox()).tree["messages"] == []


@pytest.mark.parametrize(
    "tool, arguments, paths",
    [
        ("send", {"mesage": "Hello", "to": "lead"}, ["$.mesage", "$.message"]),
        ("send", {"message": 7, "to": ["lead"]}, ["$.message", "$.to"]),
        ("send", {"message": "Hello", "sender": "lead"}, ["$.sender"]),
        ("wait", {"seconds": "soon"}, ["$.seconds"]),
        ("inbox", {"budget": TOKENS_MIN - 1}, ["$.budget"]),
        ("inbox", {"ids": "n-1"}, ["$.ids"]),
        ("ack", {"token": "1.1", "nack": "no", "extend": 5}, ["$.extend"]),
        ("why", {}, ["$.id"]),
        ("why", {"id": "half \ud800"}, ["$.id"]),
    ],
)
@proves("mcp/refusal/arguments")
async def test_arguments_that_do_not_fit_are_told_by_name(
    tool: str, arguments: dict[str, Any], paths: list[str], meet: Meet
) -> None:
    said = await getattr(await meet("dev"), tool)(**arguments)
    assert (said.wrong, said.tree["code"]) == (True, "arguments-wrong")
    assert [one["path"] for one in said.tree["findings"]] == paths
    assert all(path in said.text for path in paths)


@proves("mcp/refusal/tool-unknown")
async def test_a_tool_that_there_is_not_is_an_error_that_names_the_nearest(meet: Meet) -> None:
    with pytest.raises(MCPError, match="did you mean send"):
        await (await meet("dev")).sned(message="Hello")


@pytest.mark.parametrize(
    "tool, arguments, code",
    [
        ("why", {"id": "n-404"}, "not-found"),
        ("ack", {"token": "9.9"}, "not-found"),
        ("wait", {"lease": 0}, "value-wrong"),
        ("wait", {"seconds": -1}, "value-wrong"),
        ("guard", {"paths": ["a"], "plan": "9-9"}, "not-found"),
    ],
)
@proves("mcp/world/errors")
async def test_what_cannot_be_done_is_told_with_its_code_and_what_to_do(
    tool: str, arguments: dict[str, Any], code: str, meet: Meet
) -> None:
    said = await getattr(await meet("dev"), tool)(**arguments)
    assert (said.wrong, said.tree["code"]) == (True, code)
    assert said.text.startswith(f"{code}: ")
    assert said.tree["detail"] in said.text


@proves("mcp/world/not-a-member")
async def test_whoever_is_not_in_the_team_is_told_where_its_name_and_role_are_set(meet: Meet) -> None:
    said = await (await meet("zora", role="wizard")).inbox()
    assert said.tree["code"] == "role-unknown"
    assert "telex mcp --as NAME --role ROLE" in said.text
    assert not (await (await meet("zora", role="dev")).inbox()).wrong


@proves("mcp/world/silence")
def test_a_call_that_is_not_answered_is_told_before_the_client_gives_up(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def silent(*_: Any) -> None:
        await asyncio.Event().wait()

    async def play(meet: Meet) -> None:
        dev = await meet("dev")
        named, nameless = await dev.send(message="Go.", to="lead", id="n-1"), await dev.send(message="Go.", to="lead")
        assert [said.tree["code"] for said in (named, nameless)] == ["outcome-unknown"] * 2
        assert 'again with id "n-1": that is safe' in named.text
        assert "find out whether it was stored" in nameless.text
        assert "Do it again" in (await dev.team()).text

    monkeypatch.setattr("telex.surfaces.mcp.text.PATIENCE_SECONDS", 0.01)
    for tool in ("send", "team"):
        monkeypatch.setitem(tool_calls.CALLS, tool, silent)
    played(play, tmp_path)


@proves("mcp/world/mistake")
def test_a_mistake_of_our_own_is_told_as_one_and_logged(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    async def broken(*_: Any) -> None:
        raise AssertionError("secret inside")

    async def play(meet: Meet) -> None:
        said = await (await meet("dev")).why(id="n-1")
        assert (said.wrong, said.tree["code"]) == (True, "internal-error")
        assert "secret" not in said.text
        assert "Traceback" not in said.text

    monkeypatch.setitem(tool_calls.CALLS, "why", broken)
    played(play, tmp_path)
    assert "secret inside" in caplog.text


# --- guard, team, resources ----------------------------------------------------------------------------------------


@proves("mcp/guard/paths")
async def test_guard_judges_paths_as_agents_write_them_and_says_what_to_ask_for(tmp_path: Path, meet: Meet) -> None:
    dev, lead = await meet("dev"), await meet("lead")
    assert (await lead.send(message=contract(), to="dev")).tree["accepted"]
    paths = [str(tmp_path / "src/a.py"), "src/a.py", "elsewhere/b.py", "/etc/passwd"]
    said = await dev.guard(paths=paths)
    assert not said.wrong
    assert [one["path"] for one in said.tree["answer"]] == paths
    assert [one["allowed"] for one in said.tree["answer"]] == [True, True, False, False]
    ask = said.tree["answer"][2]
    assert ask["code"] in said.text
    assert ask["ask"]["type"] in said.text
    assert (await dev.guard(paths=["src/a.py"])).tree["answer"][0]["allowed"]


@proves("mcp/team/roster", "mcp/team/join")
async def test_team_shows_who_is_here_and_lets_the_caller_join(meet: Meet) -> None:
    anna, dev = await meet("anna", role="qa"), await meet("dev")
    joined = await anna.team(join=True, reads=["vbw-typed"])
    assert (joined.tree["name"], joined.tree["role"], joined.tree["dialects"]) == ("anna", "qa", ["vbw-typed"])
    await dev.send(message="Test it.", to="anna")
    [presence] = [made(Presence, one) for one in (await dev.team()).tree["answer"] if one["member"]["name"] == "anna"]
    assert (presence.state, presence.waiting) == ("here", 1)
    refused = await anna.team(join=True, reads=["vbw-tiped"])
    assert refused.wrong
    assert made(Finding, refused.tree).nearest == "vbw-typed"


@proves("shutdown/answer/comes-back")
async def test_who_was_forced_out_does_not_join_again_by_the_tool(tmp_path: Path, meet: Meet) -> None:
    anna = await meet("anna", role="qa")
    await anna.team(join=True)
    async with connect(tmp_path / "team.db", settings=QUICK) as bus:
        await bus.shut_down(agent="lead", reason="user_abort", deadline=0.0, force=True)
    refused = await anna.team(join=True)
    assert refused.wrong
    assert made(Finding, refused.tree).code == "sender-has-shut-down"


@pytest.mark.parametrize("era", ERAS)
@proves("mcp/resource/prompt", "mcp/resource/thread", "mcp/resource/unknown")
def test_the_prompt_of_the_role_and_a_thread_can_be_read(era: str, tmp_path: Path) -> None:
    async def play(meet: Meet) -> None:
        dev = await meet("dev")
        listed = [resource.uri for resource in (await dev.client.list_resources()).resources]
        templates = [
            template.uri_template for template in (await dev.client.list_resource_templates()).resource_templates
        ]
        assert [str(uri) for uri in listed] == ["telex://prompt"]
        assert templates == ["telex://prompt/{dialect}", "telex://thread/{correlation}"]
        assert "As dev you may send these messages of vbw-typed" in await dev.read("telex://prompt")
        assert "vbw-handoff" not in await dev.read("telex://prompt/vbw-typed")
        await dev.send(message="It is red.\x1b[2J", to="lead", id="n-1", correlation="a release/7")
        thread = await dev.read("telex://thread/a%20release%2F7")
        assert "dev → lead" in thread
        assert "| It is red.\\x1b[2J" in thread
        for uri in ("telex://thread/none", "telex://nothing", "telex://prompt/none"):
            with pytest.raises(MCPError, match="not-found") as failed:
                await dev.read(uri)
            assert failed.value.error.data["uri"] == uri

    played(play, tmp_path, era=era)


@proves("mcp/same-shape")
async def test_what_the_tools_answer_is_made_into_the_values_of_the_bus(meet: Meet) -> None:
    dev = await meet("dev")
    receipt = made(Receipt, (await dev.send(message="It is red.", to="lead", id="n-1")).tree)
    assert receipt == Receipt(True, "n-1", "stored", ("lead",), "plain")
    [story] = [made(MessageHistory, one) for one in (await dev.why(id="n-1")).tree["answer"]]
    assert (story.message.raw, story.state) == (b"It is red.", "stored")
    again = made(Receipt, (await dev.send(message="It is red.", to="lead", id="n-1")).tree)
    assert again.duplicate
