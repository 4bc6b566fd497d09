"""Dialects that somebody else has declared in TOML, with what their types are to others: plain, awkward, and built on
one of ours."""

from pathlib import Path

from telex.dialects.schema import Dialect
from telex.dialects.toml.loader import declare, show

KANBAN_FILE = Path(__file__).parents[2] / "docs/examples/kanban.toml"
PLAIN_FILE = KANBAN_FILE.read_text(encoding="utf-8")

# Everything that a row of ours never has: values renamed, nested and listed, short texts, odd numbers, a choice that no
# other dialect makes, a version in a field that only takes others, a rule of its own.
AWKWARD_FILE = """
name = "works-office"
version = "0.7"
purpose = "Slips of paper in a works office."
roles = ["foreman", "hand", "inspector", "clerk"]
payload = "slip"

[trades]
foreman = "leads"
hand = "makes"
inspector = "tests"

[chain]
hand = "foreman"
foreman = "human"

[envelope]
number = { type = "string", max = 12 }
hand_of = { type = "enum", values = ["foreman", "hand", "inspector", "clerk"] }
for = { type = "enum", values = ["foreman", "hand", "inspector", "clerk"], required = false }
at = "datetime"
issue = { type = "enum", values = ["2024", "2025"] }
thread = { type = "string", max = 9, required = false }
urgent = "boolean?"

[wire]
id = "number"
sender = "hand_of"
recipient = "for"
timestamp = "at"
version = "issue"
correlation = "thread"

[types.day_slip]
purpose = "How a job went today."
senders = ["hand", "clerk"]
receivers = ["foreman"]
intent = "progress"
[types.day_slip.says]
task = "job.number"
status = "job.state"
details = "remarks"
concerns = "doubts"
percent = "share"
files = "sheets"
[types.day_slip.values.status]
started = "begun"
partly = ["begun", "halted", "half"]
done = "ready"
failed = "spoilt"
[types.day_slip.defaults]
issue = "2025"
job.shift = "day"
[types.day_slip.fields]
remarks = { type = "string", max = 5 }
doubts = { type = "list", of = { type = "string", max = 8 }, required = false }
share = { type = "number", min = 0.5, max = 1.5, required = false }
sheets = { type = "list", of = { type = "object", fields = { name = "string" } }, required = false }
status = "string"
bonus = { type = "number", min = 0.25 }
debt = { type = "integer", max = -3 }
mark = { type = "string", max = 2 }
[types.day_slip.fields.job]
type = "object"
[types.day_slip.fields.job.fields]
number = { type = "string", max = 20 }
state = { type = "enum", values = ["ready", "begun", "half", "halted", "spoilt", "lost"] }
shift = { type = "enum", values = ["day", "night"] }
[[types.day_slip.rules]]
code = "ready-needs-remarks"
broken_when = "job.state == 'ready' and len(remarks) < 2"
path = "remarks"
say = "Say what is ready."

[types.halt]
purpose = "A machine stands still."
senders = ["*"]
receivers = ["*"]
priority = "ERROR"
intent = ["blocked"]
[types.halt.says]
blocker = "what"
needs = "wanted"
severity = "grade"
attempted = "tries"
"attempted/text" = "tries[].deed"
[types.halt.values]
severity = { high = "red", medium = "amber" }
[types.halt.defaults]
issue = "2024"
grade = "amber"
tries = { by = "hand" }
[types.halt.fields]
what = { type = "list", of = "string" }
wanted = { type = "string", empty = true }
grade = { type = "enum", values = ["red", "amber", "violet"] }
[types.halt.fields.tries]
type = "list"
required = false
[types.halt.fields.tries.of]
type = "object"
fields = { deed = "string", by = { type = "enum", values = ["hand", "clerk"] } }

[types.passed]
purpose = "The piece is good."
senders = ["inspector"]
receivers = ["foreman"]
intent = ["review", "verdict"]
means = { result = ["pass", "notes"] }
defaults = { issue = "2024" }
[types.passed.fields]
critical = "integer?"
body = "string?"

[types.rejected]
purpose = "The piece is no good."
senders = ["inspector"]
receivers = ["foreman"]
intent = ["review", "verdict"]
means = { result = ["fail", "partly"] }
defaults = { issue = "2024" }
[types.rejected.says]
failures = "faults"
"failures/text" = "faults[].fault"
[types.rejected.fields]
[types.rejected.fields.faults]
type = "list"
[types.rejected.fields.faults.of]
type = "object"
fields = { fault = { type = "string", max = 6 }, grave = "boolean" }

[types.complaint]
purpose = "Somebody above has to decide."
senders = ["hand", "inspector"]
receivers = ["foreman", "clerk"]
priority = "ESCALATION"
intent = ["escalate", "blocked"]
says = { reason = "gist", blocker = "gist", evidence = "proofs", attempted = "proofs" }
[types.complaint.fields]
gist = "string"
proofs = { type = "list", of = "any" }
colour = { type = "enum", values = ["red", "blue"] }
"""

NOTES_FILE = """
name = "margin-notes"
version = "1.0"
purpose = "Notes in the margin, over a text."
form = "front-matter"
roles = ["author", "editor"]
addresses = "names"

[trades]
author = "makes"
editor = "leads"

[envelope]
from = { type = "string", max = 10 }
about = "string?"

[wire]
sender = "from"
correlation = "about"

[types.draft]
purpose = "How far a chapter has come."
senders = ["author"]
receivers = ["editor"]
intent = "progress"
says = { task = "chapter", status = "state", percent = "share" }
values = { status = { done = "final", partly = "rough", started = "rough", failed = "burnt" } }
body = "details"
sections = ["Summary", "Doubts"]
[types.draft.fields]
chapter = "string"
state = { type = "enum", values = ["rough", "final", "burnt"] }
share = "number?"

[types.strike]
purpose = "It is taken or it is not."
senders = ["editor"]
receivers = ["author"]
intent = "answer"
says = { decision = "taken" }
values = { decision = { yes = true, no = false, conditional = false } }
body = "reasons"
[types.strike.fields]
taken = "boolean"
"""

EXTENDING_FILE = """
name = "our-vbw"
version = "1.0"
purpose = "vbw-handoff, and what we add to it."
extends = "vbw-handoff"
[trades]
boss = "leads"
[envelope]
mood = "string?"
[types.ask_boss]
purpose = "May we?"
senders = ["dev"]
receivers = ["boss"]
intent = "ask"
[types.ask_boss.fields]
subject = "string"
[types.qa_result]
purpose = "Another result than the one we took over."
senders = ["qa"]
receivers = ["lead"]
[types.qa_result.fields]
words = "string"
"""


def declared(text: str, file: str = "own.toml") -> Dialect:
    found = declare(text, file)
    assert found.dialect is not None, [show(flaw) for flaw in found.flaws]
    return found.dialect


KANBAN, AWKWARD, NOTES, EXTENDING = map(declared, (PLAIN_FILE, AWKWARD_FILE, NOTES_FILE, EXTENDING_FILE))
OWN = (KANBAN, AWKWARD, NOTES, EXTENDING)
