"""`telex hook` for people: its help, and the explanation of one event. `main` runs hooks of clients directly."""

import os
import sys
from time import time

from telex.surfaces.cli.output import shown, shown_block
from telex.surfaces.cli.usage import DONE, Option, parse
from telex.surfaces.clients.calls import read_call
from telex.surfaces.clients.hook import HookRun
from telex.surfaces.clients.hook_process import read_payload
from telex.surfaces.clients.hook_process import run as run_hook
from telex.surfaces.clients.table import CLIENTS, WAKE

OPTIONS = (
    Option("--explain", "", "print the decision of the hook, and change nothing"),
    Option("--help", "", "show this", "-h"),
)
USAGE_LINE = "telex hook CLIENT EVENT"
HELP = f"""{USAGE_LINE} [options]

Answer one event of a coding tool: its JSON on stdin, the answer on stdout in the
tool's own form. `telex init` writes this command into the tool's settings.
CLIENT: {", ".join(CLIENTS)}.
EVENT: the tool's own name of it, or {WAKE}.

%s

Exit code: 0, also after an error, which is logged in .telex/hook.log;
2 from {WAKE} and TeammateIdle, when there is unread mail.
"""


def run(args: list[str]) -> int:
    options = parse(args, OPTIONS, HELP)
    if options is None:
        return DONE
    if len(options.operands) != 2 or options.operands[0] not in CLIENTS:
        sys.stderr.write(f"telex: {USAGE_LINE}; clients: {', '.join(CLIENTS)}\n")
        return DONE  # a client may take any other code as a decision
    client, event = options.operands
    return _explain(client, event) if options.has("--explain") else run_hook(client, event, is_process=False)


def _explain(client: str, event: str) -> int:
    payload = {} if sys.stdin is None or sys.stdin.isatty() else read_payload()
    call = read_call(client, event, payload, os.environ)
    if call is None:
        known = ", ".join([*CLIENTS[client].events, WAKE])
        why = "the input is no JSON object" if not isinstance(payload, dict) else f"events of {client}: {known}"
        sys.stdout.write(f"nothing to do: {why}\n")
        return DONE
    hook = HookRun(call, os.environ, time(), is_dry=True)
    answer = hook.answer()
    facts = {
        "client": call.client.name,
        "moment": call.moment,
        "session": call.session_id or "not given",
        "folder": call.cwd,
        "store": hook.store or "none",
    }
    lines = [f"{name:<8} {shown(value)}" for name, value in facts.items()]
    lines += [f"- {shown(note)}" for note in hook.notes]
    lines.append(f"exit {answer.code}, " + ("answer:" if answer.out or answer.err else "no answer"))
    sys.stdout.write(
        "\n".join([*lines, *([shown_block(answer.out or answer.err)] if answer != (0, "", "") else [])]) + "\n"
    )
    return DONE
