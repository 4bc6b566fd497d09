"""A librarian in the OpenAI Agents SDK: it answers questions about the files of a folder.

Start it with `telex worker openai_agents_worker:worker`; the SDK reads OPENAI_API_KEY. DOCS names the folder.
"""

import os
from datetime import UTC, datetime
from pathlib import Path

import openai
from agents import Agent, MaxTurnsExceeded, Runner, function_tool
from pydantic import BaseModel

import telex
from telex.messages.build_flow import DocQuery, DocResponse

worker = telex.Worker("librarian")
DOCS = Path(os.environ.get("DOCS", "docs"))
RATE_LIMIT_SECONDS = 30.0


class Hit(BaseModel):
    """A document that the model recommends, and how relevant it is, from 0 to 100."""

    path: str
    relevance: int


@function_tool
def search(word: str) -> list[str]:
    """List the documents that contain a word."""
    return sorted(str(path.relative_to(DOCS)) for path in DOCS.rglob("*.md") if word in path.read_text("utf-8"))


librarian = Agent(
    name="librarian",
    instructions="Search the documents for each keyword. Answer with those that are about the topic.",
    tools=[search],
    output_type=list[Hit],
)


@worker.handles(DocQuery, concurrency=4)
async def answer(query: DocQuery) -> DocResponse:
    """Retry later at a rate limit; give up at once where the model does not come to an end."""
    question = f"Topic: {query.payload.topic}. Keywords: {', '.join(query.payload.keywords)}."
    try:
        run = await Runner.run(librarian, question, max_turns=8)
    except openai.RateLimitError as error:
        raise telex.Retry(RATE_LIMIT_SECONDS) from error
    except MaxTurnsExceeded as error:
        raise telex.Reject("the model did not finish within 8 turns") from error
    hits = [hit for hit in run.final_output_as(list[Hit]) if (DOCS / hit.path).is_file()]
    return DocResponse(
        found=bool(hits),
        documents=[_document(hit, query.payload.keywords) for hit in hits],
        recommendation="USE_EXISTING" if hits else "CREATE_NEW",
    )


def _document(hit: Hit, topics: list[str]) -> dict[str, object]:
    changed = datetime.fromtimestamp((DOCS / hit.path).stat().st_mtime, UTC)
    return {"path": hit.path, "relevance": hit.relevance, "topics": topics, "lastUpdated": f"{changed:%Y-%m-%d}"}


if __name__ == "__main__":
    worker.run()
