"""Markdown pages of the dialects: one page for each, and an overview.

Everything is generated from the definition, so a page cannot differ from the check.
"""

from collections.abc import Iterable, Sequence

from telex.dialects.intents import INTENTS
from telex.dialects.schema import ANY, PRIORITIES, Dialect, Field, Fields, HardRule, MessageType, walk_kinds
from telex.dialects.write import write
from telex.generate.tables import fenced, markdown_table
from telex.generate.type_view import answered_by, kind_words, meaning, participants, receivers_from, values_words

MADE_BY = "<!-- Made from the dialect's definition; a change here is lost. -->"

_FORMS = {
    "json": "One JSON object.",
    "front-matter": "YAML front matter between two lines of `---`, then a markdown body.",
    "text": "Any text.",
}
_FIELD_HEADINGS = ("field", "what it is", "required", "values", "meaning")


def dialect_page(dialect: Dialect) -> str:
    """The page of one dialect."""
    parts = [
        f"# {dialect.title}",
        MADE_BY,
        dialect.purpose,
        *_form(dialect),
        *_roles(dialect),
        *_rules("## Rules of every type", dialect.rules),
        *(part for type_ in dialect.types.values() for part in _type(dialect, type_)),
    ]
    return "\n\n".join(parts) + "\n"


def overview_page(dialects: Sequence[Dialect]) -> str:
    """The page that lists every dialect, and the priority of every type."""
    rows = [
        (f"[{each.base}]({each.slug}.md)", each.version, each.form, str(len(each.types)), each.purpose)
        for each in dialects
    ]
    order = ", ".join(PRIORITIES)
    parts = [
        "# Dialects",
        MADE_BY,
        "A dialect is a set of message types with an envelope, roles and rules. Telex speaks these:",
        markdown_table(("dialect", "version", "form", "types", "what it is for"), rows),
        "## Priorities",
        f"Waiting messages are served by priority, in this order: {order}. Within a priority, first in, first out.",
        class_table(dialects),
    ]
    return "\n\n".join(parts) + "\n"


def class_table(dialects: Iterable[Dialect]) -> str:
    """Every type of every dialect with its priority, the first delivered first."""
    types = [(dialect, type_) for dialect in dialects for type_ in dialect.types.values()]
    rows = [
        (type_.priority, dialect.name, f"[{type_.name}]({dialect.slug}.md#{type_.name.lower()})", type_.purpose)
        for priority in PRIORITIES
        for dialect, type_ in types
        if type_.priority == priority
    ]
    return markdown_table(("priority", "dialect", "type", "what it is for"), rows)


# --- what holds for the whole dialect ------------------------------------------------------------------------------


def _form(dialect: Dialect) -> list[str]:
    where = "are beside it" if dialect.payload is None else f"are inside `{dialect.payload}`"
    form = _FORMS[dialect.form]
    if dialect.types:
        form += f" `type` names the type; the type's own fields {where}."
        form += " Fields that are not listed here are stored and delivered."
    parts = ["## Form", form]
    if dialect.envelope:
        parts += ["## Envelope", _fields_table(dialect, dialect.envelope)]
    return parts


def _roles(dialect: Dialect) -> list[str]:
    roles, types = participants(dialect), list(dialect.types.values())
    if not types:
        return []
    if all(type_.senders == type_.receivers == ANY for type_ in types):
        named = f" It names {', '.join(roles)}." if roles else ""
        return ["## Who may send what", f"Every agent may send and receive every type.{named}"]
    chain = ", ".join(f"{role} → {above}" for role, above in dialect.chain.items())
    rows = []
    for type_ in types:
        marks = [("S", type_.senders), ("R", type_.receivers)]
        cells = [" ".join(mark for mark, allowed in marks if allowed == ANY or role in allowed) for role in roles]
        rows.append((f"[{type_.name}](#{type_.name.lower()})", *cells))
    return [
        "## Who may send what",
        "S: the role may send it. R: it may receive it.",
        markdown_table(("type", *roles), rows),
        *([f"Who escalates to whom: {chain}."] if chain else []),
    ]


# --- one type ------------------------------------------------------------------------------------------------------


def _type(dialect: Dialect, type_: MessageType) -> list[str]:
    parts = [f"## {type_.name}", type_.purpose, _facts(dialect, type_)]
    parts += [_fields_table(dialect, type_.fields)] if type_.fields else []
    if type_.fillings:
        parts.append(
            "\n".join(f"- `{path}` is read as `{value}` when `{when}`." for path, when, value in type_.fillings)
        )
    example = write(dialect, type_.example, type_.body_example).rstrip("\n")
    return [*parts, *_rules("", type_.rules), fenced("json" if dialect.form == "json" else "markdown", example)]


def _facts(dialect: Dialect, type_: MessageType) -> str:
    ways: dict[tuple[str, ...], list[str]] = {}  # senders with the same receivers are grouped
    for sender in type_.senders:
        receivers = type_.receivers if sender in ANY else receivers_from(dialect, type_, sender)
        ways.setdefault(receivers, []).append(sender)
    ways_text = "; ".join(f"{_listed(tuple(senders))} → {_listed(receivers)}" for receivers, senders in ways.items())
    facts = [("From, to", ways_text), ("Priority", type_.priority)]
    facts += [("Asks for", f"[{type_.reply}](#{type_.reply.lower()})")] if type_.reply else []
    answers = [f"[{name}](#{name.lower()})" for name in answered_by(dialect, type_)]
    facts += [("Answers", ", ".join(answers))] if answers else []
    facts += [("Body", type_.body_purpose)] if type_.body_purpose else []
    facts += [("Body has", ", ".join(f"`## {name}`" for name in type_.sections))] if type_.sections else []
    if type_.semantics.intents:
        acts = [f"{INTENTS[intent].does} (`{intent}`)" for intent in type_.semantics.intents]
        facts.append(("To others", f"a message that {', or else '.join(acts)}"))
    return "\n".join(f"- {name}: {words}" for name, words in facts)


def _listed(roles: tuple[str, ...]) -> str:
    return "anyone" if roles == ANY else ", ".join(roles)


# --- tables --------------------------------------------------------------------------------------------------------


def _fields_table(dialect: Dialect, fields: Fields) -> str:
    rows = [_field_row(dialect, path, field) for path, field in walk_kinds(fields)]
    columns = 5 if any(row[-1] for row in rows) else 4  # the last column only if a field has a meaning
    return markdown_table(_FIELD_HEADINGS[:columns], [row[:columns] for row in rows])


def _field_row(dialect: Dialect, path: tuple[str, ...], field: Field) -> tuple[str, ...]:
    words = (meaning(dialect, path[0]) or "") if len(path) == 1 and path[0] in dialect.envelope else ""
    later = f"Also read as `{field.later_spelling}`." if field.later_spelling else ""
    return (
        f"`{'.'.join(path)}`",
        kind_words(field.kind),
        "yes" if field.required else "",
        values_words(field.kind),
        " ".join(filter(None, (words, later))),
    )


def _rules(heading: str, rules: Iterable[HardRule]) -> list[str]:
    rows = [(f"`{rule.code}`", rule.severity, f"`{rule.broken_when}`", rule.say) for rule in rules]
    if not rows:
        return []
    return [*filter(None, [heading]), markdown_table(("rule", "severity", "broken when", "what to do"), rows)]
