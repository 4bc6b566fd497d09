"""Answer links: a request for approval is answered from a notification, once."""

import asyncio
import html
import re
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

import telex
from telex.bus.local import LocalBus
from telex.config import Settings
from telex.config.notify import NotifySettings
from telex.ports.bus import Bus
from telex.ports.store import Query
from telex.surfaces.alerts.items import AlertItems
from telex.surfaces.alerts.links import hash_of, new_links
from telex.surfaces.alerts.notification import Item
from telex.surfaces.alerts.runner import AlertLog, AlertRunner
from telex.surfaces.http.answer import POLICY, answer_routes
from telex.surfaces.http.app import Hub
from telex.surfaces.http.auth import AuthMiddleware
from telex.surfaces.http.page_needs import NeedsList
from telex.surfaces.http.page_needs_views import NeedsViews
from telex.surfaces.http.page_stats import RecentEvents
from telex.work.approvals import Approval
from tests.alerts.test_alert_state import Phone
from tests.http.auth_kit import KNOWN, PORT, STRANGER, ask
from tests.http.http_kit import alive, play
from tests.proofs import proves
from tests.work.contract_team import ask as approval_request
from tests.work.contract_team import contract

SETTINGS = Settings(evidence="off", durable=False)
LINKS = NotifySettings(ntfy="x", links=True, batch_seconds=0.0)
HUB = f"http://127.0.0.1:{PORT}"
TITLE = 'Let me write docs/reset.md <script>alert("1")</script> & more'


class Desk:
    """A hub with a request for approval, and the link of its notification."""

    def __init__(self, bus: Bus, **settings: Any) -> None:
        assert isinstance(bus, LocalBus)
        self.bus, self.phone = bus, Phone()
        self.needs = NeedsViews(bus, SETTINGS, RecentEvents(bus)).needs
        log = AlertLog(bus.store)
        items = AlertItems(self.needs)
        self.runner = AlertRunner(log, LINKS._replace(**settings), items, hub=HUB, targets=[self.phone])
        self.app = AuthMiddleware(KNOWN, None)(Hub(bus, SETTINGS, answer_routes(bus, log, self.needs)))

    async def request(self, id: str = "ask-1", **payload: Any) -> str:
        """Have dev ask, and return the path of the link."""
        payload = {"subject": TITLE} | payload
        await self.bus.send(approval_request(id=id, **payload), sender="dev", to="lead")
        return await self.notified()

    async def notified(self) -> str:
        await self.runner.refresh()
        while await self.runner.deliver_next(self.phone):
            pass
        answers = {key: url for note in self.phone.notes for key, url in note.answers.items()}
        return [*answers.values()][-1].removeprefix(HUB)

    async def get(self, path: str, **request: Any) -> Any:
        return await ask(self.app, path, peer=STRANGER, **request)

    async def post(self, path: str, action: str = "approve", **request: Any) -> Any:
        body = f"action={action}&reason=Fine+by+me".encode()
        headers = {"content-type": "application/x-www-form-urlencoded"} | request.pop("headers", {})
        return await ask(self.app, path, method="POST", body=body, peer=STRANGER, headers=headers, **request)

    async def approval(self, id: str = "ask-1") -> Approval:
        found: Approval = (await self.bus.work_state("approval"))[f"approval:{id}"]
        return found


def at_desk(scene: Callable[[Desk], Awaitable[None]], where: str = "memory:", **settings: Any) -> None:
    async def run() -> None:
        async with telex.connect(where, settings=SETTINGS) as bus:
            await bus.send(contract(), sender="lead", to="dev")
            desk = Desk(bus, **settings)
            async with alive(desk.app):
                await scene(desk)

    play(run)


@proves("alerts/link/once", "alerts/link/person", "alerts/link/page")
@pytest.mark.parametrize("action, decision", [("approve", "approved"), ("reject", "rejected")])
def test_a_person_answers_from_a_notification(action: str, decision: str) -> None:
    async def scene(desk: Desk) -> None:
        link = await desk.request()
        page = await desk.get(link)
        assert page.status == 200
        assert html.escape(TITLE) in page.body.decode()
        assert "<code dir=ltr>docs/reset.md</code>" in page.body.decode()
        assert (await desk.post(link, action)).status == 200
        approval = await desk.approval()
        assert approval.answer is not None
        assert (approval.answer.by, approval.answer.decision, approval.answer.reason) == (
            "human",
            decision,
            "Fine by me",
        )
        verdict = (await desk.bus.guard(["docs/reset.md"], agent="dev"))[0]
        assert verdict.allowed is (decision == "approved")

    at_desk(scene)


