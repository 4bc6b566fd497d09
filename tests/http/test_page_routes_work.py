"""Does the page get what it asks for? Its screens of the record and of the work, through the hub's own door."""

import asyncio
from types import SimpleNamespace
from typing import Any

import pytest

from telex.connection import connect
from telex.dialects.builtin.build_flow import BUILD_FLOW
from telex.dialects.builtin.vbw_typed import APPROVAL_REQUEST
from telex.dialects.registry import BUILT_IN
from telex.dialects.schema import Dialect, MessageType
from telex.errors import StoreUnavailable
from telex.model.message import BRINGING
from telex.surfaces.http import page_shared
from telex.surfaces.http.page_shared import QUERIES_MAX, SharedQueries, SharedView
from telex.surfaces.http.page_stats import RecentEvents
from tests.bus.bus_team import Team, every_type, open_team, team
from tests.bus.shutdown_kit import agrees, joined, reply, request
from tests.bus.test_escalation import escalate
from tests.http.page_kit import Page
from tests.proofs import proves
from tests.work.contract_team import answer, ask, contract, kept, report, send, typed

__all__ = ["open_team", "team"]  # fixtures

# --- the record -------------------------------------------------------------------------------------------------------


@proves("page_work/rates/fold")
def test_rates_are_counted_by_the_minute_and_latency_with_them(team: Team) -> None:
    began = team.clock.now()
    for seconds in (1.0, 1.0, 1.0, 40.0):
        team.note()
        team.clock.leap(seconds)
        team.taken()
    team.clock.leap(120.0)
    team.bus.send("x", sender="dev", to="nobody", check=False)
    found = Page(team).get("/page/rates", since=began, until=team.clock.now(), step=60)
    assert found["accepted"] == [4, 0, 0]
    assert found["acked"] == [4, 0, 0]
    assert found["refused"] == [0, 0, 1]
    assert found["p50"][0] == pytest.approx(1.0, rel=0.06)
    assert found["p99"][0] == pytest.approx(40.0, rel=0.06)
    assert found["p50"][1:] == [None, None]
    assert found["times"] == [began, began + 60, began + 120]


@proves("page_work/rates/bounded")
def test_a_long_time_is_told_in_longer_steps(team: Team) -> None:
    team.note()
    found = Page(team).get("/page/rates", since=0, until=team.clock.now(), step=1)
    assert len(found["times"]) <= 2_001
    assert sum(found["accepted"]) == 1


@proves("page_work/arguments")
@pytest.mark.parametrize(
    "path",
    [
        *("/page/rates?since=x", "/page/rates?step=0", "/page/rates?since=nan", "/page/refusals?since=-1"),
        *("/page/rates?since=1e300", "/page/rates?since=20&until=10"),
    ],
)
def test_a_question_that_makes_no_sense_is_answered_with_what_would(team: Team, path: str) -> None:
    found = Page(team).response(path)
    assert (found.status_code, found.json()["code"]) == (400, "value-wrong")


class Counting:
    """A bus that counts what is read of the record."""

    def __init__(self, bus: Any) -> None:
        self._bus, self.heard = bus, 0

    def __getattr__(self, name: str) -> Any:
        return getattr(self._bus, name)

    async def events(self, *args: Any, **more: Any) -> Any:
        async for one in self._bus.events(*args, **more):
            self.heard += 1
            yield one


@proves("page_work/rates/once")
def test_however_often_the_page_asks_the_record_is_read_once(team: Team) -> None:
    for _ in range(20):
        team.note()

    async def run() -> tuple[int, int, int]:
        async with connect(team.path, settings=team.settings) as bus:
            counting = Counting(bus)
            record = RecentEvents(counting)
            await asyncio.gather(*(record.caught_up() for _ in range(5)))
            first = counting.heard
            await record.caught_up()
            again = counting.heard
            await bus.send("One more.", sender="dev", to="lead")
            await record.caught_up()
            return first, again - first, counting.heard - again

    first, again, news = asyncio.run(run())
    assert (first <= 20 + 3, again, news) == (True, 0, 1)


