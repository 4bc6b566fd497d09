"""Scripted model: an HTTP server on loopback that coding tools take for their model.

Each session is a path prefix (`/s/NAME`) with a script: a list of steps, one for each request of an agent. A step
is a reply, or a function that makes one from the request. Requests of the client's own (titles, summaries, routing)
list few tools or none; they are answered `ok` and take no step. All requests are kept, and written to a log folder as
JSON lines.
"""

import gzip
import json
import re
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, ClassVar
from urllib.parse import urlsplit

from tests.clients.lab.wire import ModelReply, ModelRequest, ToolCall, Wire, wire_of

Step = ModelReply | Callable[[ModelRequest], ModelReply]
SCRIPT_ENDED = ModelReply("(script ended)")
TOOLS_MIN = 8  # of a request of an agent; titles, suggestions and memories of clients come with fewer
MODELS = ("fake-model", "gpt-5", "claude-sonnet-4-5", "gemini-2.5-pro")


def call(tool: str, **arguments: Any) -> ModelReply:
    return ModelReply(calls=(ToolCall(tool, arguments),))


def say(text: str) -> ModelReply:
    return ModelReply(text)


class ModelSession:
    """Script and requests of one client process."""

    def __init__(self, name: str, log: Path) -> None:
        self.name, self.log = name, log
        self.steps: deque[Step] = deque()
        self.requests: list[ModelRequest] = []  # only those that took a step
        self.changed = threading.Condition()

    def script(self, steps: Iterable[Step]) -> None:
        with self.changed:
            self.steps.extend(steps)

    def reply(self, request: ModelRequest, body: Any) -> ModelReply:
        with self.changed:
            step = self.steps.popleft() if self.steps else SCRIPT_ENDED
            with self.log.open("a") as log:
                log.write(json.dumps({"session": self.name, "at": request.at, "body": body}) + "\n")
        reply = step(request) if callable(step) else step
        with self.changed:
            self.requests.append(request)
            self.changed.notify_all()
        return reply._replace(calls=tuple(c._replace(tool=tool_name(c.tool, request)) for c in reply.calls))

    def wait(self, is_done: Callable[[], Any], seconds: float) -> bool:
        """Wait until `is_done`, which is asked again after each request and every half second."""
        until = time.monotonic() + seconds
        with self.changed:
            while not is_done():
                if (left := until - time.monotonic()) <= 0:
                    return False
                self.changed.wait(min(left, 0.5))
        return True

    def wait_requests(self, count: int, seconds: float) -> bool:
        return self.wait(lambda: len(self.requests) >= count, seconds)


def tool_name(wanted: str, request: ModelRequest) -> str:
    """The client's own name for `telex:send`: from its listing, or from elsewhere in the request if it lists none."""
    if ":" not in wanted or "::" in wanted:
        return wanted
    server, tool = wanted.split(":", 1)
    ending = re.compile(rf"\b\w*{server}\w*(?:__|_|::|-){tool}")
    listed = [name for name in request.tools if ending.fullmatch(name)]
    if not listed and request.api == "responses":
        return f"mcp__{server}::{tool}"
    return min(listed or ending.findall(request.text), key=len, default=f"mcp__{server}__{tool}")


class ScriptedModel:
    """The server, its address, and its sessions."""

    def __init__(self, logs: Path) -> None:
        logs.mkdir(parents=True, exist_ok=True)
        self.logs = logs
        self.sessions: dict[str, ModelSession] = {}
        self.lock = threading.Lock()
        handler = type("Handler", (ModelHandler,), {"model": self})
        self.server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
        self.server.daemon_threads = True
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def session(self, name: str) -> ModelSession:
        with self.lock:
            if name not in self.sessions:
                self.sessions[name] = ModelSession(name, self.logs / f"{name}.jsonl")
            return self.sessions[name]

    def address(self, name: str) -> str:
        return f"http://127.0.0.1:{self.server.server_address[1]}/s/{name}"

    def close(self) -> None:
        self.server.shutdown()
        self.server.server_close()


class ModelHandler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    model: ClassVar[ScriptedModel]
    count: ClassVar[int] = 0

    def log_message(self, format: str, *arguments: Any) -> None:
        pass

    def place(self) -> tuple[ModelSession, str]:
        path = urlsplit(self.path).path
        match = re.match(r"/s/([^/]+)(.*)$", path)
        return self.model.session(match[1] if match else "other"), match[2] if match else path

    def send_json(self, tree: Any, status: int = 200) -> None:
        data = json.dumps(tree).encode()
        self.send_response(status)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def do_GET(self) -> None:
        if self.path.endswith("/models"):
            data = [{"id": name, "object": "model", "type": "model", "display_name": name} for name in MODELS]
            self.send_json({"object": "list", "data": data, "models": [], "has_more": False})
        else:
            self.send_json({"error": {"message": "not found", "type": "not_found_error"}}, 404)

    def do_POST(self) -> None:
        raw = self.rfile.read(int(self.headers.get("content-length") or 0))
        if self.headers.get("content-encoding") == "gzip":
            raw = gzip.decompress(raw)
        session, path = self.place()
        wire = wire_of(path)
        try:
            if wire is not None:
                self.answer(session, wire, json.loads(raw or b"{}"))
            elif path.endswith(("count_tokens", ":countTokens")):
                self.send_json({"input_tokens": len(raw) // 4, "totalTokens": len(raw) // 4})
            else:
                self.send_json({"error": {"message": "not found", "type": "not_found_error"}}, 404)
        except (BrokenPipeError, ConnectionResetError):
            self.close_connection = True

    def answer(self, session: ModelSession, wire: Wire, body: Any) -> None:
        request = wire.read(body, time.time())
        reply = session.reply(request, body) if len(request.tools) >= TOOLS_MIN else of_the_client(body)
        with self.model.lock:
            ModelHandler.count += 1
        document = wire.document(reply, ModelHandler.count, body.get("model") or "fake-model")
        if body.get("stream") or "streamGenerateContent" in self.path:
            self.stream(wire, document)
        else:
            self.send_json(document)

    def stream(self, wire: Wire, document: Any) -> None:
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.send_header("connection", "close")
        self.end_headers()
        self.close_connection = True
        for name, tree in wire.events(document):
            data = tree if isinstance(tree, str) else json.dumps(tree)
            self.wfile.write((f"event: {name}\n" if name else "").encode() + f"data: {data}\n\n".encode())
        self.wfile.flush()


def of_the_client(body: Any) -> ModelReply:
    """Reply to a request of the client's own. Gemini's router and the like ask for JSON."""
    if (body.get("generationConfig") or {}).get("responseMimeType") == "application/json":
        return say(json.dumps({"reasoning": "ok", "model_choice": "pro", "complexity_score": 50}))
    return say("ok")