@proves("alerts/link/once")
def test_of_two_answers_at_once_one_counts_and_a_later_one_is_too_late() -> None:
    async def scene(desk: Desk) -> None:
        link = await desk.request()
        answers = await asyncio.gather(*(desk.post(link, action) for action in ("approve", "reject") * 4))
        assert sorted(answer.status for answer in answers) == [200] + [409] * 7
        again = await desk.post(link, "reject")
        assert (again.status, "Answered already" in again.body.decode()) == (409, True)
        assert "Answered already" in (await desk.get(link)).body.decode()
        answered = [
            message async for _, message in desk.bus.events(Query(type="approval_response", kinds=("accepted",)))
        ]
        assert len(answered) == 1

    at_desk(scene)


@proves("alerts/link/once")
def test_a_link_survives_a_restart_of_the_hub_and_is_used_up_for_all_hubs_of_the_store(tmp_path: Path) -> None:
    path, links = str(tmp_path / "telex.db"), list[str]()

    async def before(desk: Desk) -> None:
        links.append(await desk.request())

    async def after() -> None:
        async with telex.connect(path, settings=SETTINGS) as one, telex.connect(path, settings=SETTINGS) as two:
            desks = [Desk(one), Desk(two)]
            async with alive(desks[0].app), alive(desks[1].app):
                answers = await asyncio.gather(*(desk.post(links[0]) for desk in desks * 3))
                assert sorted(answer.status for answer in answers) == [200] + [409] * 5

    at_desk(before, path)
    play(after)
    stored = b"".join(file.read_bytes() for file in tmp_path.iterdir())
    assert links[0].rpartition("/")[2].encode() not in stored


@proves("alerts/link/get")
@pytest.mark.parametrize("method", ["GET", "HEAD"])
def test_fetching_a_link_changes_nothing(method: str) -> None:
    async def scene(desk: Desk) -> None:
        link = await desk.request()
        before = [event async for event, _ in desk.bus.events()]
        from_a_mail = {"sec-fetch-site": "cross-site", "sec-fetch-mode": "navigate", "sec-fetch-dest": "document"}
        for headers in ({}, {"user-agent": "Slackbot-LinkExpanding 1.0"}, {"purpose": "prefetch"}, from_a_mail):
            for query in ("", "?action=approve"):
                assert (await desk.get(link + query, method=method, headers=headers)).status == 200
        assert [event async for event, _ in desk.bus.events()] == before

    at_desk(scene)


@proves("alerts/link/get")
@pytest.mark.parametrize("method", ["PUT", "DELETE", "PATCH", "OPTIONS"])
def test_no_other_method_answers(method: str) -> None:
    async def scene(desk: Desk) -> None:
        link = await desk.request()
        assert (await desk.get(link, method=method)).status == 405
        assert (await desk.approval()).waits

    at_desk(scene)


@proves("alerts/link/changed")
def test_a_link_does_nothing_once_another_has_answered() -> None:
    async def scene(desk: Desk) -> None:
        link = await desk.request()
        await desk.bus.approve("ask-1", approved=False, reason="No.", agent="lead")
        assert (await desk.post(link)).status == 409
        approval = await desk.approval()
        assert approval.answer is not None
        assert approval.answer.by == "lead"

    at_desk(scene)


@proves("alerts/link/changed")
def test_a_link_does_nothing_once_the_contract_was_revised_and_the_next_notification_has_a_new_one() -> None:
    async def scene(desk: Desk) -> None:
        link = await desk.request()
        await desk.bus.send(contract(allowed_paths=["src/", "tests/"]), sender="lead", to="dev")
        answer = await desk.post(link)
        assert (answer.status, "Changed request" in answer.body.decode()) == (409, True)
        assert (await desk.get(link)).status == 409
        assert (await desk.approval()).waits
        newer = await desk.notified()
        assert newer != link
        assert (await desk.post(newer)).status == 200

    at_desk(scene)


@proves("alerts/link/changed/at-once")
def test_a_contract_that_is_revised_while_a_link_is_used_is_not_widened(monkeypatch: pytest.MonkeyPatch) -> None:
    async def scene(desk: Desk) -> None:
        link, read = await desk.request(), desk.needs.current

        async def read_just_before_the_revision() -> NeedsList:
            needs = await read()
            await desk.bus.send(contract(allowed_paths=["src/", "tests/"]), sender="lead", to="dev")
            return needs

        monkeypatch.setattr(desk.needs, "current", read_just_before_the_revision)
        answer = await desk.post(link)
        assert (answer.status, "Changed request" in answer.body.decode()) == (409, True)
        assert (await desk.approval()).waits

    at_desk(scene)


