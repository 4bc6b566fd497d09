"""A reviewer in LangGraph: a graph of two model calls, run by a handler that is not async.

Start it with `telex worker langgraph_worker:worker`. `model` is LangChain's fake chat model; put a real one in its
place, for example `ChatAnthropic(model="claude-sonnet-4-5")`.
"""

from typing import TypedDict

from langchain_core.language_models import BaseChatModel, FakeListChatModel
from langgraph.graph import END, START, StateGraph

import telex
from telex.messages.build_flow import ValidationRequest, ValidationResponse

worker = telex.Worker("reviewer")
model: BaseChatModel = FakeListChatModel(responses=["The token is stored in plain text.", "REJECTED"])


class Review(TypedDict):
    """The state of the graph."""

    question: str
    findings: str
    decision: str


def inspect(state: Review) -> dict[str, str]:
    return {"findings": model.invoke(f"List what is wrong with this approach: {state['question']}").text}


def decide(state: Review) -> dict[str, str]:
    return {"decision": model.invoke(f"Answer APPROVED or REJECTED. Findings: {state['findings']}").text}


graph = StateGraph(Review)
graph.add_node("inspect", inspect)
graph.add_node("decide", decide)
graph.add_edge(START, "inspect")
graph.add_edge("inspect", "decide")
graph.add_edge("decide", END)
review = graph.compile()


@worker.handles(ValidationRequest)
def validate(request: ValidationRequest) -> ValidationResponse:
    """A handler that is not async runs in a thread; the lease is extended while it runs."""
    question = request.payload.details.approach or request.payload.subject
    state = review.invoke({"question": question, "findings": "", "decision": ""})
    return ValidationResponse(
        task_id=request.payload.task_id,
        decision="APPROVED" if state["decision"].strip() == "APPROVED" else "REJECTED",
        reasons=[state["findings"]],
    )


if __name__ == "__main__":
    worker.run()
