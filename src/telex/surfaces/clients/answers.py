"""Responses of hooks in the format of each client: context for the model, a denied tool call, a blocked end of a
turn."""

from telex.model.named_tuple import NamedTuple
from telex.surfaces.clients.calls import HookCall
from telex.surfaces.clients.json_text import dump

TYPE_CHECKING = False
if TYPE_CHECKING:
    from telex.model.contracts import PathVerdict

DONE, BLOCKED = 0, 2
FINDINGS_MAX = 5  # in one text
_SHELL_SAFE = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_@%+=:,./-")


class HookAnswer(NamedTuple):
    code: int = DONE
    out: str = ""  # JSON in the client's form
    err: str = ""  # text for the model, with exit code 2


NOTHING = HookAnswer()


def tell(call: HookCall, text: str) -> HookAnswer:
    """Context for the model."""
    if call.client.form == "copilot":
        return HookAnswer(out=dump({"additionalContext": text}))
    return HookAnswer(out=dump({"hookSpecificOutput": {"hookEventName": call.event, "additionalContext": text}}))


def deny(call: HookCall, text: str, mode: str = "deny") -> HookAnswer:
    """Deny a tool call; in the mode `ask` the client asks the person, if it can."""
    decision = "ask" if mode == "ask" and call.client.can_ask else "deny"
    if call.client.form == "gemini":
        return HookAnswer(out=dump({"decision": decision, "reason": text}))
    reason = {"permissionDecision": decision, "permissionDecisionReason": text}
    if call.client.form == "copilot":
        return HookAnswer(out=dump(reason))
    return HookAnswer(out=dump({"hookSpecificOutput": {"hookEventName": call.event, **reason}}))


def block(call: HookCall, text: str) -> HookAnswer:
    """Block the end of the turn; the text is its next prompt."""
    decision = "deny" if call.client.form == "gemini" else "block"
    return HookAnswer(out=dump({"decision": decision, "reason": text}))


def denial_text(refused: "list[PathVerdict]", agent: str) -> str:
    """Path, code and reason of each refused path, and the call that requests them."""
    from telex.model.text import shown

    shorter = refused[:FINDINGS_MAX]
    lines = [f"Telex: {shown(verdict.path)}: {verdict.code}: {shown(verdict.reason)}" for verdict in shorter]
    if len(refused) > FINDINGS_MAX:
        lines.append(f"and {len(refused) - FINDINGS_MAX} more paths")
    request = next((verdict for verdict in refused if verdict.ask is not None), None)
    if request is not None:
        arguments = dump({"to": request.ask_to, "message": request.ask})
        command = f"telex send --as {shell_word(agent)} --to {shell_word(request.ask_to or '')} -"
        lines.append(f"The telex tool `send` requests it: {arguments}")
        lines.append(f"So does, with the message on stdin: {command}")
    return "\n".join(lines)


def shell_word(name: str) -> str:
    """A name as a word of a command line."""
    from telex.model.text import shown

    return name if name and _SHELL_SAFE.issuperset(name) else "'" + shown(name).replace("'", "'\\''") + "'"
