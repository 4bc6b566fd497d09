"""What waits for a person, and the answers: through the hub's own door."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx2
import pytest

from telex.clock import LoopClock
from telex.connection import connect
from telex.delivery.wakes import NOT_SEEN
from telex.dialects.builtin.vbw_typed import APPROVAL_REQUEST
from telex.model.message import detail_of
from telex.ports.store import Query
from telex.surfaces.http.app import Hub
from telex.surfaces.http.page import routes
from telex.surfaces.http.page_needs_views import NeedsViews
from telex.surfaces.http.page_stats import RecentEvents
from telex.surfaces.http.tokens import AT_HOME, Caller
from telex.surfaces.page import held_answers
from telex.surfaces.page.needs import NEED_KINDS
from tests.bus.bus_team import OpenTeam, Team, open_team, team
from tests.bus.test_escalation import FIVE_MINUTES, escalate
from tests.http.http_kit import let_in_as
from tests.http.page_kit import HUB, Page
from tests.proofs import proves
from tests.work.contract_team import answer, ask, contract, kept, report, send, typed

__all__ = ["open_team", "team"]  # fixtures

LEAD = Caller("lead", "lead", False, "token")
DEV = Caller("dev", "dev", False, "token")


class Door:
    """A hub that stays for several requests: `await door.get()`, `await door.answer("approval:a@1", "allow")`."""

    def __init__(self, client: httpx2.AsyncClient, views: NeedsViews) -> None:
        self.client, self.views = client, views

    async def get(self, **query: Any) -> Any:
        response = await self.client.get("/page/needs", params=query)
        assert response.status_code == 200, response.text
        return response.json()

    async def items(self, **query: Any) -> list[Any]:
        items: list[Any] = (await self.get(**query))["items"]
        return items

    async def answer(self, *keys: str, action: str, id: str = "a1", **more: Any) -> Any:
        response = await self.client.post("/page/needs/answer", json={"keys": keys, "action": action, "id": id} | more)
        return response.json() | {"status": response.status_code}

    async def post(self, name: str, id: str = "a1") -> Any:
        return (await self.client.post(f"/page/needs/{name}", json={"id": id})).json()

    async def sent(self, *keys: str, action: str, id: str = "a1", **more: Any) -> Any:
        """Answer without the time to undo."""
        held = await self.answer(*keys, action=action, id=id, **more)
        assert held["status"] == 200, held
        return await self.post("send", id)


@asynccontextmanager
async def hub(team: Team, caller: Caller = AT_HOME) -> AsyncIterator[Door]:
    clock = LoopClock(team.clock.now, team.clock.now)
    async with connect(team.path, settings=team.settings, clock=clock) as bus:
        views = NeedsViews(bus, team.settings, RecentEvents(bus))
        app: Any = let_in_as(caller, Hub(bus, team.settings, routes(bus, team.settings, views)))
        async with (
            views.lifespan(),
            httpx2.AsyncClient(transport=httpx2.ASGITransport(app=app), base_url=HUB) as client,
        ):
            yield Door(client, views)


def asks(team: Team, id: str = "request-1", subject: str = "Touch src/mail/", **more: Any) -> str:
    return f"approval:{kept(team, typed(APPROVAL_REQUEST, id=id, **{'subject': subject} | WIDER | more)).id}@1"


WIDER: dict[str, Any] = {"request_type": "scope_change", "options": None, "deadline": None}


def fails(team: Team, count: int, reason: str = "disk full", to: str = "qa") -> None:
    for number in range(count):
        team.note(f"Back up {number}", to=to)
        team.fail(to, reason=reason)


# --- the list ---------------------------------------------------------------------------------------------------------


@proves("page_needs/list")
def test_all_kinds_are_in_one_list_by_deadline_and_then_by_age(team: Team) -> None:
    kept(team, contract())
    fails(team, 2)
    late = asks(team, "late")
    team.clock.leap(5.0)
    soon = asks(team, "soon", deadline=None)
    escalate(team)
    found = Page(team).get("/page/needs")
    assert [item["kind"] for item in found["items"]] == ["approval", "approval", "escalation", "dead"]
    assert [item["key"] for item in found["items"]][:2] == [late, soon]
    assert found["count"] == 4
    assert found["by_kind"] == {"approval": 2, "escalation": 1, "dead": 1, "stall": 0, "wake": 0}
    assert found["items"][-1]["due"] is None


@proves("page_needs/list")
def test_the_list_is_paged_and_an_item_is_found_wherever_it_is(team: Team) -> None:
    keys = [asks(team, f"request-{number}") for number in range(7)]
    first, *_ = Page(team).all(["/page/needs"], limit=3, item="approval:request-6")
    assert [item["key"] for item in first["items"]] == keys[:3]
    assert first["item"]["key"] == keys[6]
    second = Page(team).get("/page/needs", limit=3, cursor=first["cursor"])
    third = Page(team).get("/page/needs", limit=3, cursor=second["cursor"])
    assert [item["key"] for item in [*second["items"], *third["items"]]] == keys[3:]
    assert third["cursor"] is None


@proves("page_needs/list")
@pytest.mark.parametrize("query", ["limit=0", "limit=201", "at=x", "cursor=x", "cursor=1,x,y"])
def test_a_query_that_makes_no_sense_is_refused(team: Team, query: str) -> None:
    found = Page(team).response(f"/page/needs?{query}")
    assert (found.status_code, found.json()["code"]) == (400, "value-wrong")


# --- approvals --------------------------------------------------------------------------------------------------------


@proves("page_needs/approval")
def test_an_approval_has_what_a_decision_needs(team: Team) -> None:
    kept(team, contract(objective="Reset links"))
    kept(team, ask(id="request-1", subject="Touch it", evidence="The template is no code."))
    [found] = Page(team).get("/page/needs")["items"]
    assert (found["title"], found["by"], found["by_role"], found["evidence"]) == (
        "Touch it",
        "dev",
        "dev",
        "The template is no code.",
    )
    assert (found["plan"], found["plan_title"], found["allowed"]) == ("P", "Reset links", ["src/"])
    assert found["may_answer"] == ["lead", "one of architect", "human"]
    assert found["due"] == pytest.approx(team.clock.now() + team.settings.limits.request_seconds)
    assert found["blocks"]["words"].startswith("dev waits")
    assert found["message"] == team.story("request-1").message.seq
    assert found["actions"] == ["allow", "reject"]


@proves("page_needs/paths")
def test_the_paths_that_were_refused_before_are_asked_for(team: Team) -> None:
    kept(team, contract())
    long = "src/../documents/a-folder-with-a-name/that-is-rather-long/reset.txt"
    assert not send(team, report(files=["src/a.py", "mail/reset.txt", long])).accepted
    asks(team, subject="Let me go on")
    [found] = Page(team).get("/page/needs")["items"]
    assert (found["paths"], found["paths_from"]) == (["mail/reset.txt", long], "refused")
    assert found["wider"][0] == "mail/*.txt"


@proves("page_needs/paths")
@pytest.mark.parametrize(
    "more, paths, source",
    [
        ({"options": ["docs/x.md", "Or do nothing"]}, ["docs/x.md"], "request"),
        ({"subject": "Touch docs/x.md and pyproject.toml, please."}, ["docs/x.md", "pyproject.toml"], "subject"),
        ({"subject": "Let me go on"}, [], None),
    ],
)
def test_paths_are_those_of_the_request_or_else_of_its_subject(
    team: Team, more: Any, paths: list[str], source: str | None
) -> None:
    kept(team, contract())
    asks(team, **more)
    [found] = Page(team).get("/page/needs")["items"]
    assert (found["paths"], found["paths_from"]) == (paths, source)


@proves("page_needs/paths")
@pytest.mark.parametrize(
    "more, paths",
    [
        ({"subject": "Put it into mail/, please"}, ["mail/reset.txt"]),
        ({"subject": "Put it into docs/, please"}, ["docs/"]),
        ({"subject": "Commit without the slow tests", "request_type": "gate_override"}, []),
    ],
)
def test_a_path_that_was_refused_for_something_else_is_not_allowed_with_it(
    team: Team, more: Any, paths: list[str]
) -> None:
    kept(team, contract())
    assert not send(team, report(files=["mail/reset.txt", ".env"])).accepted
    asks(team, **more)
    [found] = Page(team).get("/page/needs")["items"]
    assert found["paths"] == paths


@proves("page_needs/allow")
def test_allow_grants_the_paths_and_the_agent_gets_the_answer(team: Team) -> None:
    kept(team, contract())
    key = asks(team, subject="Touch docs/x.md")

    async def run() -> Any:
        async with hub(team) as door:
            return await door.sent(key, action="allow", reason="Fine."), await door.get()

    sent, after = asyncio.run(run())
    assert (sent["state"], sent["done"], sent["words"]) == ("sent", [key], "Allowed docs/x.md for dev.")
    assert (after["count"], after["items"]) == (0, [])
    assert team.bus.guard(["docs/x.md"], agent="dev")[0].allowed
    assert json.loads(team.take("dev").raw)["payload"]["reason"] == "Fine."


@proves("page_needs/allow")
def test_the_paths_that_a_person_chose_are_granted_instead(team: Team) -> None:
    kept(team, contract())
    key = asks(team, subject="Touch docs/x.md")

    async def run() -> None:
        async with hub(team) as door:
            nothing = await door.answer(key, action="allow", paths=[], id="none")
            assert [finding["code"] for finding in nothing["failed"][0]["findings"]] == ["approval-widens-nothing"]
            wrong = await door.answer(key, action="allow", paths=["../x"], id="wrong")
            assert (wrong["status"], wrong["code"]) == (400, "value-wrong")
            await door.sent(key, action="allow", paths=["docs/*.md"])

    asyncio.run(run())
    assert [one.allowed for one in team.bus.guard(["docs/y.md", "docs/y.txt"], agent="dev")] == [True, False]


@proves("page_needs/reject")
def test_a_rejection_needs_a_reason(team: Team) -> None:
    key = asks(team)

    async def run() -> Any:
        async with hub(team) as door:
            refused = await door.answer(key, action="reject", reason=" ", id="no")
            await door.sent(key, action="reject", reason="Not before the release.")
            return refused

    refused = asyncio.run(run())
    assert (refused["done"], refused["failed"][0]["findings"][0]["path"]) == ([], "$.reason")
    [approval] = team.bus.work_state("approval").values()
    assert (approval.answer.decision, approval.answer.by) == ("rejected", "human")


# --- undo, repetition, changes ----------------------------------------------------------------------------------------


@proves("page_needs/undo")
def test_an_answer_can_be_undone_until_it_is_sent(team: Team) -> None:
    key = asks(team)

    async def run() -> list[Any]:
        async with hub(team) as door:
            held = await door.answer(key, action="reject", reason="No.")
            during = await door.get()
            undone = await door.post("undo")
            after = await door.get()
            await door.sent(key, action="reject", reason="No.", id="a2")
            return [held, during, undone, after, await door.post("undo", "a2")]

    held, during, undone, after, late = asyncio.run(run())
    assert held["undo_until"] == pytest.approx(held["at"] + held_answers.UNDO_SECONDS)
    assert (during["count"], [one["id"] for one in during["answers"]]) == (0, ["a1"])
    assert (undone["undone"], [item["key"] for item in after["items"]]) == (True, [key])
    assert (late["undone"], late["state"]) == (False, "sent")
    assert len(team.happened("answered")) == 1


@proves("page_needs/undo")
def test_an_answer_is_not_held_beyond_the_deadline(team: Team, monkeypatch: pytest.MonkeyPatch) -> None:
    key = asks(team)
    due = team.clock.now() + team.settings.limits.request_seconds
    monkeypatch.setattr("telex.surfaces.http.page_answers.time.time", lambda: due - 4.0)

    async def run() -> Any:
        async with hub(team) as door:
            held = await door.answer(key, action="reject", reason="No.")
            await door.post("undo")
            return held

    assert asyncio.run(run())["undo_until"] == pytest.approx(due - held_answers.DEADLINE_SECONDS)


@proves("page_needs/repeat")
def test_a_repeated_answer_gets_the_first_response_and_nothing_is_done_twice(team: Team) -> None:
    escalate(team)

    async def run() -> list[Any]:
        async with hub(team) as door:
            [item] = await door.items(kind="escalation")
            first = await door.answer(item["key"], action="answer", text="Keep the session.")
            again = await door.answer(item["key"], action="answer", text="Keep the session.")
            other = await door.answer(item["key"], action="answer", text="Something else.")
            await door.post("send")
            return [first, again, other, await door.answer(item["key"], action="answer", text="Keep the session.")]

    first, again, other, last = asyncio.run(run())
    assert first["done"] == again["done"] == last["done"] != []
    assert (other["status"], other["code"]) == (400, "value-wrong")
    assert [one.message.sender for one in team.bus.receive("dev", limit=9)] == ["human"]
    assert team.bus.escalations() == []


@proves("page_needs/stale")
def test_an_answer_to_what_has_changed_is_stale_and_nothing_is_done(team: Team) -> None:
    kept(team, contract())
    key, answered = asks(team, "changed"), asks(team, "answered")

    async def run() -> list[Any]:
        async with hub(team) as door:
            await door.items()
            kept(team, contract(allowed_paths=["docs/"]))  # the request would now widen another contract
            kept(team, answer("answered", ["docs/x.md"]))
            first = await door.answer(key, answered, "approval:none@1", "x", action="reject", reason="No.")
            second = (await door.items())[0]["key"]
            held = await door.answer(second, action="reject", reason="No.", id="a2")
            taken = await door.answer(second, action="reject", reason="No.", id="a3")  # by another tab
            kept(team, answer("changed", ["docs/x.md"]))  # by lead, before the 10 s are over
            return [first, held, taken, await door.post("send", "a2"), (await door.get())["answers"]]

    first, held, taken, sent, answers = asyncio.run(run())
    assert (first["done"], first["stale"]) == ([], [key, answered, "approval:none@1", "x"])
    assert held["done"] == ["approval:changed@2"] == taken["stale"]
    assert sent["stale"] == ["approval:changed@2"]
    assert [one["id"] for one in answers] == ["a2"]


@proves("page_needs/restart")
def test_a_hub_that_was_killed_sends_what_it_held_back_and_one_that_stops_sends_it_at_once(team: Team) -> None:
    killed, stopped = asks(team, "killed"), asks(team, "stopped")

    async def is_killed() -> None:
        async with hub(team) as door:
            assert (await door.answer(killed, action="reject", reason="No."))["state"] == "held"
            answers = door.views.answers.held
            for task in answers._tasks.values():
                task.cancel()
            answers._answers.clear()  # what is in memory is gone

    async def goes_on() -> Any:
        async with hub(team) as door:
            during = await door.get()
            undo = await door.post("send")
            await door.answer(stopped, action="reject", reason="No.", id="a2")
            return during, undo

    asyncio.run(is_killed())
    assert all(approval.waits for approval in team.bus.work_state("approval").values())
    during, undo = asyncio.run(goes_on())
    assert [item["key"] for item in during["items"]] == [stopped]
    assert (undo["state"], undo["done"]) == ("sent", [killed])
    assert not any(approval.waits for approval in team.bus.work_state("approval").values())


@proves("page_needs/restart")
def test_an_answer_that_cannot_be_kept_is_refused(team: Team) -> None:
    key = asks(team)

    async def run() -> tuple[Any, Any]:
        async with hub(team) as door:
            door.views.answers.held._path = "/proc/none/answers.json"
            return await door.answer(key, action="reject", reason="No."), await door.get()

    refused, after = asyncio.run(run())
    assert (refused["status"], refused["code"], after["count"]) == (503, "store-unavailable", 1)


@proves("page_needs/file")
@pytest.mark.parametrize("caller", [DEV, LEAD])
def test_the_file_of_held_answers_stays_small_whatever_agents_answer_and_undo(
    team: Team, caller: Caller, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(held_answers, "KEPT_BYTES_MAX", 200_000)
    kept(team, contract())
    key, large = asks(team), ["x" * 400] * 50

    async def run() -> int:
        async with hub(team, caller) as door:
            for number in range(20):
                reason = {"conditions": large, "text": "x" * 100_000}
                answered = await door.answer(key, action="allow", paths=["src/mail/"], id=f"a{number}", **reason)
                assert answered["status"] == 200
                await door.post("undo", f"a{number}")
            path = door.views.answers.held._path
            assert path is not None
            return Path(path).stat().st_size if Path(path).exists() else 0

    assert asyncio.run(run()) < 500_000


@proves("page_needs/file")
def test_more_answers_than_a_hub_could_read_again_are_refused(team: Team, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(held_answers, "BYTES_MAX", 2_000)
    first, second = asks(team, "first"), asks(team, "second")

    async def run() -> list[Any]:
        async with hub(team) as door:
            held = await door.answer(first, action="reject", reason="No.")
            full = await door.answer(second, action="reject", reason="x" * 400, conditions=["x" * 400] * 5, id="a2")
            await door.post("undo")
            return [held, full]

    held, full = asyncio.run(run())
    assert (held["status"], full["status"], full["code"]) == (200, 503, "store-unavailable")


# --- who may answer ---------------------------------------------------------------------------------------------------


@proves("page_needs/identity")
def test_a_token_answers_as_its_agent_and_only_what_that_agent_may(team: Team) -> None:
    kept(team, contract())
    fails(team, 1)
    key = asks(team, subject="Touch docs/x.md")

    async def run() -> None:
        async with hub(team, DEV) as door:
            approval, dead = await door.items()
            assert (approval["actions"], dead["actions"]) == ([], [])
            own = await door.answer(key, action="allow")
            assert own["failed"][0]["findings"][0]["code"] == "may-not-answer"
            retry = await door.answer(dead["key"], action="retry", id="a2")
            assert (retry["status"], retry["code"]) == (403, "operator-only")
        async with hub(team, LEAD) as door:
            assert (await door.sent(key, action="allow", id="a3"))["done"] == [key]
        async with hub(team, DEV) as door:
            assert (await door.post("undo", "a3"))["code"] == "operator-only"

    asyncio.run(run())
    [approval] = team.bus.work_state("approval").values()
    assert approval.answer.by == "lead"


@proves("page_needs/identity")
def test_a_viewer_is_offered_nothing_and_may_do_nothing(team: Team) -> None:
    waits_in_a_circle(team)
    team.clock.leap(61.0)
    fails(team, 1)

    async def run() -> tuple[Any, Any]:
        async with hub(team, Caller(None, None, False, "token", viewer=True)) as door:
            items = await door.items()
            stall = next(item["key"] for item in items if item["kind"] == "stall")
            return items, await door.answer(stall, action="nudge", text="Hello")

    items, refused = asyncio.run(run())
    assert {item["kind"] for item in items} >= {"approval", "dead", "stall"}
    assert [item["actions"] for item in items if item["actions"]] == []
    assert refused["status"] == 403 or refused["failed"][0]["findings"][0]["code"] == "may-not-answer"


@proves("page_needs/request")
@pytest.mark.parametrize(
    "wrong",
    [
        *({"keys": []}, {"keys": ["x"] * 501}, {"keys": "x"}, {"keys": [1]}, {"action": "fly"}, {"id": ""}),
        {"action": ["allow"]},
        *({"id": "a b"}, {"paths": ["x"], "keys": ["a", "b"]}, {"reason": "x" * 2_001}, {"text": 1}, {"paths": [""]}),
    ],
)
def test_an_answer_that_makes_no_sense_is_refused(team: Team, wrong: Any) -> None:
    body = {"keys": ["approval:x@1"], "action": "allow", "id": "a1"} | wrong
    found = Page(team).response("/page/needs/answer", "POST", json=body)
    assert (found.status_code, found.json()["code"]) == (400, "value-wrong")


# --- escalations ------------------------------------------------------------------------------------------------------


@proves("page_needs/escalation")
def test_an_escalation_has_its_ladder_and_the_answer_reaches_the_asker(team: Team) -> None:
    escalate(team)
    team.later(FIVE_MINUTES)

    async def run() -> Any:
        async with hub(team) as door:
            [item] = await door.items(kind="escalation")
            await door.sent(item["key"], action="answer", text="Keep the session.")
            return item

    item = asyncio.run(run())
    assert [rung["level"] for rung in item["ladder"]] == ["senior", "lead"]
    assert (item["with"], item["answer_to"], item["key"]) == ("one of lead", "dev", "escalation:e1@2")
    leased = team.take("dev")
    assert (leased.raw, leased.message.sender) == (b"Keep the session.", "human")
    assert team.bus.escalations() == []


# --- dead letters -----------------------------------------------------------------------------------------------------


@proves("page_needs/dead")
def test_dead_letters_of_one_reason_and_recipient_are_one_item(team: Team) -> None:
    fails(team, 30)
    fails(team, 1, reason="no network")
    fails(team, 1, to="lead")
    items = {(item["reason"], item["by"]): item for item in Page(team).get("/page/needs")["items"]}
    assert {place: item["count"] for place, item in items.items()} == {
        ("disk full", "qa"): 30,
        ("no network", "qa"): 1,
        ("disk full", "lead"): 1,
    }
    many = items["disk full", "qa"]
    assert (many["title"], len(many["members"])) == ("30 × disk full", 20)
    assert (many["members"][0]["gist"], many["members"][0]["attempts"]) == ("Back up 29", 3)


@proves("page_needs/dead")
def test_a_group_is_retried_as_it_was_shown(team: Team) -> None:
    fails(team, 3)

    async def run() -> list[Any]:
        async with hub(team) as door:
            [shown] = await door.items()
            fails(team, 1)  # after the person has looked
            held = await door.answer(shown["key"], action="retry")
            [left] = await door.items()
            return [shown, held, left, await door.post("send")]

    shown, held, left, sent = asyncio.run(run())
    assert (held["words"], sent["done"]) == ("Retried 3 messages to qa.", [shown["key"]])
    assert left["count"] == 1
    assert len(team.taken("qa")) == 3
    assert len(team.bus.dead_letters()) == 1


@proves("page_needs/dead")
def test_chosen_letters_are_dropped_with_a_reason(team: Team) -> None:
    fails(team, 3)

    async def run() -> None:
        async with hub(team) as door:
            [item] = await door.items()
            chosen = [member["key"] for member in item["members"][:2]]
            refused = await door.answer(*chosen, action="drop", id="no")
            assert len(refused["failed"]) == 2
            await door.sent(*chosen, action="drop", reason="Nobody needs them.")
            [item] = await door.items()
            assert item["count"] == 1

    asyncio.run(run())
    assert [event["reason"] for event in team.happened("dropped")] == ["Nobody needs them."] * 2


@proves("page_needs/bulk")
def test_two_hundred_dead_letters_and_forty_approvals_are_answered_in_one_request_each(open_team: OpenTeam) -> None:
    team = open_team(attempts_max=1)
    fails(team, 200)
    kept(team, contract())
    keys = [asks(team, f"request-{number}", f"Touch docs/{number}.md") for number in range(40)]

    async def run() -> Any:
        async with hub(team) as door:
            first = await door.get(limit=200)
            [dead] = [item for item in first["items"] if item["kind"] == "dead"]
            await door.sent(*keys, action="allow")
            await door.sent(dead["key"], action="retry", id="a2")
            return first, await door.get()

    first, after = asyncio.run(run())
    assert (first["count"], after["count"]) == (41, 0)
    assert len(team.taken("qa")) == 200
    assert team.bus.guard(["docs/39.md"], agent="dev")[0].allowed


# --- stalls and wakes -------------------------------------------------------------------------------------------------


def waits_in_a_circle(team: Team) -> None:
    for sender, to in (("dev", "lead"), ("lead", "dev")):
        kept(team, typed(APPROVAL_REQUEST, id=f"ask-{sender}", role=sender, **WIDER), to=to, sender=sender)


async def remind(team: Team, caller: Caller) -> tuple[Any, list[Any]]:
    """The stall, and what is shown of it after a reminder by this caller."""
    async with hub(team, caller) as door:
        [item] = await door.items(kind="stall")
        await door.sent(item["key"], action="nudge", text=item["nudge"]["text"])
        return item, await door.items(kind="stall")


@proves("page_needs/stall")
def test_a_circle_of_waits_is_one_item_with_a_reminder_that_can_be_sent(team: Team) -> None:
    waits_in_a_circle(team)
    early = Page(team).get("/page/needs", kind="stall")
    team.clock.leap(61.0)
    team.note("x", sender="qa", to="lead")
    item, after = asyncio.run(remind(team, AT_HOME))
    assert early["items"] == after == []  # it may be settled in a moment; and once was reminded of it
    assert item["title"] == "dev and lead wait for each other"
    assert {(edge["who"], edge["whom"]) for edge in item["circle"]} == {("dev", "lead"), ("lead", "dev")}
    assert item["remedy"]["command"].startswith("telex approve")
    to = item["nudge"]["to"]
    assert "waits for you" in [message.raw.decode() for _, message in team.bus.inbox(to)][-1]


@proves("page_needs/stall")
def test_a_reminder_of_an_agent_does_not_hide_a_stall(team: Team) -> None:
    waits_in_a_circle(team)
    team.clock.leap(61.0)
    team.note("x", sender="qa", to="lead")
    item, after = asyncio.run(remind(team, DEV))
    assert [each["key"] for each in after] == [item["key"]]


@proves("page_needs/stall")
def test_inboxes_that_no_agent_reads_are_one_item(team: Team) -> None:
    for to in ("scout", "qa"):
        team.note(to=to)
    team.later(team.settings.limits.silent_seconds + 1)
    [item] = Page(team).get("/page/needs", kind="stall")["items"]
    assert {row["inbox"] for row in item["inboxes"]} == {"scout", "qa"}
    assert (item["actions"], item["key"].partition("@")[0]) == ([], "stall:unread")


@proves("page_needs/wake")
def test_an_agent_that_cannot_be_woken_is_shown_until_it_takes_its_message(team: Team) -> None:
    team.bus.join("qa", role="qa")
    team.note(to="qa")

    def wake(**more: Any) -> None:
        team.bus.wake("qa", way="tmux-keys", force=True, **more)

    wake()
    wake(failed="tmux is not installed")
    wake()
    wake(failed="no pane")
    page = Page(team)
    [item] = page.get("/page/needs")["items"]
    assert (item["kind"], item["agent"], item["way"], item["error"]) == ("wake", "qa", "tmux-keys", "no pane")
    assert [attempt["error"] for attempt in item["tried"]] == ["no pane", "tmux is not installed"]
    assert (item["unread"], item["command"]) == (1, "telex wake qa")
    moment = team.clock.now()
    team.clock.leap(5.0)
    team.taken("qa")
    team.clock.leap(1.0)
    assert page.get("/page/needs")["items"] == []
    assert [item["kind"] for item in page.get("/page/needs", at=moment + 1)["items"]] == ["wake"]


@proves("page_needs/wake")
def test_an_agent_that_does_not_react_to_its_wake_counts_as_not_woken(team: Team) -> None:
    team.bus.join("qa", role="qa")
    team.note(to="qa")
    team.bus.wake("qa", way="tmux-keys", force=True)
    team.clock.leap(team.settings.limits.wake_seen_seconds + 1)
    team.bus.wake("qa")
    item = next(item for item in Page(team).get("/page/needs")["items"] if item["kind"] == "wake")
    assert (item["way"], item["error"]) == ("tmux-keys", NOT_SEEN)


# --- the past, and the cost -------------------------------------------------------------------------------------------


@proves("page_needs/past")
def test_a_past_moment_shows_what_was_open_then_and_offers_no_answer(team: Team) -> None:
    kept(team, contract())
    asks(team, "request-1")
    escalate(team)
    fails(team, 2)
    moment = team.clock.now()
    team.clock.leap(10.0)
    kept(team, answer("request-1", ["docs/"]))
    team.bus.send("Keep it.", sender="human", to="dev", reply_to="e1")
    for _, message in team.bus.dead_letters():
        team.bus.drop(message.id, reason="old")
    asks(team, "request-2")
    now, then, before = (Page(team).get("/page/needs", **at) for at in ({}, {"at": moment + 1}, {"at": 1.0}))
    assert [item["key"] for item in now["items"]] == ["approval:request-2@1"]
    assert [item["kind"] for item in then["items"]] == ["approval", "escalation", "dead"]
    assert then["items"][2]["title"] == "2 × disk full"
    assert not any(item["actions"] for item in then["items"])
    assert then["by_kind"]["stall"] is None  # no stall was computed at that time
    assert then["count"] == 3
    assert before["items"] == []


class Counting:
    """A bus that counts its verbs."""

    def __init__(self, bus: Any) -> None:
        self.bus, self.calls = bus, dict[str, int]()

    def __getattr__(self, name: str) -> Any:
        self.calls[name] = self.calls.get(name, 0) + 1
        return getattr(self.bus, name)


@proves("page_needs/cost")
def test_the_list_is_computed_again_only_if_something_that_waits_may_have_changed(team: Team) -> None:
    asks(team)

    async def run() -> list[int]:
        clock = LoopClock(team.clock.now, team.clock.now)
        async with connect(team.path, settings=team.settings, clock=clock) as bus:
            counting = Counting(bus)
            views = NeedsViews(counting, team.settings, RecentEvents(counting))
            counts = []
            for words in ("", "The build is red.", ""):
                if words:
                    await bus.send(words, sender="dev", to="lead")
                await asyncio.gather(*(views.needs.current() for _ in range(20)))
                counts.append(counting.calls["dead_letters"])
            counts.append(counting.calls["stall"])
            await bus.approve("request-1", approved=False, reason="No.")
            assert (await views.needs.current()).total == views.needs.known.total == 0
            return [*counts, counting.calls["dead_letters"]]

    assert asyncio.run(run()) == [1, 1, 1, 1, 2]


@proves("page_needs/summary")
def test_the_summary_has_the_number_of_items(team: Team) -> None:
    asks(team)
    fails(team, 5)
    found = Page(team).get("/page/summary")
    assert found["needs"] == 2
    assert found["needs_by_kind"] == dict.fromkeys(NEED_KINDS, 0) | {"approval": 1, "dead": 1}


def test_nothing_here_counts_as_a_look_of_an_agent(team: Team) -> None:
    team.note(to="qa")
    Page(team).get("/page/needs")
    assert [detail_of(event) for event, _ in team.bus.events(Query(kinds=("read", "leased")))] == []