@proves("page_work/shared")
def test_a_screen_that_many_ask_for_at_once_is_put_together_once_and_is_never_old() -> None:
    async def run() -> tuple[list[int], int]:
        said: list[int] = []

        async def made() -> int:
            await asyncio.sleep(0.01)  # long enough for the others to ask meanwhile
            said.append(len(said))
            return said[-1]

        shared = SharedView(made, interval=0.0)
        first = asyncio.ensure_future(shared())
        await asyncio.sleep(0.001)
        assert not first.done()
        return await asyncio.gather(*(shared() for _ in range(50))), await first

    later, first = asyncio.run(run())
    assert first == 0
    assert set(later) == {1}  # who asked after it was begun has what was begun afterwards


@proves("page_work/shared-cost")
@pytest.mark.parametrize("cost, apart", [(0.001, 0.25), (0.05, 1.0), (60.0, 2.0)])
def test_a_screen_that_takes_long_is_put_together_less_often(
    monkeypatch: pytest.MonkeyPatch, cost: float, apart: float
) -> None:
    now, slept = [0.0], list[float]()

    async def made() -> None:
        now[0] += cost

    async def sleep(seconds: float) -> None:
        slept.append(seconds)

    async def run() -> None:
        shared = SharedView(made)
        await shared()
        now[0] += 0.001
        await shared()

    monkeypatch.setattr(page_shared, "time", SimpleNamespace(monotonic=lambda: now[0]))
    monkeypatch.setattr(asyncio, "sleep", sleep)
    asyncio.run(run())
    assert slept[-1] == pytest.approx(apart - 0.001)


@proves("page_work/shared")
def test_a_screen_that_could_not_be_put_together_is_tried_anew_for_the_next() -> None:
    async def run() -> list[str | BaseException]:
        asked: list[str] = []

        async def made() -> str:
            await asyncio.sleep(0.01)
            asked.append("x")
            if len(asked) == 1:
                raise StoreUnavailable("the disk is away")
            return "here again"

        shared = SharedView(made, interval=0.0)
        found: list[str | BaseException] = await asyncio.gather(*(shared() for _ in range(3)), return_exceptions=True)
        return found

    first, *others = asyncio.run(run())
    assert isinstance(first, StoreUnavailable)
    assert others == ["here again"] * 2


@proves("page_work/refusals/fold")
def test_refusals_are_counted_by_code_agent_and_type(team: Team) -> None:
    for sender, to in (("dev", "laed"), ("dev", "nobody"), ("qa", "nobody")):
        team.bus.send("The build is red.", sender=sender, to=to, check=False)
    team.bus.send({"type": "qa_verdict"}, sender="qa", to="lead", check=False)
    found = Page(team).get("/page/refusals", since=0)
    codes = {row["code"]: row for row in found["codes"]}
    assert found["total"] == 4
    assert codes["recipient-unknown"]["count"] == 3
    assert codes["recipient-unknown"]["agents"] == [{"name": "dev", "count": 2}, {"name": "qa", "count": 1}]
    assert codes["field-missing"]["count"] == 1  # of one message, however many fields it lacks
    assert [(row["name"], row["count"]) for row in found["agents"]] == [("dev", 2), ("qa", 2)]
    matrix = {row["code"]: row["counts"] for row in found["matrix"]}
    assert matrix["recipient-unknown"] == [2, 1]
    assert found["findings"] == sum(row["count"] for row in found["matrix"]) >= found["total"]
    assert all(row["fix"] and row["examples"] for row in found["codes"])
    later = Page(team).get("/page/refusals", since=team.clock.now() + 1)
    assert (later["total"], later["codes"]) == (0, [])


