"""Codes about shutting down: who was asked, who has answered, and who has stopped. Shown by plays, like the bus's."""

from telex.dialects.builtin.vbw_typed import VBW_TYPED
from telex.generate.codes_bus import SENT, BusExplanation
from telex.generate.codes_examples import sent

_REQUEST = "$ cat stop.json\n" + sent(VBW_TYPED, "shutdown_request").rstrip()
_ANSWER = "$ cat stopped.json\n" + sent(VBW_TYPED, "shutdown_response").rstrip()
_ASK = "$ telex send --as lead --to dev stop.json"
_SEND = "$ telex send --as dev --to lead stopped.json"


def _play(*lines: str) -> str:
    return "\n".join(lines)


_ASKED = (_REQUEST, _ASK)

SHUTDOWN = (
    BusExplanation(
        "sender-has-shut-down",
        "A word after the last",
        "The agent has answered a shutdown_request with `approve: true`, or was stopped by force. From then on nothing"
        " is taken from it and nothing is handed to it: what waited for it has gone back to the team, and a late"
        " message could only contradict that. Saying a role does not bring it back.",
        "Leave it at that. If the agent is to work again, let it join the team expressly: `telex team join NAME`.",
        before=_play(*_ASKED, _ANSWER, _SEND, f"$ {SENT} --as dev --to lead -"),
        say="Leave it: dev has shut down, and nothing more is taken from it; only telex team join dev brings it back.",
        after=_play("$ telex team join dev", f"$ {SENT} --as dev --to lead -"),
    ),
    BusExplanation(
        "shutdown-not-asked",
        "An answer to a request that was never made",
        "The answer names a shutdown_request that nobody has sent, or that was sent to others. Stopping an agent for"
        " good rests on this answer, so it has to be clear what it answers.",
        "Name the request by its id, as it stands in the message that asked. Who was not asked goes on working.",
        before=_play(*_ASKED, _ANSWER.replace('"stop-1"', '"stop1"'), _SEND),
        say="Name stop-1, which lead has asked dev with: nobody asked it to shut down otherwise.",
        after=_play(_ANSWER, _SEND),
    ),
    BusExplanation(
        "shutdown-answered",
        "Agreed to before",
        "The agent has agreed to this request before, has stopped, and has joined the team again since. The old"
        " request is settled and cannot stop it a second time.",
        "Leave it at that, or answer the request that was made since, under its own id.",
        before=_play(
            *_ASKED, _ANSWER, _SEND, "$ telex team join dev", _ANSWER.replace('"stopped-1"', '"stopped-2"'), _SEND
        ),
        say="Leave it at that: dev has agreed to stop-1 before, and shuts down once.",
        after=_play(
            _REQUEST.replace('"stop-1"', '"stop-2"'),
            _ASK,
            _ANSWER.replace('"stopped-1"', '"stopped-2"').replace('"stop-1"', '"stop-2"'),
            _SEND,
        ),
    ),
    BusExplanation(
        "shutdown-not-answered",
        "Text where an answer is waited for",
        "The sender was asked to shut down and has written to whoever asked, but not in the form that counts as an"
        " answer. The text is delivered; the agent still counts as silent, and would be waited for until the deadline.",
        "Send a shutdown_response that names the request; it stands in the finding, begun. `approve: false` with the"
        " pending work is an answer too.",
        before=_play(*_ASKED, f"$ {SENT} --as dev --to lead -"),
        say="Send a shutdown_response that names stop-1: this is delivered, but no text answers a request to shut"
        " down.",
        after=_play(_ANSWER, _SEND),
        severity="warning",
    ),
)
