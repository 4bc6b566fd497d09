"""Codes of reading, JSON and plain: what is around a message, what breaks it, and what type it is."""

from telex.dialects.builtin.build_flow import BUILD_FLOW
from telex.dialects.builtin.vbw_handoff import VBW_HANDOFF
from telex.dialects.builtin.vbw_typed import VBW_TYPED
from telex.generate.codes_examples import CodeExample, ExampleOptions, Explanation, explain, sent
from telex.model.limits import LIMITS

PROGRESS = sent(VBW_HANDOFF, "dev_progress")
_BULK = "line 17 of the log: all is well, nothing to see; " * 4
_TASK = "98765432109876543210"


def _progress(**change: object) -> str:
    return sent(VBW_HANDOFF, "dev_progress", change)


READING: tuple[Explanation, ...] = (
    # --- what was put around the message ----------------------------------------------------------------------------
    explain(
        "byte-order-mark",
        "A byte-order mark before the message",
        "An editor or a shell on Windows puts the three bytes EF BB BF before a text to say that it is UTF-8.",
        "Save and send as UTF-8 without a byte-order mark. The message is read all the same.",
        CodeExample("\ufeff" + PROGRESS, PROGRESS),
    ),
    explain(
        "carriage-returns",
        "Line ends with a carriage return",
        "The text was written on Windows, or copied from there, so its lines end in \\r\\n.",
        "Send lines that end in \\n alone. The message is read all the same.",
        CodeExample(PROGRESS.replace("\n", "\r\n"), PROGRESS),
    ),
    explain(
        "wrapper-removed",
        "Something wrapped around the message",
        "A coding tool shows messages to its agents inside a `<teammate-message>` tag, and the tag was sent along; or a"
        " tool encoded the message twice, so that it arrived as one long string.",
        "Send only what is inside. The message is read all the same.",
        CodeExample(f'<teammate-message teammate_id="dev">\n{PROGRESS}</teammate-message>\n', PROGRESS),
    ),
    explain(
        "fence-removed",
        "A code fence around the message",
        "Models put JSON and YAML into code fences when they show it to a person. Here nobody is shown anything: the"
        " text is the message.",
        "Send the message without the fence. It is read all the same.",
        CodeExample(f"```json\n{PROGRESS}```\n", PROGRESS),
    ),
    explain(
        "prose-removed",
        "Words before or after the message",
        "The message came with an introduction or a closing remark, as in a chat. Nobody will read those words: only"
        " the message is passed on.",
        "Send the message alone; what must be said belongs in one of its fields.",
        CodeExample(f"Here is my update:\n\n{PROGRESS}", PROGRESS),
    ),
    explain(
        "several-messages",
        "More than one message",
        "Two or more messages stand in one text. Reading one of them and dropping the others would be a guess.",
        "Send each by itself, or put each on one line of a `.jsonl` file and check that.",
        CodeExample(PROGRESS + PROGRESS, PROGRESS),
    ),
    # --- what is no text, or too much of it -------------------------------------------------------------------------
    explain(
        "empty-message",
        "Nothing was said",
        "The message is empty or only blanks. Often a command before it in a pipe failed, or a variable was not set.",
        "Look at what should have written the message, then send it again.",
        CodeExample("\n", PROGRESS),
    ),
    explain(
        "not-utf8",
        "Bytes that are no UTF-8",
        "The text is in another encoding, such as Latin-1 or UTF-16, or it is no text at all. Which one it is cannot be"
        " told from the bytes, so nothing is guessed.",
        "Encode the message as UTF-8 and send it again.",
        CodeExample(
            _progress(concerns=["The caf\udce9 page has no test"]), _progress(concerns=["The café page has no test"])
        ),
    ),
    explain(
        "nul-byte",
        "A NUL in the text",
        "A NUL came along, as the raw byte or as `\\u0000`: from a binary file, from a C string, or from UTF-16 that"
        " was taken for UTF-8. Many programs end a text there, so what they read would not be what was sent.",
        "Take it out. If every other byte is NUL, encode the message as UTF-8.",
        CodeExample(PROGRESS + "\0", PROGRESS),
    ),
    explain(
        "too-large",
        "More bytes than are taken",
        "The message carries a file, a log or a diff. Every receiver would have to read all of it.",
        f"Put the bulk into a file and name the file in the message. {LIMITS.message_bytes_max:,} bytes are taken"
        " unless the limit was changed.",
        CodeExample(
            _progress(concerns=[_BULK]),
            _progress(concerns=["See logs/reset.log"]),
            ExampleOptions(limits=LIMITS._replace(message_bytes_max=300)),
        ),
    ),
    explain(
        "too-deep",
        "Nested too deeply",
        "Objects or lists lie in each other more levels deep than are read. No message type needs more than six, so"
        " this is a loop that went wrong, or an attack.",
        f"Flatten the message. {LIMITS.depth_max} levels are read unless the limit was changed.",
        CodeExample(
            sent(BUILD_FLOW, "STATE_TRANSITION", {"metadata": {"plan": {"review": {"by": "cto"}}}}),
            sent(BUILD_FLOW, "STATE_TRANSITION", {"metadata": {"plan_review_by": "cto"}}),
            ExampleOptions(limits=LIMITS._replace(depth_max=4)),
        ),
    ),
    # --- what JSON does not have ------------------------------------------------------------------------------------
    explain(
        "not-json",
        "JSON that cannot be read",
        "A comma too many, a quote or brace never closed, single quotes, a comment, `True` for `true`, or a line break"
        " inside a string. A text that ends in the middle was often cut off by a limit on the length of an answer.",
        "Mend the place that the finding names. A comma before a closing bracket is mended for you.",
        CodeExample(PROGRESS.replace("\n}", ",\n}"), PROGRESS),
    ),
    explain(
        "duplicate-key",
        "The same field twice",
        "A field stands twice in one object. JSON and YAML readers disagree on which one counts, so two agents could"
        " read two different messages.",
        "Keep the one that is meant.",
        CodeExample(PROGRESS.replace("\n}", ',\n  "commit": "def5678"\n}'), PROGRESS),
    ),
    explain(
        "lone-surrogate",
        "Half of a character",
        "A character beyond the first 65,536, such as an emoji, is written in JSON as two `\\u` escapes, and one of the"
        " two is missing. Cutting a text to a length does that.",
        "Write the character itself, or both of its escapes.",
        CodeExample(
            PROGRESS.replace("old one", "old one \\ud83d"), PROGRESS.replace("old one", "old one \\ud83d\\ude2c")
        ),
    ),
    explain(
        "number-not-finite",
        "A number that is none",
        "Some languages write NaN or Infinity into JSON, which has neither, or a number too large to hold. It is most"
        " often the result of a division by zero.",
        "Give the number that is meant, or leave the field out if it is optional.",
        CodeExample(sent(BUILD_FLOW, "STATUS_UPDATE", {"progress": float("nan")}), sent(BUILD_FLOW, "STATUS_UPDATE")),
    ),
    explain(
        "integer-too-large",
        "An integer beyond 64 bits",
        "Readers in other languages round such a number or refuse it. It is most often an id that should have been"
        " text.",
        "Put quotes around it where the field is text; otherwise give a smaller number.",
        CodeExample(
            sent(BUILD_FLOW, "STATUS_UPDATE", {"taskId": int(_TASK), "correlationId": _TASK}),
            sent(BUILD_FLOW, "STATUS_UPDATE", {"taskId": _TASK, "correlationId": _TASK}),
        ),
    ),
    explain(
        "not-an-object",
        "A list or a single value",
        "A message is one JSON object with a `type`. A list of messages, a number or a string in quotes is none.",
        "Send each object of the list by itself. Plain text needs no quotes around it.",
        CodeExample(f"[\n{PROGRESS}]\n", PROGRESS, where="when the list holds messages or a dialect was asked for"),
        CodeExample('["done", "tests pass"]\n', "Done: tests pass.\n", where="otherwise, and it is kept as plain text"),
    ),
    explain(
        "control-frame",
        "A coding tool's own message",
        "Coding tools speak to their agents with types that are also ours, such as `shutdown_request`, but without an"
        " envelope. Those are passed on untouched.",
        "Nothing needs mending. If it was meant for the bus, send it with the envelope of its dialect.",
        CodeExample(
            '{"type": "shutdown_response", "request_id": "stop-1", "approve": true}\n',
            sent(VBW_TYPED, "shutdown_response"),
        ),
    ),
    # --- which type it is -------------------------------------------------------------------------------------------
    explain(
        "type-missing",
        "No type",
        "The object has no `type`, so nobody can tell what it is meant to say.",
        "Add `type`. When the other fields are those of one single type, the mended message has it already.",
        CodeExample(_progress(type=None), PROGRESS),
    ),
    explain(
        "type-unknown",
        "A type that no dialect has",
        "The type is misspelt, in another case, made up, or from a dialect that is not spoken here.",
        "Use one of the types that the finding names; `telex dialects` lists them all.",
        CodeExample(_progress(type="dev-progress"), PROGRESS),
    ),
    explain(
        "placeholder-left",
        "A list of choices in place of a choice",
        "The message was copied from a page or a prompt, and where the page lists the choices, as in"
        " `complete|partial|failed`, none was made.",
        "Write one of the choices.",
        CodeExample(_progress(status="complete|partial|failed"), PROGRESS),
    ),
)
