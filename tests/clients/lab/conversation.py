"""Two real clients in one project: Claude Code as lead and Codex as dev, in tmux, with one prompt.

`python -m tests.clients.lab.conversation` starts both by `telex run`, types the first prompt into the lead's pane and
nothing after it. The models follow their scripts; every turn but the first is begun by a wake. `--page` writes the
recording to a page.
"""

import argparse
import json
import re
import sys
import time
from pathlib import Path
from typing import Any

from tests.clients.lab.isolation import isolate
from tests.clients.lab.model import Step, call, say
from tests.clients.lab.plays import CONTRACT, token_of
from tests.clients.lab.programs import patch
from tests.clients.lab.report import write_tables
from tests.clients.lab.room import ClientRoom
from tests.clients.lab.run import LabRun, lab_run
from tests.clients.lab.wire import ModelReply, ModelRequest, ToolCall

ROOT = Path(__file__).parents[3]
PROMPT = "Have dev build the password reset of plan 2-1, answer its questions, and tell me when it is done."
SECONDS_MAX = 150
PANE_ROWS = 250  # for the whole conversation
PEER_NOTE = re.compile(r"(This came from another Claude session).*?laundering\.", re.DOTALL)
PLAN = json.loads(CONTRACT.read_text())
UPDATE = json.loads((ROOT / "samples/vbw-typed/2-update.json").read_text())
MESSAGES = (PLAN["id"], "how-long", "hour", "ask-mail", "yes-mail", UPDATE["id"], "thanks")


def take() -> list[Step]:
    """Lease the next message and ack it."""
    return [call("telex:wait", seconds=10), lambda request: call("telex:ack", token=token_of(request))]


def send(to: str, message: Any, **arguments: str) -> ModelReply:
    return call("telex:send", message=message, to=to, **arguments)


def proposed(request: ModelRequest) -> ModelReply:
    """Send the request that the denial of the write has in its text."""
    answer = request.answers[-1]
    for match in re.finditer(r"\{", answer):
        try:
            message, _ = json.JSONDecoder().raw_decode(answer, match.start())
        except ValueError:
            continue
        if message.get("type") == "approval_request":
            return send("lead", {**message, "id": "ask-mail"})
    return say(f"No request in the denial: {answer}")


def approval(request: ModelRequest) -> ModelReply:
    message = {
        "type": "approval_response",
        "id": "yes-mail",
        "phase": 2,
        "task": "2-1-T1",
        "author_role": "lead",
        "timestamp": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(request.at)),
        "schema_version": "2.0",
        "confidence": "high",
        "payload": {"request_id": "ask-mail", "approved": True, "reason": "The link is sent by mail."},
    }
    return send("dev", message, reply_to="ask-mail")


def lead_steps() -> list[Step]:
    return [
        send("dev", PLAN),
        say("I sent dev the plan. I go on when it answers."),
        *take(),
        send("dev", "One hour. A link that was used is dead.", id="hour"),
        say("Answered."),
        *take(),
        approval,
        say("Approved: the mail is part of it."),
        *take(),
        send("dev", "Seen, thank you. That is all.", id="thanks"),
        say("The password reset is done: dev reports 14 passing tests."),
    ]


def dev_steps(project: Path) -> list[Step]:
    def write(path: str) -> ModelReply:
        return ModelReply(calls=(ToolCall("apply_patch", patch=patch(str(project / path), "done = True\n")),))

    incomplete = {key: value for key, value in UPDATE.items() if key not in ("id", "confidence")}
    return [
        say("I am dev. I wait for work."),
        *take(),
        send("lead", "How long does a reset link live: an hour or a day?", id="how-long"),
        say("I asked lead about the lifetime of a link."),
        *take(),
        write("src/auth/reset.py"),
        write("src/mail/send.py"),  # outside the contract: denied
        proposed,
        say("The plan does not allow src/mail. I asked for it."),
        *take(),
        write("src/mail/send.py"),
        send("lead", incomplete),  # refused: a field is missing
        send("lead", UPDATE),
        say("Reported."),
        *take(),
        say("Nothing left to do."),
    ]


def start(run: LabRun) -> tuple[ClientRoom, ClientRoom]:
    lead, dev = run.room("claude", "two", "lead"), run.room("codex", "two", "dev")
    for room in (lead, dev):
        room.connect()
    lead.session.script(lead_steps())
    dev.session.script(dev_steps(dev.lab.project))
    return lead, dev


def record(run: LabRun) -> tuple[bool, str]:
    """The conversation, and whether it came to its end; with the messages, the log and both screens as text."""
    lead, dev = start(run)
    dev_pane = dev.run_in_pane(run.server, "-m", "gpt-5.5", "You are dev. Work on what lead sends you.")
    lead_pane = lead.run_in_pane(run.server, *lead.client.interactive)
    dev.session.wait_requests(1, 60)
    time.sleep(3)
    lead_pane.type(PROMPT)
    if not lead.session.wait_requests(1, 30):
        raise RuntimeError(f"no first turn:\n{lead_pane.screen()}")
    is_done = dev.session.wait(lambda: not (lead.session.steps or dev.session.steps), SECONDS_MAX)
    time.sleep(3)
    panes = {"lead": lead_pane.screen(), "dev": dev_pane.screen()}
    parts = {"telex log": lead.telex("log").output, "wakes": wakes_of(lead)}
    parts |= {f"pane of {name}": PEER_NOTE.sub(r"\1 …", screen) for name, screen in panes.items()}
    text = "\n".join(f"=== {title}\n{compact(part)}\n" for title, part in parts.items())
    text = text.replace(str(lead.lab.project), "~/project").replace(str(lead.lab.home), "~")
    states = {message_id: lead.state(message_id) for message_id in MESSAGES}
    is_complete = is_done and all(state == "acked" for state in states.values())
    return is_complete, text if is_complete else f"{text}\nnot complete: {states}"


def wakes_of(room: ClientRoom) -> str:
    lines = room.telex("events").output.splitlines()
    return "\n".join(line for line in lines if " wake-" in line)


def compact(screen: str) -> str:
    """Screen without the lines that hold only a ruler, and with one blank line where there are many."""
    lines = [line.rstrip() for line in screen.splitlines() if not re.fullmatch(r"[─\s]+", line) or not line.strip()]
    return re.sub(r"\n{3,}", "\n\n", "\n".join(lines)).strip()


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.clients.lab.conversation", description=__doc__)
    parser.add_argument(
        "--programs", type=Path, default=ROOT / ".cache/clients", help="where the clients are installed"
    )
    parser.add_argument("--page", type=Path, help="page that gets the recording")
    parser.add_argument("--keep", action="store_true", help="keep homes, projects and logs")
    chosen = parser.parse_args()
    isolate("tests.clients.lab.conversation")
    with lab_run(chosen.programs.resolve(), keep=chosen.keep, rows=PANE_ROWS) as run:
        is_done, text = record(run)
    print(text)
    if is_done and chosen.page:
        write_tables(chosen.page, {"recording": f"```text\n{text.rstrip()}\n```"})
    sys.exit(0 if is_done else 1)


if __name__ == "__main__":
    main()
