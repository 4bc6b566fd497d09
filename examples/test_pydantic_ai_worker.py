import langgraph_worker
import pytest
from pydantic_ai.models.test import TestModel
from pydantic_ai_worker import developer, worker

from telex.messages.build_flow import StatusUpdate, TaskAssignment
from telex.testing import Team

pytestmark = pytest.mark.anyio
TASK = TaskAssignment(
    task_id="T-1",
    title="Password reset",
    description="Let people reset their password by mail",
    phase=2,
    dependencies=[],
    context={},
)
OUTPUT = {"status": "COMPLETED", "details": "14 tests pass"}


async def test_the_output_of_the_model_is_the_reply_and_the_reviewer_was_asked() -> None:
    """Two frameworks in one team: the tool of this agent asks the reviewer of the LangGraph example."""
    with developer.override(model=TestModel(custom_output_args=OUTPUT)):
        async with Team() as team:
            team.worker(worker)
            team.worker(langgraph_worker.worker)
            reply = await team.agent("lead").request(TASK, to="developer")
            exchanged = [message.type for message in team.sent]
    assert StatusUpdate.from_message(reply).payload.details == "14 tests pass"
    assert exchanged == ["TASK_ASSIGNMENT", "VALIDATION_REQUEST", "VALIDATION_RESPONSE", "STATUS_UPDATE"]


async def test_a_model_that_fails_is_retried_and_then_a_dead_letter() -> None:
    with developer.override(model=TestModel(custom_output_args={"status": "DONE"})):
        async with Team() as team:
            team.worker(worker)
            team.worker(langgraph_worker.worker)
            await team.agent("lead").send(TASK, to="developer")
            await team.settle()
            assert [letter.type for letter in team.dead_letters()] == ["TASK_ASSIGNMENT"]
