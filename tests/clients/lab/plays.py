"""Plays of the lab: what a client's model does step by step, and what has to be true afterwards."""

import re
import time
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from tests.clients.lab.model import call, say
from tests.clients.lab.room import ClientRoom
from tests.clients.lab.tmux import TmuxServer
from tests.clients.lab.wire import ModelReply, ModelRequest

ROOT = Path(__file__).parents[3]
CONTRACT = ROOT / "samples/vbw-typed/1-plan.json"  # allows src/auth/, not src/mail/
BODY = "Please look at the build: it is red since noon."
BLOCKER = {"type": "dev_blocker", "task": "1-1"}
FIXED = {**BLOCKER, "plan_id": "1", "blocker": "There is no table.", "needs": "1-0"}
IDLE_SECONDS = 3  # after the last request of a turn the session is idle
QUIET_SECONDS = 4  # for which a session with an outstanding wake has to stay idle
TURN_SECONDS_MAX = 45
WAKE_SECONDS_MAX = 25


class Check(NamedTuple):
    """Outcome of one check: whether it passed, and a figure or the reason why not."""

    name: str
    is_passed: bool
    detail: str = ""


def tokens(text: str) -> int:
    return len(text) // 4


def token_of(request: ModelRequest) -> str:
    """Token of the lease that the newest answer with one names."""
    found = re.findall(r"token[\" :\\]+([0-9]+\.[0-9]+)", "\n".join(request.answers))
    return found[-1] if found else "no token in the answers"


def messages(room: ClientRoom) -> list[Check]:
    """Refused send, fixed send, inbox, wait, ack, and a wait in which nothing comes; sizes as the model saw them."""
    room.send("hello-1", BODY)
    room.session.script(
        [
            call("telex:send", message=BLOCKER, to="lead"),
            call("telex:send", message=FIXED, to="lead", id="fixed-1"),
            call("telex:inbox"),
            call("telex:wait", seconds=3),
            lambda request: call("telex:ack", token=token_of(request)),
            call("telex:wait", seconds=1),
            say("Done."),
        ]
    )
    done = room.headless("go")
    requests = room.session.requests
    if len(requests) < 7:
        end = "\n".join(requests[-1].answers[-1:]) if requests else done.output[-300:]
        return [Check("messages", False, f"{len(requests)} of 7 requests; exit {done.code}; {end}")]
    refused, sent, inbox, wait, _ack, empty = requests[6].answers[:6]
    return [
        Check("refused send", "plan_id" in refused and room.state("fixed-1") == "stored", f"{tokens(refused)}"),
        Check("fixed send", "fixed-1" in sent, f"{tokens(sent)}"),
        Check("inbox", "hello-1" in inbox, f"{tokens(inbox)}"),
        Check("wait", f"| {BODY}" in wait, f"{tokens(wait) - tokens(BODY)}"),
        Check("ack", room.state("hello-1") == "acked"),
        Check("empty wait", bool(empty), f"{tokens(empty)}"),
        Check("listing", True, f"{tokens(requests[0].telex_listing)}"),
        Check("seconds", done.code == 0, f"{done.seconds:.1f}"),
    ]


def turn(room: ClientRoom) -> list[Check]:
    """Unread mail at the start and between tool calls; a write outside the contract and one inside it."""
    room.telex("send", "--as", "lead", "--to", room.agent, str(CONTRACT))
    room.send("start-1", "Before you begin.")
    for folder in ("src/mail", "src/auth"):
        (room.lab.project / folder).mkdir(parents=True)
    outside, inside = (str(room.lab.project / path) for path in ("src/mail/x.py", "src/auth/x.py"))

    def mail_during_turn(_request: ModelRequest) -> ModelReply:
        room.send("tool-1", "While you work.")
        return call("telex:team")

    room.session.script(
        [
            mail_during_turn,
            ModelReply(calls=(room.client.write(outside, "x = 1\n"),)),
            ModelReply(calls=(room.client.write(inside, "x = 1\n"),)),
            say("Done."),
        ]
    )
    done = room.headless("go", *room.client.write_arguments)
    requests = room.session.requests
    denial = requests[2].answers[-1] if len(requests) > 2 and requests[2].answers else f"exit {done.code}"
    is_denied = "path-outside-contract" in denial and not Path(outside).exists()
    return [
        Check("unread at start", bool(requests) and "start-1" in requests[0].text),
        Check("unread after a tool", any("tool-1" in request.text for request in requests[1:4])),
        Check("write denied", is_denied, "" if is_denied else denial[:200]),
        Check("write allowed", Path(inside).exists()),
    ]


def idle(room: ClientRoom, server: TmuxServer) -> list[Check]:
    """Mail at the end of a turn, for an idle session, and at the next prompt."""

    def mail_at_stop(_request: ModelRequest) -> ModelReply:
        room.send("stop-1", "Before you stop.")
        return say("Ready.")

    lease = call("telex:wait", seconds=5, limit=9)
    room.session.script([mail_at_stop, say("Thanks."), say("Thanks again."), lease, say("Done.")])
    pane = room.run_in_pane(server, *room.client.interactive)
    try:
        pane.type("hello")
        if not room.session.wait_requests(1, TURN_SECONDS_MAX):
            return [Check("unread at stop", False, "no first turn:\n" + pane.screen())]
        checks = [stop_check(room), wake_check(room), prompt_check(room, pane.type)]
        (room.model.logs / f"{room.session.name}.screen").write_text(pane.screen())
        return checks
    finally:
        pane.close()


def is_seen(room: ClientRoom, id: str, after: int, seconds: float) -> bool:
    """Whether the model is given the message's id in a request after so many others."""
    return room.session.wait(lambda: any(id in request.text for request in room.session.requests[after:]), seconds)


def stop_check(room: ClientRoom) -> Check:
    is_there = is_seen(room, "stop-1", 1, TURN_SECONDS_MAX)
    wakes = sum(event.get("kind") == "wake-delivered" for event in room.json("events", "--json"))
    time.sleep(IDLE_SECONDS)
    return Check("unread at stop", is_there, "by a wake" if wakes else "")


def wake_check(room: ClientRoom) -> Check:
    """A new message starts a turn, though nobody types. A text that Telex types into the terminal has no ids."""
    before, began = len(room.session.requests), time.time()
    room.send("wake-1", "Are you there?")
    if not room.session.wait_requests(before + 1, WAKE_SECONDS_MAX):
        return Check("idle wake", False, "not woken")
    woken = room.session.requests[before]
    is_wake = "Telex: " in woken.messages[-1]
    return Check("idle wake", is_wake, f"{woken.at - began:.1f}" if is_wake else woken.messages[-1][:200])


def prompt_check(room: ClientRoom, type_text: Callable[[str], None]) -> Check:
    """The model leased nothing, so the wake is outstanding: a second message starts no turn, and is in the prompt."""
    time.sleep(IDLE_SECONDS)
    before = len(room.session.requests)
    room.send("prompt-1", "For your next turn.")
    time.sleep(QUIET_SECONDS)
    if len(room.session.requests) > before:
        return Check("unread at prompt", False, "woken twice")
    type_text("go on")
    is_there = is_seen(room, "prompt-1", before, TURN_SECONDS_MAX)
    is_leased = room.session.wait_requests(before + 2, TURN_SECONDS_MAX) and room.state("prompt-1") == "leased"
    return Check("unread at prompt", is_there and is_leased, "" if is_there else "not in the request")
