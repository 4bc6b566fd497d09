"""Codes of reading front matter: how it begins and ends, and what YAML has that a message may not hold."""

from telex.dialects.builtin.signal_md import SIGNAL_MD
from telex.generate.codes_examples import CodeExample, ExampleOptions, Explanation, explain, sent
from telex.model.limits import LIMITS

APPROVAL = sent(SIGNAL_MD, "approval")
ASSIGNMENT = sent(SIGNAL_MD, "task_assignment")
_LONG = "Reset link, which is sent by mail, works once and for an hour, and is logged without its token"


def _assignment(found: str, instead: str) -> CodeExample:
    """The example with one piece of its text written otherwise."""
    assert found in ASSIGNMENT, f"the example has no {found!r} to change"
    return CodeExample(ASSIGNMENT.replace(found, instead), ASSIGNMENT)


FRONT_MATTER: tuple[Explanation, ...] = (
    explain(
        "front-matter-missing",
        "No front matter",
        "The dialect that was asked for puts its fields between two lines of `---` at the top, and the text does not"
        " begin with one.",
        "Begin with a line of only `---`, then the fields, then another line of only `---`, then the body.",
        CodeExample(APPROVAL.replace("---\n", ""), APPROVAL, ExampleOptions(dialect=SIGNAL_MD.name)),
    ),
    explain(
        "front-matter-not-closed",
        "Front matter without an end",
        "The line of `---` after the last field is missing, is indented, or has other characters in it, so fields and"
        " body cannot be told apart.",
        "Put a line of only `---` after the last field.",
        CodeExample(APPROVAL.removesuffix("---\n"), APPROVAL),
    ),
    explain(
        "front-matter-too-large",
        "Too much in the front matter",
        "Long text was put into a field. Fields route the work and are read by programs; the body is read by agents.",
        f"Move the long text below the closing `---`. {LIMITS.front_matter_bytes_max:,} bytes of fields are read"
        " unless the limit was changed.",
        CodeExample(
            sent(SIGNAL_MD, "task_assignment", {"task": _LONG}),
            sent(SIGNAL_MD, "task_assignment", body=f"{_LONG}.\n"),
            ExampleOptions(limits=LIMITS._replace(front_matter_bytes_max=120)),
        ),
    ),
    explain(
        "front-matter-not-mapping",
        "Front matter without fields",
        "What stands between the two lines of `---` is one text or a list. A stray `>` or `|` turns all that follows"
        " into text.",
        "Write one `field: value` per line, with a blank behind the colon.",
        CodeExample("---\n>\n  type: approval\n  signal: lgtm\n---\n", APPROVAL),
    ),
    explain(
        "control-character",
        "A control character",
        "A character that cannot be seen, such as the bell or the start of a terminal colour, came along when output"
        " was copied.",
        "Take it out.",
        _assignment("Reset link", "Reset\x07 link"),
    ),
    explain(
        "yaml-tab",
        "A tab as indentation",
        "YAML allows only blanks there, since a tab is as wide as each editor likes.",
        "Indent with two blanks a level.",
        CodeExample(
            "---\ntype: task_assignment\nsignal: execute\ntask:\n\tReset link\n---\n",
            "---\ntype: task_assignment\nsignal: execute\ntask:\n  Reset link\n---\n",
        ),
    ),
    explain(
        "yaml-tag",
        "A YAML tag",
        "A value that begins with `!` asks the reader to make an object of it, and that is how YAML has been used to"
        " run code. No tag is followed here, not even a harmless one.",
        "Take the tag away. If the value is a text that begins with `!`, put it in quotes.",
        _assignment("task: Reset", "task: !!str Reset"),
    ),
    explain(
        "yaml-anchor",
        "A YAML anchor",
        "A value that begins with `&` is given a name, to be repeated elsewhere. A few of these can unfold into"
        " gigabytes, so none is read.",
        "Take `&` and the name away. If the value is a text that begins with `&`, put it in quotes.",
        _assignment("task: Reset", "task: &task Reset"),
    ),
    explain(
        "yaml-alias",
        "A YAML alias",
        "A value that begins with `*` stands for one that was given a name elsewhere. Often it is meant as markdown,"
        " as in `**done**`.",
        "Write the value out. If it is a text that begins with `*`, put it in quotes.",
        _assignment("task: Reset link", "task: *task"),
    ),
    explain(
        "yaml-merge-key",
        "A YAML merge key",
        "`<<` asks the reader to mix the fields of one mapping into another. Not every reader does that, so two agents"
        " could read two different messages.",
        "Write the fields out.",
        _assignment("wave: 1\nstep: 2", "<<: {wave: 1, step: 2}"),
    ),
    explain(
        "yaml-key-not-text",
        "A field name that is no text",
        "YAML reads `{{…}}` as a mapping inside a mapping. It is most often a template whose blank was not filled in.",
        "Fill in the blank. If the braces belong to the text, put it in quotes.",
        _assignment("Reset link", "{{task}}"),
    ),
    explain(
        "yaml-many-documents",
        "A second YAML document",
        "A line inside the front matter begins with `---` and goes on. To YAML that is the start of another document;"
        " to a message it is neither a field nor the end of the fields.",
        "Put all fields into one block. The line that ends them is `---` and nothing else.",
        _assignment("task: Reset", "--- # the task\ntask: Reset"),
    ),
    explain(
        "yaml-malformed",
        "YAML that cannot be read",
        "Most often a value with `: ` in it that is not in quotes, a quote or bracket that is never closed, a value"
        " that begins with `@` or a backtick, or lines that are not indented alike.",
        "Mend the line that the finding names. When in doubt, put the whole value in double quotes.",
        CodeExample(
            ASSIGNMENT.replace("task: Reset link", "task: Reset: the link"),
            ASSIGNMENT.replace("task: Reset link", 'task: "Reset: the link"'),
        ),
    ),
)
