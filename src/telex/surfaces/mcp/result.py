"""Result of a tool call: text for the agent, and the same as a tree for programs."""

import json
from typing import Any, NamedTuple

from telex.errors import NotAMember, OutcomeUnknown, TelexError
from telex.model.finding import Finding
from telex.protocol import plain
from telex.protocol.arguments import CODE as ARGUMENTS_WRONG
from telex.surfaces.cli.output import shown, shown_block
from telex.surfaces.mcp.text import finding_text

AT_THE_DOOR = (
    "Your name and role are set where this server is configured: telex mcp --as NAME --role ROLE, TELEX_AGENT, or"
    " /mcp?as=NAME&role=ROLE on a hub."
)


PATIENCE_SECONDS = 55.0  # longer than any wait, shorter than the time after which clients give up


class ToolResult(NamedTuple):
    text: str
    tree: dict[str, Any]  # as at the other doors
    wrong: bool = False


def of_error(error: TelexError, say: str | None = None) -> ToolResult:
    """The world has failed, or was asked for what cannot be: what to do now, in the error's own words or in these."""
    say = error.say if say is None else say
    lines = [f"{error.code}: {shown_block(say)}"]
    tree: dict[str, Any] = {"code": error.code, "detail": say}
    id_ = getattr(error, "id", None)
    if isinstance(error, OutcomeUnknown):
        lines.append(f'Send it again with id "{shown(id_)}": that is safe.' if id_ else "Do it again: that is safe.")
    if isinstance(error, NotAMember):
        lines.append(AT_THE_DOOR)
    return ToolResult("\n".join(lines), tree | ({"id": id_} if id_ else {}), wrong=True)


def of_arguments(findings: list[Finding]) -> ToolResult:
    detail = "The arguments are invalid; nothing was done."
    tree = {"code": ARGUMENTS_WRONG, "detail": detail, "findings": plain(findings)}
    return ToolResult(f"{detail}\n{finding_text(findings)}", tree, wrong=True)


def of_silence(tool: str, id_: str | None) -> ToolResult:
    """The result of a call that timed out here, before the client gives up without a result."""
    say = f"no answer within {PATIENCE_SECONDS:g} s: the store or hub is unavailable; the call may have succeeded."
    if tool == "send" and id_ is None:
        say += (
            " Before you send it again, find out whether it was stored; with an id of its own, sending again is safe."
        )
        return ToolResult(f"{OutcomeUnknown.code}: {say}", {"code": OutcomeUnknown.code, "detail": say}, wrong=True)
    return of_error(OutcomeUnknown(say, id_))


def of_mistake(error: Exception) -> ToolResult:
    """Ours. The agent cannot fix it, and should not think that it was its own."""
    detail = (
        f"Telex has a bug ({type(error).__name__}); its log has the details. Do something else, and notify a person."
    )
    return ToolResult(f"internal-error: {detail}", {"code": "internal-error", "detail": detail}, wrong=True)


def tellable(tree: Any) -> Any:
    """The tree without half characters, which a message may hold and no protocol can carry."""
    try:
        json.dumps(tree, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        return _whole(tree)
    return tree


def _whole(tree: Any) -> Any:
    if isinstance(tree, str):
        return tree.encode("utf-8", "backslashreplace").decode()
    if isinstance(tree, dict):
        return {_whole(key): _whole(one) for key, one in tree.items()}
    return [_whole(one) for one in tree] if isinstance(tree, list) else tree
