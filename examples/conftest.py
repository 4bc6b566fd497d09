"""No example calls a real model: a test that would is an error."""

import agents
import pydantic_ai.models
import pytest

pydantic_ai.models.ALLOW_MODEL_REQUESTS = False
agents.set_tracing_disabled(True)


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"
