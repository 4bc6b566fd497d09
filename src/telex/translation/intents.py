"""Which acts do dialects share? Each with what it does, and the words in which its choices are compared.

A type that nobody else has anything like is an act of its own, so that there is always an answer to why not.
"""

from collections.abc import Mapping
from typing import NamedTuple

NO_CHOICES: Mapping[str, tuple[str, ...]] = {}
LEVELS = ("high", "medium", "low")
RESULTS = ("pass", "notes", "partly", "fail")


class Intent(NamedTuple):
    does: str  # after "a message that"
    choices: Mapping[str, tuple[str, ...]] = NO_CHOICES  # slot → what all dialects call its values


INTENTS: Mapping[str, Intent] = {
    "assign": Intent("gives somebody a task"),
    "progress": Intent("reports how far a task has come", {"status": ("done", "partly", "failed", "started")}),
    "blocked": Intent("says what keeps a task from going on", {"severity": LEVELS}),
    "findings": Intent("reports what was looked up"),
    "question": Intent("asks to have something looked up"),
    "diagnosis": Intent("explains a fault"),
    "verdict": Intent("says whether work holds", {"result": RESULTS}),
    "review": Intent("gives a reviewer's verdict", {"result": RESULTS}),
    "audit": Intent("gives a security verdict", {"result": RESULTS}),
    "code": Intent("says how tests and linters went", {"result": RESULTS}),
    "survey": Intent("says what state a codebase is in", {"result": RESULTS}),
    "ask": Intent("asks for an approval", {"kind": ("scope", "plan", "gate", "quality", "security", "code")}),
    "answer": Intent("approves or rejects what was asked for", {"decision": ("yes", "no", "conditional")}),
    "release": Intent("has approved work committed"),
    "escalate": Intent("hands a matter to somebody above", {"severity": LEVELS}),
    "design": Intent("hands in a plan"),
    "spec": Intent("says that a plan's tasks can be built"),
    "triage": Intent("says how large a request is"),
    "size-up": Intent("asks how large a request is"),
    "plan": Intent("asks for a plan"),
    "move": Intent("moves a task from state to state"),
    "stop": Intent("asks a team to stop"),
    "stopped": Intent("answers a request to stop"),
    "unread": Intent("says that a message could not be read"),
}