@proves("page_views/refusals/filter")
def test_refusals_of_one_agent_and_code_count_only_these(team: Team) -> None:
    for sender, to in (("dev", "laed"), ("dev", "nobody"), ("qa", "nobody")):
        team.bus.send("The build is red.", sender=sender, to=to, check=False)
    team.bus.send({"type": "qa_verdict"}, sender="qa", to="lead", check=False)
    page = Page(team)
    found = page.get("/page/refusals", since=0, agent="qa", code="recipient-unknown")
    [row] = found["codes"]
    assert (found["total"], found["chosen"], row["count"]) == (4, 1, 1)
    assert row["agents"] == [{"name": "qa", "count": 1}]
    assert [one["agent"] for one in row["examples"]] == ["qa"]
    assert [one["name"] for one in found["agents"]] == ["dev", "qa"]  # the table stays whole
    assert page.get("/page/refusals", since=0, until=1)["total"] == 0


# --- the work ---------------------------------------------------------------------------------------------------------


@proves("page_work/summary")
def test_the_first_screen_has_its_counts(team: Team) -> None:
    page = Page(team)
    assert page.get("/page/summary")["messages"] == 0
    kept(team, typed(APPROVAL_REQUEST, deadline=None, options=None))
    escalate(team)
    team.note(to="qa")
    team.fail("qa")
    team.bus.send("x", sender="dev", to="nobody", check=False)
    found = page.get("/page/summary")
    assert found["needs"] == 3
    assert found["messages"] == len([one for one, _ in team.bus.events() if one.kind in BRINGING])
    assert (found["me"]["agent"], found["me"]["operator"], found["demo"]) == (None, True, False)


@proves("page_work/contracts/facts")
def test_a_contract_says_what_is_done_what_was_granted_and_who_went_beyond(team: Team) -> None:
    kept(team, contract(token_budget=1_000))
    kept(team, report(files=["src/a.py"], status="complete", commit="abc1234", tokens_used=400))
    asked = kept(team, ask())
    kept(team, answer(asked.id, ["docs/"], conditions=["Only words"]))
    assert not send(team, report(files=[".env"])).accepted
    found = Page(team).get("/page/contracts")
    [plan] = found["plans"]
    assert [(task["name"], task["done"] is not None) for task in plan["tasks"]] == [("T1", True), ("T2", False)]
    assert (plan["tasks_done"], plan["tasks_all"]) == (1, 2)
    assert (plan["spent"], plan["budget"], plan["granted"], plan["open"]) == (400, 1_000, ["docs/"], True)
    [outside] = found["outside"]["rows"]
    assert (outside["agent"], outside["code"], outside["found"]) == ("dev", "path-forbidden", ".env")


@proves("page_views/contracts/changes")
def test_a_contract_says_what_each_revision_and_grant_added_and_removed(team: Team) -> None:
    kept(team, contract())
    kept(team, contract(tasks=["T1", "T3"]))
    team.later(1.0)
    asked = kept(team, ask())
    kept(team, answer(asked.id, ["docs/"], conditions=["Only words"]))
    [plan] = Page(team).get("/page/contracts")["plans"]
    grant, revision = plan["changes"]
    assert (grant["kind"], grant["asked_by"], grant["conditions"]) == ("grant", "dev", ["Only words"])
    assert grant["fields"] == [{"name": "allowed paths", "added": ["docs/"], "removed": []}]
    assert (revision["kind"], revision["number"], plan["changes_all"]) == ("revision", 2, 2)
    assert revision["fields"] == [{"name": "tasks", "added": ["T3"], "removed": ["T2"]}]


@proves("page_views/contracts/order")
def test_contracts_are_paged_in_natural_order(team: Team) -> None:
    for plan in ("10-1", "2-1", "1-1"):
        kept(team, contract(plan))
    page = Page(team)
    first = page.get("/page/contracts", limit=2)
    assert ([plan["id"] for plan in first["plans"]], first["total"]) == (["1-1", "2-1"], 3)
    rest = page.get("/page/contracts", limit=2, cursor=first["cursor"])
    assert ([plan["id"] for plan in rest["plans"]], rest["cursor"]) == (["10-1"], None)
    assert [plan["id"] for plan in page.get("/page/contracts", plan="2-1")["plans"]] == ["2-1"]


