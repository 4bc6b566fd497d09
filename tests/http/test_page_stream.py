"""Updates of the page: what they hold, how often they come, and how a page resumes."""

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any, NamedTuple

import pytest

import telex
from telex.ports.bus import Bus
from telex.surfaces.http import page_stream
from telex.surfaces.http.app import Hub
from telex.surfaces.http.asgi import App
from telex.surfaces.http.page import routes
from telex.surfaces.http.page_stream import PageStream
from telex.surfaces.http.tokens import AT_HOME
from telex.surfaces.page.changes import ROWS_MAX
from tests.bus.bus_team import speech_of
from tests.http.http_kit import QUIET, Asking, alive, left, let_in_as, played, soon
from tests.proofs import proves


class Update(NamedTuple):
    id: str
    facts: dict[str, Any]

    @property
    def gists(self) -> list[str]:
        return [row["gist"] for row in self.facts["rows"]]


class Page:
    """One open page."""

    def __init__(self, app: App, last: str = "") -> None:
        headers = {"accept": "text/event-stream"} | ({"last-event-id": last} if last else {})
        self.request = Asking(app, "GET", "/page/stream", headers=headers)

    @property
    def updates(self) -> list[Update]:
        found = []
        for block in self.request.text.split("\n\n"):
            fields = dict(line.split(": ", 1) for line in block.splitlines() if ": " in line)
            if fields.get("event") == "update":
                found.append(Update(fields["id"], json.loads(fields["data"])))
        return found

    async def until(self, enough: Callable[[list[Update]], bool]) -> list[Update]:
        await self.request.until(lambda: enough(self.updates))
        return self.updates

    async def state(self, state: str) -> dict[str, Any]:
        """The first update with a message in that state."""

        def found() -> list[dict[str, Any]]:
            updates = [update.facts for update in self.updates]
            return [facts for facts in updates if state in [row["state"] for row in facts["rows"]]]

        await self.request.until(lambda: bool(found()))
        return found()[0]

    async def told(self, words: str) -> None:
        await self.until(lambda found: any(words in gist for update in found for gist in update.gists))

    async def opened(self) -> Update:
        return (await self.until(bool))[0]


class Team(NamedTuple):
    bus: Bus
    app: App
    stream: PageStream

    async def send(self, text: str, sender: str = "dev", to: str = "lead", **more: Any) -> None:
        await self.bus.send(text, sender=sender, to=to, check=False, **more)


@asynccontextmanager
async def opened(where: str = "memory:") -> AsyncIterator[Team]:
    async with telex.connect(where, settings=QUIET) as bus:
        found = routes(bus, QUIET)
        [stream] = [route.endpoint for route in found if isinstance(route.endpoint, PageStream)]
        app = let_in_as(AT_HOME, Hub(bus, QUIET, found))
        async with alive(app):
            yield Team(bus, app, stream)


@proves("page/stream/updates")
@played
async def test_an_update_has_the_messages_agents_and_conversations_that_changed() -> None:
    async with opened() as team:
        page = Page(team.app)
        first = await page.opened()
        assert (first.facts["seq"], first.facts["rows"], first.facts["agents"]) == (0, [], [])
        await team.send("The build is red", correlation="build")
        sent = await page.state("sent")
        assert [(row["gist"], row["from"], row["to_label"]) for row in sent["rows"]] == [
            ("The build is red", "dev", "lead")
        ]
        assert set(sent["agents"]) == {"dev", "lead"}
        assert sent["conversations"] == ["build"]
        assert sent["roster"] is True
        [lease] = await team.bus.receive("lead")
        await page.state("in-hand")
        await team.bus.ack(lease.token, agent="lead")
        done = await page.state("done")
        assert (set(done["agents"]), done["roster"]) == ({"lead", "dev"}, False)
        await left(page.request)


@proves("page/stream/coalesced")
@played
async def test_updates_are_coalesced_and_encoded_once_for_all_pages(monkeypatch: pytest.MonkeyPatch) -> None:
    encoded: list[Any] = []

    def counted(tree: Any) -> bytes:
        encoded.append(tree)
        return telex.protocol.encoded(tree)

    monkeypatch.setattr(page_stream, "encoded", counted)
    async with opened() as team:
        pages = [Page(team.app) for _ in range(20)]
        for page in pages:
            await page.opened()
        encoded.clear()
        for number in range(60):
            await team.send(f"message {number}")
            await asyncio.sleep(0.01)
        last = (await pages[0].until(lambda found: any("message 59" in update.gists for update in found)))[-1].facts[
            "seq"
        ]
        for page in pages:
            updates = await page.until(lambda found: found[-1].facts["seq"] >= last)
            assert len({gist for update in updates for gist in update.gists}) == 60
            assert len(updates) <= 12
        assert len(encoded) <= 12
        await left(*(page.request for page in pages))
        assert team.stream.pages == 0


@proves("page/stream/resume")
@played
async def test_a_page_that_resumes_gets_what_it_missed_as_one_update() -> None:
    async with opened() as team:
        await team.send("before")
        page = Page(team.app)
        last = (await page.opened()).id
        await left(page.request)
        await team.send("missed", correlation="build")
        await team.send("missed too", sender="qa")
        again = Page(team.app, last)
        missed = await again.opened()
        assert missed.gists == ["missed too", "missed"]
        assert "reset" not in missed.facts
        await left(again.request)
        for number in range(ROWS_MAX + 1):
            await team.send(f"message {number}")
        late = Page(team.app, missed.id)
        facts = (await late.opened()).facts
        assert (facts["reset"], facts["rows"]) == (True, [])
        await left(late.request)


@proves("page/stream/other-record")
@pytest.mark.parametrize("last", ["1:1.5", "5000:1794891000.25"])
@played
async def test_a_page_that_shows_another_store_is_told_so(last: str) -> None:
    async with opened() as team:
        await team.send("another store")
        page = Page(team.app, last)
        await soon(page.request.task)
        assert "event: other-record" in page.request.text
        assert page.updates == []


@proves("page/stream/slow")
@played
async def test_a_page_that_does_not_read_is_disconnected_and_holds_up_nobody() -> None:
    async with opened() as team:
        team.stream.behind_bytes_max = 2_000
        slow, page = Page(team.app), Page(team.app)
        await slow.opened()
        await page.opened()
        slow.request.takes.clear()
        for number in range(12):
            await team.send(f"message {number} {'x' * 140}")
            await page.told(f"message {number} ")
        assert team.stream.pages == 1
        slow.request.takes.set()
        await soon(slow.request.task)
        await left(page.request)


@proves("page/stream/needs")
@played
async def test_what_needs_a_person_is_counted_for_all_pages() -> None:
    async with opened() as team:
        page = Page(team.app)
        await page.opened()
        await page.until(lambda found: 0 in [update.facts["needs"] for update in found])
        escalation = speech_of("vbw-company", "escalation", **{"from": "dev", "to": "senior"})
        await team.bus.send(escalation.tree, sender="dev", to="senior", check=False)
        await page.until(lambda found: 1 in [update.facts["needs"] for update in found])
        other = Page(team.app)
        assert (await other.opened()).facts["needs"] == 1
        await left(page.request, other.request)


@proves("page/stream/resume")
@pytest.mark.parametrize("last", ["x", "-1:2", "1e3:5", "9" * 30, "1:y"])
@played
async def test_an_id_that_is_none_is_refused(last: str) -> None:
    async with opened() as team:
        page = Page(team.app, last)
        await soon(page.request.task)
        assert page.request.status == 400
        assert json.loads(page.request.text)["code"] == "arguments-wrong"
