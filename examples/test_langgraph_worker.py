import langgraph_worker
import pytest
from langchain_core.language_models import FakeListChatModel

from telex.messages.build_flow import ValidationRequest, ValidationResponse
from telex.testing import Team

pytestmark = pytest.mark.anyio
QUESTION = ValidationRequest(
    task_id="T-1",
    validation_type="DESIGN",
    subject="Password reset",
    details={"approach": "Mail a link that works once"},
)


@pytest.mark.parametrize("answer, decision", [("APPROVED", "APPROVED"), ("REJECTED", "REJECTED"), ("?", "REJECTED")])
async def test_the_decision_of_the_graph_is_the_reply(
    answer: str, decision: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(langgraph_worker, "model", FakeListChatModel(responses=["No test for old links.", answer]))
    async with Team() as team:
        team.worker(langgraph_worker.worker)
        reply = await team.agent("lead").request(QUESTION, to="reviewer")
    verdict = ValidationResponse.from_message(reply).payload
    assert (verdict.decision, verdict.reasons) == (decision, ["No test for old links."])
