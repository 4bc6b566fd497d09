"""Codes of single fields, of sections in a body, and of who may say what to whom."""

import json

from telex.dialects.blanks import CLOSING, OPENING
from telex.dialects.builtin.build_flow import BUILD_FLOW
from telex.dialects.builtin.signal_md import SIGNAL_MD
from telex.dialects.builtin.vbw_handoff import VBW_HANDOFF
from telex.dialects.builtin.vbw_typed import VBW_TYPED
from telex.dialects.write import write_json
from telex.generate.codes_examples import CodeExample, ExampleOptions, Explanation, explain, sent

PROGRESS = sent(VBW_HANDOFF, "dev_progress")
STOP = sent(VBW_TYPED, "shutdown_request")
STOPPED = sent(VBW_TYPED, "shutdown_response")
ASSIGNMENT = sent(SIGNAL_MD, "task_assignment")


def _progress(**change: object) -> CodeExample:
    return CodeExample(sent(VBW_HANDOFF, "dev_progress", change), PROGRESS)


def _stop(**change: object) -> CodeExample:
    return CodeExample(sent(VBW_TYPED, "shutdown_request", change), STOP)


def _flat(message: str) -> str:
    """The message with its payload's fields beside the envelope's."""
    tree = json.loads(message)
    payload = tree.pop("payload")
    return write_json(tree | payload)


