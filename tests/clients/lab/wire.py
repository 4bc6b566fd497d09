"""Model APIs as coding tools call them: Anthropic Messages, OpenAI Responses, OpenAI Chat Completions and Gemini.

`read` turns a request body into a ModelRequest; `events` and `document` turn a ModelReply into the streamed or whole
response. Only what the clients read of a response is there.
"""

import json
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple, Protocol

Tree = dict[str, Any]
Event = tuple[str | None, Tree | str]  # name of the server-sent event, its data


class ToolCall(NamedTuple):
    """A call that the scripted model makes. `telex:send` is the client's own name for the tool `send` of Telex."""

    tool: str
    arguments: Tree | None = None
    patch: str | None = None  # input of a freeform tool, instead of arguments


class ModelReply(NamedTuple):
    text: str = ""
    calls: tuple[ToolCall, ...] = ()


class ModelRequest(NamedTuple):
    """What the model was given in one request."""

    api: str
    at: float
    tools: tuple[str, ...]  # names, as a call has to use them
    telex_listing: str  # JSON of the tools of Telex
    system: str  # text of the instructions
    messages: tuple[str, ...]  # JSON of each message of the conversation, with plain quotes and line ends
    answers: tuple[str, ...]  # text of each tool result

    @property
    def text(self) -> str:
        return "\n".join((self.system, *self.messages))


class Wire(Protocol):
    api: str

    def read(self, body: Tree, at: float) -> ModelRequest: ...
    def document(self, reply: ModelReply, number: int, model: str) -> Tree: ...
    def events(self, document: Tree) -> Iterator[Event]: ...


def flat(content: Any) -> str:
    """Text of a content that is a string or a list of parts."""
    if isinstance(content, str):
        return content
    if isinstance(content, list):
        return "".join(part.get("text", "") if isinstance(part, dict) else str(part) for part in content)
    return json.dumps(content, ensure_ascii=False)


def readable(messages: Iterable[Any]) -> tuple[str, ...]:
    return tuple(json.dumps(m, ensure_ascii=False).replace('\\"', '"').replace("\\n", "\n") for m in messages)


def listing(tools: Iterable[Any]) -> str:
    return "".join(found for tool in tools if "telex" in (found := json.dumps(tool, ensure_ascii=False)))


class AnthropicMessages:
    api = "anthropic"

    def read(self, body: Tree, at: float) -> ModelRequest:
        tools, messages = body.get("tools") or [], body.get("messages") or []
        parts = [part for m in messages if isinstance(m.get("content"), list) for part in m["content"]]
        return ModelRequest(
            api=self.api,
            at=at,
            tools=tuple(tool.get("name", "") for tool in tools),
            telex_listing=listing(tools),
            system=flat(body.get("system") or ""),
            messages=readable(messages),
            answers=tuple(flat(part.get("content", "")) for part in parts if part.get("type") == "tool_result"),
        )

    def document(self, reply: ModelReply, number: int, model: str) -> Tree:
        content: list[Tree] = [{"type": "text", "text": reply.text}] if reply.text else []
        for index, call in enumerate(reply.calls):
            content.append(
                {"type": "tool_use", "id": f"toolu_{number}_{index}", "name": call.tool, "input": call.arguments or {}}
            )
        return {
            "id": f"msg_{number}",
            "type": "message",
            "role": "assistant",
            "model": model,
            "content": content,
            "stop_reason": "tool_use" if reply.calls else "end_turn",
            "stop_sequence": None,
            "usage": {"input_tokens": 1, "output_tokens": 1},
        }

    def events(self, document: Tree) -> Iterator[Event]:
        yield "message_start", {"type": "message_start", "message": {**document, "content": [], "stop_reason": None}}
        for index, block in enumerate(document["content"]):
            if block["type"] == "text":
                start, delta = {**block, "text": ""}, {"type": "text_delta", "text": block["text"]}
            else:
                start = {**block, "input": {}}
                delta = {"type": "input_json_delta", "partial_json": json.dumps(block["input"])}
            for kind, tree in (
                ("content_block_start", {"content_block": start}),
                ("content_block_delta", {"delta": delta}),
                ("content_block_stop", {}),
            ):
                yield kind, {"type": kind, "index": index, **tree}
        ending = {"stop_reason": document["stop_reason"], "stop_sequence": None}
        yield "message_delta", {"type": "message_delta", "delta": ending, "usage": document["usage"]}
        yield "message_stop", {"type": "message_stop"}


