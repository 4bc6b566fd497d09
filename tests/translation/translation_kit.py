"""What is left of a message that was translated, and is all of it accounted for? What tests of translation share."""

from collections.abc import Iterable
from typing import Any, NamedTuple

from telex.dialects.schema import ANY, TYPE, Dialect, Fields, Group, MessageType, Tree
from telex.dialects.write import write
from telex.model.finding import Finding, refusals
from telex.model.text import join, within
from telex.translation.markdown_sections import SILENT
from telex.translation.translate import MessageHeader, NoCounterpart, Translation, translate
from telex.validation.check import CheckPolicy, check

BODY = "$.body"


class Sent(NamedTuple):
    dialect: Dialect
    type: MessageType
    tree: Tree
    body: str | None
    header: MessageHeader

    def translated(self, to: Dialect) -> Translation | NoCounterpart:
        return translate(self.tree, self.dialect, self.type, to, self.header, self.body)

    def by(self, role: str) -> "Sent":
        return self._replace(header=self.header._replace(sender_role=role))

    def by_a_role_that_may(self, to: Dialect) -> "Sent":
        """The same from a sender whose role may send it there, if there is one."""
        roles = to.roles if self.type.senders == ANY else self.type.senders
        sent = [self.by(role) for role in (self.header.sender_role, *roles)]
        return next((one for one in sent if isinstance(one.translated(to), Translation)), self)

    def as_told(self, told: Translation) -> "Sent":
        """The same message as its reader has it."""
        return Sent(told.dialect, told.type, told.tree, told.body, self.header)

    def leaves(self) -> dict[str, Any]:
        """Everything that it says, by path; what only tells the dialect apart is not said."""
        found: dict[str, Any] = {}
        form = {TYPE, self.dialect.wire.version}
        said = {name: value for name, value in self.tree.items() if name not in form}
        _leaves(said, self.dialect.fields_of(self.type), "$", found)
        found = {path: one for path, one in found.items() if one != {} or path != f"$.{self.dialect.payload}"}
        return found | ({BODY: self.body} if self.body else {})


def _leaves(value: Any, fields: Fields | None, path: str, found: dict[str, Any]) -> None:
    if isinstance(value, dict) and (value or path == "$"):
        for name, inner in value.items():
            field = fields.get(name) if fields is not None else None
            inside = field.kind.fields if field is not None and isinstance(field.kind, Group) else None
            if inner is not None or field is None:  # nobody accepts a null where a field is known
                _leaves(inner, inside, join(path, name), found)
    elif isinstance(value, list) and value:
        for index, inner in enumerate(value):
            if inner is not None:
                _leaves(inner, None, join(path, index), found)
    else:
        found[path] = value


def refused(told: Translation, header: MessageHeader) -> list[Finding]:
    """What its own dialect would refuse in it, from a sender who may send it."""
    raw = write(told.dialect, told.tree, told.body)
    name = header.sender if told.dialect.addresses == "names" else None
    checked = check(raw, CheckPolicy(forced=told.dialect), as_role=told.sender_role, as_name=name)
    assert checked.valid or checked.findings
    return (
        []
        if checked.valid and checked.type == told.type.name
        else list(refusals(checked.findings)) or [Finding("not-read", "$", str(checked.outcome))]
    )


def covered(leaf: str, paths: Iterable[str]) -> bool:
    return any(within(leaf, path) for path in paths)


def unaccounted(sent: Sent, told: Translation) -> list[str]:
    """What speaks against its account: fields of which it says nothing, or two things."""
    wrong = []
    lost, carried = {one.path for one in told.lost}, {one for one, _ in told.carried}
    for leaf in sent.leaves():
        if not covered(leaf, lost | carried):
            wrong.append(f"nothing is said of {leaf}")
        if covered(leaf, lost) and covered(leaf, carried) and leaf != BODY:
            wrong.append(f"{leaf} is both lost and carried")
    wrong += [
        f"{one.path} is narrowed and not there"
        for one in told.narrowed
        if one.path != "$.type" and not any(within(path, one.path) for path in carried)
    ]
    for one in told.lost:
        inside: dict[str, Any] = {}
        _leaves(one.value, None, one.path, inside)
        if inside and not _present(sent, one.path):
            wrong.append(f"{one.path} is lost and was never there")
    made, brought = {one.path for one in told.invented}, {one for _, one in told.carried}
    for leaf in sent.as_told(told).leaves():
        if not covered(leaf, made | brought) and not (leaf == BODY and any(within(one, BODY) for one in made)):
            wrong.append(f"nobody knows where {leaf} comes from")
        if covered(leaf, made) and covered(leaf, brought) and leaf != BODY:
            wrong.append(f"{leaf} is both invented and carried")
    wrong += [
        f"nobody said that there is nothing under {heading}"
        for heading in told.type.sections
        if f"## {heading}\n{SILENT}" in (told.body or "") and join(BODY, heading) not in made
    ]
    return wrong


def _present(sent: Sent, path: str) -> bool:
    return within(path, BODY) or any(within(leaf, path) for leaf in sent.leaves())


def unreported(sent: Sent, there: Translation, back: Translation) -> list[str]:
    """Where the way there and back changed something that neither told, or told of a change that is none."""
    before, after = sent.leaves(), sent.as_told(back).leaves()
    told = {one.path for one in (*there.lost, *there.narrowed)} | {one.path for one in back.invented}
    # How a body is set out says nothing: what it says is to come back all the same.
    vague = {one.path for one in (*back.lost, *back.narrowed) if (one.path, one.slot) != (BODY, None)}
    told |= {here for here, place in there.carried if place in vague}  # it got there, and not back
    made = {one.path for one in there.invented}
    told |= {here for place, here in back.carried if covered(place, made)}  # what was made up there is told back
    # What was told so that it cannot be told back may come back elsewhere.
    narrowed = {one.path for one in there.narrowed}
    told |= {
        here
        for place, here in back.carried
        if place in {there_ for here_, there_ in there.carried if here_ in narrowed}
    }
    told |= {BODY} if any(within(one, BODY) for one in told) else set()
    wrong = [
        f"{leaf} was {before.get(leaf)!r} and is {after.get(leaf)!r}, and nobody said so"
        for leaf in sorted(before.keys() | after.keys())
        if before.get(leaf) != after.get(leaf) and not covered(leaf, told)
    ]
    by_header = {one.path for one in there.lost if (one.slot or "").startswith("$")}
    for change in (*there.lost, *there.narrowed):
        known = (change.slot or "").startswith("$") or change.path in by_header or change.path == BODY
        again = {leaf: value for leaf, value in after.items() if within(leaf, change.path)}
        was = {leaf: value for leaf, value in before.items() if within(leaf, change.path)}
        excused = {one.path for one in back.invented} | {here for place, here in back.carried if covered(place, made)}
        # It came back from where something else had been put: that it is the same is chance.
        brought = {place for here, place in there.carried if within(here, change.path) or within(change.path, here)}
        excused |= {here for place, here in back.carried if place not in brought}
        if not known and again == was and was and not all(covered(leaf, excused) for leaf in again):
            wrong.append(f"{change.path} was said to change, and did not")
    return wrong