@proves("alerts/link/expired")
def test_an_expired_link_shows_and_does_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    async def scene(desk: Desk) -> None:
        link = await desk.request()
        now = time.time()
        monkeypatch.setattr("telex.surfaces.http.answer.time.time", lambda: now + 3_600)
        for answer in (await desk.get(link), await desk.post(link)):
            assert (answer.status, "Expired link" in answer.body.decode()) == (410, True)
        monkeypatch.undo()
        assert (await desk.approval()).waits

    at_desk(scene, link_seconds=60.0)


@proves("alerts/link/expired")
@pytest.mark.parametrize("due, expires", [(None, 87_400.0), (5_000.0, 5_000.0), (500.0, 87_400.0), (1e9, 87_400.0)])
def test_a_link_ends_with_the_deadline_or_after_a_day(due: float | None, expires: float) -> None:
    item = Item("approval:ask-1@1", "approval", "x", due=due)
    [link] = new_links([item], HUB, 1_000.0, 86_400.0).links.values()
    assert link.expires_at == expires


@proves("alerts/link/guessed")
def test_a_guessed_truncated_or_altered_link_is_unknown() -> None:
    async def scene(desk: Desk) -> None:
        link = await desk.request()
        token = link.rpartition("/")[2]
        wrong = ["0" * 64, token[:-1], token + "0", token.upper(), hash_of(token), "", "%00", "..", token[::-1]]
        for guess in wrong:
            for answer in (await desk.get(f"/answer/{guess}"), await desk.post(f"/answer/{guess}")):
                assert answer.status == 404, guess
        assert (await desk.approval()).waits

    at_desk(scene)


def test_other_fields_of_the_form_are_ignored() -> None:
    async def scene(desk: Desk) -> None:
        link = await desk.request()
        assert (await desk.post(link, "approve" + "&other=1" * 100)).status == 200

    at_desk(scene)


@proves("alerts/link/page", "alerts/link/get")
def test_the_page_has_no_scripts_and_only_its_own_form_may_answer() -> None:
    async def scene(desk: Desk) -> None:
        link = await desk.request()
        page = await desk.get(link)
        assert page.headers["content-security-policy"] == POLICY
        assert page.headers["cache-control"] == "no-store"
        assert "frame-ancestors 'none'" in POLICY
        assert not re.search(rb"<script|<img|<link|onclick|src=", page.body)
        for headers in (
            {"origin": "https://evil.example.org"},
            {"origin": "null"},
            {"sec-fetch-site": "cross-site", "sec-fetch-mode": "navigate", "sec-fetch-dest": "document"},
        ):
            assert (await desk.post(link, headers=headers)).code == "origin-not-allowed"
        framed = {"sec-fetch-site": "cross-site", "sec-fetch-mode": "navigate", "sec-fetch-dest": "iframe"}
        assert (await desk.get(link, headers=framed)).code == "origin-not-allowed"
        assert (await desk.approval()).waits
        assert (await desk.post(link, headers={"origin": HUB, "sec-fetch-site": "same-origin"})).status == 200

    at_desk(scene)


@proves("alerts/link/page")
def test_the_page_hides_nothing_that_a_request_says() -> None:
    async def scene(desk: Desk) -> None:
        tree = approval_request("gate_override", id="ask-1", subject="Write docs/\u202egpj.exe")
        tree["payload"]["options"] = ["docs/secret.txt"]
        await desk.bus.send(tree, sender="dev", to="lead")
        link = await desk.notified()
        text = (await desk.get(link)).body.decode()
        assert all(line.isprintable() for line in text.splitlines())
        assert "docs/\\u202egpj.exe" in text
        assert "also where the contract forbids it" in text

    at_desk(scene)


@proves("alerts/link/once")
def test_a_link_takes_no_other_action_and_a_refused_answer_leaves_it_open() -> None:
    async def scene(desk: Desk) -> None:
        link = await desk.request(subject="More room, please")
        for action in ("", "drop", "retry", "shutdown"):
            assert (await desk.post(link, action)).status == 400
        refused = await desk.post(link, "approve")
        assert (refused.status, "approval-widens-nothing" in refused.body.decode()) == (422, True)
        assert (await desk.approval()).waits
        assert (await desk.post(link, "reject")).status == 200

    at_desk(scene)