FIELDS: tuple[Explanation, ...] = (
    explain(
        "field-missing",
        "A required field is missing",
        "The field was left out, is null, or stands there under another spelling, such as `planId` for `plan_id`.",
        "Add the field. One that was only misspelt is renamed in the mended message.",
        _progress(plan_id=None),
    ),
    explain(
        "field-misplaced",
        "A field beside the payload instead of in it",
        "The envelope and the type's own fields were written on one level, as the flat dialects have it.",
        "Move the fields that the finding names into the payload; the mended message has them there.",
        CodeExample(_flat(STOP), STOP),
    ),
    explain(
        "field-unknown",
        "A field that the type does not have",
        "The sender added something of its own, or misspelt an optional field. It is kept and passed on, since a reader"
        " may know it; a team may choose to refuse such fields.",
        "Correct the spelling, or leave the field out if nobody reads it.",
        _progress(mood="cheerful"),
    ),
    explain(
        "later-spelling",
        "A field under its later name",
        "A later version of the page calls this field otherwise. It is read, and passed on under the name that this"
        " version has.",
        "Use the earlier name.",
        CodeExample(
            sent(VBW_TYPED, "shutdown_response", {"approve": None, "payload.approved": True}),
            STOPPED,
        ),
    ),
    explain(
        "default-filled",
        "A value that was left out",
        "The page says what leaving this field out means, and so it was read.",
        "Nothing needs mending. Write the value to be plain about it.",
        CodeExample(
            sent(SIGNAL_MD, "revision_request", {"max_iterations": None}),
            sent(SIGNAL_MD, "revision_request"),
        ),
    ),
    explain(
        "blank-left",
        "A blank that was not filled in",
        f"`telex new` and a skeleton mark what only the sender knows with `{OPENING}…{CLOSING}`, and one of these marks"
        " is still there.",
        "Write what belongs there. If the field is optional, leave it out.",
        _progress(commit=f"{OPENING}text{CLOSING}"),
    ),
    explain(
        "wrong-type",
        "A value of the wrong kind",
        "Text where a number belongs, one value where a list belongs, `yes` for true, and the like.",
        "Give the kind of value that the finding names. What can only be meant in one way is mended for you.",
        _progress(concerns="The mail template is still the old one"),
    ),
    explain(
        "not-one-of",
        "A value that is not on the list",
        "The field takes one of a few spellings, to the letter: `Complete` is not `complete`. Programs compare these"
        " words, and `done` tells them nothing.",
        "Use a value from the list. One that is only misspelt is mended for you.",
        _progress(status="Complete"),
    ),
    explain(
        "out-of-range",
        "A value beyond its bounds",
        "A number is too small or too large for its field, or an id is empty or too long.",
        "Give a value within the bounds that the finding names.",
        CodeExample(sent(SIGNAL_MD, "triage_result", {"tier": 5}), sent(SIGNAL_MD, "triage_result")),
    ),
    explain(
        "scalar-ambiguous",
        "A number that YAML readers disagree on",
        "To one version of YAML `010` is eight and to the other ten, `12:30` is 750 or text, and `1_000` is a thousand"
        " or text. Which one is meant is not guessed.",
        "Write the number in plain decimal digits.",
        CodeExample(ASSIGNMENT.replace("wave: 1", "wave: 010"), ASSIGNMENT.replace("wave: 1", "wave: 8")),
    ),
    explain(
        "text-empty",
        "A text that says nothing",
        "The field is there, because the type asks for it, but it is empty.",
        "Say it, or leave the field out if it is optional.",
        CodeExample(sent(VBW_HANDOFF, "dev_blocker", {"needs": ""}), sent(VBW_HANDOFF, "dev_blocker")),
    ),
    explain(
        "not-printable",
        "A character in an id that cannot be seen",
        "An id holds a control or invisible character. Two ids that look alike would then be different, and nobody"
        " could tell why.",
        "Use letters, digits and punctuation only.",
        _stop(id="stop\u200b-1"),
    ),
    # --- points in time ---------------------------------------------------------------------------------------------
    explain(
        "timestamp-malformed",
        "Not written as a time",
        "The field takes a point in time as ISO 8601 writes it, and this is another notation, or words.",
        "Write it as in `2026-02-12T10:00:00Z`.",
        _stop(timestamp="12 Feb 2026, 10am"),
    ),
    explain(
        "timestamp-impossible",
        "A time that never was",
        "It is written as ISO 8601 asks, but no calendar or clock has it: a thirteenth month, 30 February, 25 o'clock.",
        "Give a time that exists.",
        _stop(timestamp="2026-02-30T10:00:00Z"),
    ),
    explain(
        "timestamp-without-zone",
        "A time without a zone",
        "Agents may run in different zones, so such a time can mean a day's worth of moments. It is read as UTC.",
        "Add `Z` for UTC, or the zone, as in `+01:00`.",
        _stop(timestamp="2026-02-12T10:00:00"),
    ),
    explain(
        "timestamp-without-time",
        "A date without a time of day",
        "Only the day was given. It is read as midnight UTC, which puts it before everything else of that day.",
        "Add the time of day and the zone.",
        _stop(timestamp="2026-02-12"),
    ),
    # --- the body ---------------------------------------------------------------------------------------------------
    explain(
        "section-missing",
        "A section is missing from the body",
        "The type's page asks for certain headings in the markdown below the front matter: readers look for them.",
        "Add the heading and what belongs under it.",
        CodeExample(
            sent(SIGNAL_MD, "worker_submission", body="## Result\nA reset link works once.\n"),
            sent(SIGNAL_MD, "worker_submission"),
        ),
    ),
    # --- who may say what to whom -----------------------------------------------------------------------------------
    explain(
        "role-claim-differs",
        "Signed with another role",
        "The message says that it comes from one role, and the door it came in by knows the sender as another.",
        "Sign with your own role.",
        CodeExample(
            STOPPED,
            sent(VBW_TYPED, "shutdown_response", {"author_role": "qa"}),
            ExampleOptions(as_role="qa"),
        ),
    ),
    explain(
        "recipient-differs",
        "Sent to somebody else than it says",
        "The message names one recipient and was given another. It is delivered where the sender asked, and a reader"
        " may wonder.",
        "Name the right recipient in the message, or send it to the one it names.",
        CodeExample(
            sent(BUILD_FLOW, "DOC_QUERY"), sent(BUILD_FLOW, "DOC_QUERY", {"to": "cto"}), ExampleOptions(to_role="cto")
        ),
    ),
    explain(
        "role-may-not-send",
        "A type that this role does not send",
        "Each type has its senders: a dev does not pass a verdict on its own work. The finding names what the role may"
        " send instead.",
        "Send a type of your own, or ask the role that may send this one.",
        CodeExample(PROGRESS, sent(VBW_HANDOFF, "qa_result"), ExampleOptions(as_role="qa")),
    ),
    explain(
        "role-may-not-receive",
        "Sent to a role that does not receive it",
        "Each type has its receivers, who know what to do with it. A message that names another is refused; one that"
        " the bus is only asked to deliver to another is delivered, and a team may choose to refuse that too.",
        "Send it to a role that the finding names.",
        CodeExample(
            sent(VBW_TYPED, "shutdown_response", {"target_role": "qa"}),
            sent(VBW_TYPED, "shutdown_response", {"target_role": "lead"}),
            where="when the message names the receiver",
        ),
        CodeExample(
            STOPPED,
            STOPPED,
            ExampleOptions(to_role="qa"),
            ExampleOptions(to_role="lead"),
            where="when only the delivery does",
        ),
    ),
)
