"""Parser of hook payloads: one form for all clients, and the paths that a tool call writes."""

import os

from telex.model.named_tuple import NamedTuple
from telex.surfaces.clients.json_text import parse
from telex.surfaces.clients.table import CLIENTS, WAKE, Client

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

PATCH_BEGINS = "*** Begin Patch"
_PATCH_HEADS = ("*** Add File: ", "*** Update File: ", "*** Delete File: ", "*** Move to: ")
PATHS_MAX = 1_000  # of one patch


class HookCall(NamedTuple):
    client: Client  # that runs the hook, which may be another than the command line names
    event: str  # as the client calls it
    moment: str
    session_id: str
    cwd: str  # absolute
    tool: str = ""
    tool_input: "dict[str, Any]" = {}  # noqa: RUF012 - never changed
    tool_response: "Any" = None
    tool_use_id: str = ""
    agent_id: str = ""  # of a subagent or teammate
    agent_type: str = ""
    stop_hook_active: bool = False  # this stop follows from a hook that has blocked one


def read_call(client: str, event: str, payload: "Any", environ: "Mapping[str, str]") -> HookCall | None:
    """Parse a payload; None: it is invalid, or no handler needs the event."""
    if client not in CLIENTS or not isinstance(payload, dict):
        return None
    caller = CLIENTS[_caller(client, payload, environ)]
    # One plugin folder serves several clients, so the command line may have the event names of another one.
    moment = caller.events.get(event) or CLIENTS[client].events.get(event) or (WAKE if event == WAKE else None)
    if moment is None:
        return None
    fields = _opencode_fields(payload) if caller.name == "opencode" else payload
    return HookCall(
        client=caller,
        event=event,
        moment=moment,
        session_id=_text(fields, "session_id", "sessionId"),
        cwd=_folder(_text(fields, "cwd")),
        tool=_text(fields, "tool_name", "toolName"),
        tool_input=_table(fields, "tool_input", "toolArgs"),
        tool_response=fields.get("tool_response", fields.get("toolResult")),
        tool_use_id=_text(fields, "tool_use_id"),
        agent_id=_text(fields, "agent_id"),
        agent_type=_text(fields, "agent_type", "teammate_name"),
        stop_hook_active=fields.get("stop_hook_active") is True,
    )


def _caller(client: str, payload: "dict[str, Any]", environ: "Mapping[str, str]") -> str:
    """The client that sent this payload. Codex and Copilot run hooks of Claude's plugin folder, Qwen of Gemini's."""
    transcript = _text(payload, "transcript_path")
    if client == "claude":
        if "sessionId" in payload:
            return "copilot"
        if payload.get("session_id") == environ.get("CLAUDE_CODE_SESSION_ID", ""):
            return client
        is_codex = "model" in payload and ("turn_id" in payload or "permission_mode" in payload)
        return "codex" if is_codex or _is_under(transcript, ".codex") else client
    if client == "gemini" and (_is_under(transcript, ".qwen") or (not transcript and "QWEN_PROJECT_DIR" in environ)):
        return "qwen"
    return client


def _is_under(path: str, folder: str) -> bool:
    return f"/{folder}/" in path.replace("\\", "/")


def _opencode_fields(payload: "dict[str, Any]") -> "dict[str, Any]":
    """The arguments of opencode's plugin functions under the names of other clients."""
    given, output = _table(payload, "input"), _table(payload, "output")
    event = _table(payload, "event") or payload
    properties = _table(event, "properties")
    named = {
        "session_id": _text(given, "sessionID") or _text(properties, "sessionID"),
        "cwd": _text(_table(properties, "info"), "directory"),
        "tool_name": _text(given, "tool"),
        "tool_input": _table(output, "args") or _table(given, "args"),
        "tool_use_id": _text(given, "callID"),
    }
    return {name: value for name, value in named.items() if value} | payload


def _text(fields: "dict[str, Any]", *names: str) -> str:
    return next((value for name in names if isinstance(value := fields.get(name), str)), "")


def _table(fields: "dict[str, Any]", *names: str) -> "dict[str, Any]":
    for name in names:
        value = fields.get(name)
        if isinstance(value, str) and value.startswith("{"):
            try:
                value = parse(value)
            except ValueError:
                continue
        if isinstance(value, dict):
            return value
    return {}


def _folder(cwd: str) -> str:
    is_usable = os.path.isabs(cwd) and "\0" not in cwd and cwd.isprintable()
    return cwd if is_usable and os.path.isdir(cwd) else os.getcwd()


# --- written paths ----------------------------------------------------------------------------------------------------
def written_paths(call: HookCall) -> list[str]:
    """The paths that this tool call would write, absolute and normalised. What a shell command writes is not known."""
    client, tool = call.client, call.tool
    if tool in client.writes:
        path = call.tool_input.get(client.writes[tool])
        paths = [path] if isinstance(path, str) and path else []
    elif tool in client.patches:
        paths = patched_paths(_lines(call.tool_input.get(client.patches[tool])))
    elif tool in client.shells:
        command = _lines(call.tool_input.get(client.shells[tool]))
        paths = patched_paths(command) if PATCH_BEGINS in command else []
    else:
        return []
    return [os.path.normpath(os.path.join(call.cwd, path)) for path in paths if "\0" not in path]


def patched_paths(patch: str) -> list[str]:
    """The files that a patch of apply_patch adds, changes, deletes or renames."""
    lines = [line.strip() for line in patch.splitlines() if "*** " in line]
    paths = [line[len(head) :].strip() for line in lines for head in _PATCH_HEADS if line.startswith(head)]
    return list(dict.fromkeys(path for path in paths if path))[:PATHS_MAX]


def _lines(value: "Any") -> str:
    """A command line, also one that is a list of words."""
    if isinstance(value, list):
        return "\n".join(word for word in value if isinstance(word, str))
    return value if isinstance(value, str) else ""