@proves("page_work/shutdown/facts")
def test_a_shutdown_says_where_each_one_stands(team: Team) -> None:
    joined(team, "ada", "bob", "eve")
    team.bus.join("lead", role="lead")
    call = request(team)
    agrees(team, "ada", call)
    assert reply(team, "bob", call, False, final_status="in_progress", pending_work="One check").accepted
    found = Page(team).get("/page/shutdown")
    stands = {one["name"]: one for one in found["agents"]}
    assert {name: one["state"] for name, one in stands.items()} == {
        "ada": "approved",
        "bob": "refused",
        "eve": "silent",
    }
    assert stands["bob"]["pending"] == "One check"
    assert found["under_way"]
    assert found["counts"] == {"approved": 1, "refused": 1, "silent": 1}
    assert found["askers"][0]["name"] == "lead"


# --- what may be said -------------------------------------------------------------------------------------------------


@proves("page_work/dialects")
def test_every_type_is_described_so_that_a_form_can_be_made(team: Team) -> None:
    found = {one["name"]: one for one in Page(team).get("/page/dialects")}
    assert list(found) == [one.name for one in BUILT_IN]
    for dialect in BUILT_IN:
        types = {one["name"]: one for one in found[dialect.name]["types"]}
        for type_ in dialect.types.values():
            fields = {one["name"]: one for one in types[type_.name]["fields"]}
            whole = dialect.fields_of(type_)
            assert {name: one["required"] for name, one in fields.items()} == {n: f.required for n, f in whole.items()}
            assert types[type_.name]["example"] == type_.example
            assert types[type_.name]["schema"]["title"] == type_.name


@proves("page_work/dialects/first")
def test_the_dialect_of_most_of_the_latest_messages_comes_first(team: Team) -> None:
    kept(team, contract("P"))
    update = BUILD_FLOW.types["STATUS_UPDATE"].example | {"from": "dev", "to": "lead"}
    for id_ in ("update-1", "update-2"):
        kept(team, update | {"messageId": id_}, to="lead", sender="dev")
    names = [dialect["name"] for dialect in Page(team).get("/page/dialects")]
    assert names[:2] == ["build-flow", "vbw-typed"]


@proves("page_work/write")
@every_type
def test_what_a_form_says_is_written_as_its_dialect_writes_it(team: Team, dialect: Dialect, type_: MessageType) -> None:
    asked = {"dialect": dialect.name, "tree": type_.example, "body": type_.body_example}
    written = Page(team).response("/page/write", "POST", json=asked).json()["raw"]
    checked = Page(team).response("/check", "POST", content=written, params={"dialect": dialect.name}).json()
    assert (checked["valid"], checked["type"]) == (True, type_.name)


@proves("page_work/write/wrong")
@pytest.mark.parametrize(
    "body, status",
    [
        *((b"{", 400), (b"[]", 400), (b"\xff", 400), (b" " * 2_000_000, 400), (b'{"dialect": "x", "tree": {}}', 404)),
        (b'{"dialect": "signal-md", "tree": 1}', 400),
        (b'{"dialect": "signal-md", "tree": {}, "body": 1}', 400),
    ],
)
def test_what_is_no_form_is_not_written(team: Team, body: bytes, status: int) -> None:
    assert Page(team).response("/page/write", "POST", content=body).status_code == status


@proves("page_work/shared")
def test_pages_that_ask_the_same_at_the_same_time_share_one_result() -> None:
    made = list[str]()

    async def compute(name: str) -> int:
        made.append(name)
        return len(made)

    async def scene() -> None:
        shared = SharedQueries()
        both = await asyncio.gather(*(shared.get("a", lambda: compute("a")) for _ in range(5)))
        assert (both, made) == ([1] * 5, ["a"])
        for number in range(QUERIES_MAX):
            await shared.get(number, lambda: compute("other"))
        assert await shared.get("a", lambda: compute("a")) == len(made)  # forgotten, and computed anew

    asyncio.run(scene())
