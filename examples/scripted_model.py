"""Model of the OpenAI Agents SDK that gives prepared answers in order and calls no network."""

from collections.abc import AsyncIterator, Iterator
from itertools import count
from typing import Any

from agents import Model, ModelResponse, Usage
from agents.items import TResponseOutputItem, TResponseStreamEvent
from openai.types.responses import ResponseFunctionToolCall, ResponseOutputMessage, ResponseOutputText


class ScriptedModel(Model):
    """Answers with the next prepared output; an exception among them is raised."""

    def __init__(self, *outputs: TResponseOutputItem | Exception) -> None:
        self._outputs: Iterator[TResponseOutputItem | Exception] = iter(outputs)

    async def get_response(self, *args: Any, **kwargs: Any) -> ModelResponse:
        output = next(self._outputs)
        if isinstance(output, Exception):
            raise output
        return ModelResponse(output=[output], usage=Usage(), response_id=None)

    def stream_response(self, *args: Any, **kwargs: Any) -> AsyncIterator[TResponseStreamEvent]:
        raise NotImplementedError("the examples do not stream")


_numbers = count(1)


def say(text: str) -> ResponseOutputMessage:
    content = ResponseOutputText(text=text, type="output_text", annotations=[])
    return ResponseOutputMessage(
        id=f"message-{next(_numbers)}", content=[content], role="assistant", status="completed", type="message"
    )


def call(tool: str, arguments: str) -> ResponseFunctionToolCall:
    return ResponseFunctionToolCall(
        call_id=f"call-{next(_numbers)}", name=tool, arguments=arguments, type="function_call"
    )
