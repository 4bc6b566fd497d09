from pathlib import Path

import httpx2
import openai
import openai_agents_worker
import pytest
from agents import Model
from scripted_model import ScriptedModel, call, say

from telex.messages.build_flow import DocQuery, DocResponse
from telex.testing import Team

pytestmark = pytest.mark.anyio
QUERY = DocQuery(query_type="SEARCH", topic="Password reset", keywords=["mail"])
SEARCH = call("search", '{"word": "mail"}')
ANSWER = say('{"response": [{"path": "auth.md", "relevance": 90}, {"path": "invented.md", "relevance": 80}]}')
RATE_LIMIT = openai.RateLimitError(
    "too many requests", response=httpx2.Response(429, request=httpx2.Request("POST", "https://model.test")), body=None
)


@pytest.fixture(autouse=True)
def docs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "auth.md").write_text("The link comes by mail.", encoding="utf-8")
    monkeypatch.setattr(openai_agents_worker, "DOCS", tmp_path)


def use(model: Model, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(openai_agents_worker.librarian, "model", model)


async def test_documents_that_exist_are_in_the_reply(monkeypatch: pytest.MonkeyPatch) -> None:
    use(ScriptedModel(SEARCH, ANSWER), monkeypatch)
    async with Team() as team:
        team.worker(openai_agents_worker.worker)
        reply = await team.agent("lead").request(QUERY, to="librarian")
    found = DocResponse.from_message(reply).payload
    assert [document.path for document in found.documents] == ["auth.md"]
    assert found.recommendation == "USE_EXISTING"


async def test_a_rate_limit_is_retried_later(monkeypatch: pytest.MonkeyPatch) -> None:
    use(ScriptedModel(RATE_LIMIT, ANSWER), monkeypatch)
    async with Team() as team:
        team.worker(openai_agents_worker.worker)
        await team.agent("lead").send(QUERY, to="librarian")
        await team.settle()
        assert [message.type for message in team.sent] == ["DOC_QUERY", "DOC_RESPONSE"]


async def test_a_model_that_does_not_finish_makes_a_dead_letter(monkeypatch: pytest.MonkeyPatch) -> None:
    use(ScriptedModel(*(call("search", '{"word": "mail"}') for _ in range(9))), monkeypatch)
    async with Team() as team:
        team.worker(openai_agents_worker.worker)
        await team.agent("lead").send(QUERY, to="librarian")
        await team.settle()
        assert len(team.dead_letters()) == 1