class OpenAIResponses:
    """Codex lists MCP tools as namespaces: a call names the namespace and the tool in two fields."""

    api = "responses"

    def read(self, body: Tree, at: float) -> ModelRequest:
        tools, items = body.get("tools") or [], body.get("input") or []
        names: list[str] = []
        for tool in tools:
            if tool.get("type") == "namespace":
                names += [f"{tool['name']}::{inner.get('name', '')}" for inner in tool.get("tools") or []]
            else:
                names.append(tool.get("name") or tool.get("type", ""))
        outputs = ("function_call_output", "custom_tool_call_output")
        return ModelRequest(
            api=self.api,
            at=at,
            tools=tuple(names),
            telex_listing=listing(tools),
            system=flat(body.get("instructions") or ""),
            messages=readable(items),
            answers=tuple(flat(item.get("output", "")) for item in items if item.get("type") in outputs),
        )

    def document(self, reply: ModelReply, number: int, model: str) -> Tree:
        output = [self.call_item(call, f"{number}_{index}") for index, call in enumerate(reply.calls)]
        if reply.text:
            content = [{"type": "output_text", "text": reply.text, "annotations": []}]
            output.append(
                {"type": "message", "id": f"m_{number}", "role": "assistant", "status": "completed", "content": content}
            )
        return {
            "id": f"resp_{number}",
            "object": "response",
            "created_at": 0,
            "status": "completed",
            "model": model,
            "output": output,
            "error": None,
            "usage": {"input_tokens": 1, "output_tokens": 1, "total_tokens": 2},
        }

    def call_item(self, call: ToolCall, number: str) -> Tree:
        namespace, _, name = call.tool.rpartition("::")
        item: Tree = {"id": f"fc_{number}", "call_id": f"call_{number}", "name": name, "status": "completed"}
        if call.patch is not None:
            return item | {"type": "custom_tool_call", "input": call.patch}
        item |= {"type": "function_call", "arguments": json.dumps(call.arguments or {})}
        return item | {"namespace": namespace} if namespace else item

    def events(self, document: Tree) -> Iterator[Event]:
        def event(kind: str, tree: Tree) -> Event:
            return kind, {"type": kind, **tree}

        yield event("response.created", {"response": {**document, "status": "in_progress", "output": []}})
        for index, item in enumerate(document["output"]):
            place = {"output_index": index}
            yield event("response.output_item.added", {**place, "item": item})
            if item["type"] == "message":
                delta = {"item_id": item["id"], "content_index": 0, "delta": item["content"][0]["text"]}
                yield event("response.output_text.delta", {**place, **delta})
            yield event("response.output_item.done", {**place, "item": item})
        yield event("response.completed", {"response": document})


class OpenAIChat:
    api = "chat"

    def read(self, body: Tree, at: float) -> ModelRequest:
        tools, messages = body.get("tools") or [], body.get("messages") or []
        return ModelRequest(
            api=self.api,
            at=at,
            tools=tuple(tool.get("function", {}).get("name", "") for tool in tools),
            telex_listing=listing(tools),
            system="\n".join(flat(m.get("content") or "") for m in messages if m.get("role") == "system"),
            messages=readable(m for m in messages if m.get("role") != "system"),
            answers=tuple(flat(m.get("content") or "") for m in messages if m.get("role") == "tool"),
        )

    def document(self, reply: ModelReply, number: int, model: str) -> Tree:
        calls = [
            {
                "index": index,
                "id": f"call_{number}_{index}",
                "type": "function",
                "function": {"name": call.tool, "arguments": json.dumps(call.arguments or {})},
            }
            for index, call in enumerate(reply.calls)
        ]
        message: Tree = {"role": "assistant", "content": reply.text or None}
        if calls:
            message["tool_calls"] = calls
        reason = "tool_calls" if calls else "stop"
        return {
            "id": f"chat_{number}",
            "object": "chat.completion",
            "created": 0,
            "model": model,
            "choices": [{"index": 0, "message": message, "finish_reason": reason}],
            "usage": {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2},
        }

    def events(self, document: Tree) -> Iterator[Event]:
        choice = document["choices"][0]
        head = {**document, "object": "chat.completion.chunk", "usage": None}
        yield None, {**head, "choices": [{"index": 0, "delta": choice["message"], "finish_reason": None}]}
        yield None, {**head, "choices": [{"index": 0, "delta": {}, "finish_reason": choice["finish_reason"]}]}
        yield None, {**head, "choices": [], "usage": document["usage"]}
        yield None, "[DONE]"


class GeminiContent:
    api = "gemini"

    def read(self, body: Tree, at: float) -> ModelRequest:
        tools = [one for tool in body.get("tools") or [] for one in tool.get("functionDeclarations") or []]
        contents = body.get("contents") or []
        responses = [
            part["functionResponse"]["response"]
            for content in contents
            for part in content.get("parts") or []
            if "functionResponse" in part
        ]
        return ModelRequest(
            api=self.api,
            at=at,
            tools=tuple(tool.get("name", "") for tool in tools),
            telex_listing=listing(tools),
            system=flat((body.get("systemInstruction") or {}).get("parts") or ""),
            messages=readable(contents),
            answers=tuple(flat(tree.get("output") or tree.get("error") or tree) for tree in responses),
        )

    def document(self, reply: ModelReply, number: int, model: str) -> Tree:
        parts: list[Tree] = [{"text": reply.text}] if reply.text else []
        parts += [{"functionCall": {"name": call.tool, "args": call.arguments or {}}} for call in reply.calls]
        return {
            "candidates": [{"content": {"role": "model", "parts": parts}, "finishReason": "STOP", "index": 0}],
            "usageMetadata": {"promptTokenCount": 1, "candidatesTokenCount": 1, "totalTokenCount": 2},
            "modelVersion": model,
            "responseId": str(number),
        }

    def events(self, document: Tree) -> Iterator[Event]:
        yield None, document


WIRES: dict[str, Wire] = {  # by the end of the path of a request
    "/messages": AnthropicMessages(),
    "/responses": OpenAIResponses(),
    "/chat/completions": OpenAIChat(),
    "enerateContent": GeminiContent(),
}


def wire_of(path: str) -> Wire | None:
    return next((wire for end, wire in WIRES.items() if path.endswith(end)), None)
