"""Execution of a translation plan: writes each field of the result and reports what became of each field."""

from typing import Any

from telex.dialects.scalars import format_timestamp
from telex.dialects.schema import TYPE, ListOf, Tree, get_path, set_path
from telex.model.limits import LIMITS
from telex.model.text import join, path_of, within
from telex.translation import markdown_sections
from telex.translation.envelope import (
    FieldChange,
    MessageHeader,
    NoCounterpart,
    Translation,
    address,
    correlate,
    envelope,
)
from telex.translation.mapping import (
    BODY,
    UNSAID,
    ByValue,
    FromSlot,
    OfList,
    Sum,
    Worth,
    canonical,
)
from telex.translation.mapping import fits as fits_kind
from telex.translation.planner import TYPE_PATH, FieldCopy, KnownFields, ListMapping, MappingPlan

NO_BODY = markdown_sections.ParsedBody({})


class LossReport:
    """State of one translation: the result so far, and what became of each field of the original."""

    def __init__(self, plan: MappingPlan, tree: Tree, header: MessageHeader, body: str | None) -> None:
        self.plan, self.tree, self.header = plan, tree, header
        parsed = NO_BODY
        if plan.row.body is not None:
            parsed = markdown_sections.parse(plan.row.body, body or "", plan.type.headings)
        self.strays = parsed.strays
        self.body, self.laid_out = body, not parsed.as_written  # by hand, and not as it would be written
        self.values = [read.get(tree) if read.get is not None else parsed.values.get(read.name) for read in plan.reads]
        self.result: Tree = {TYPE: plan.becomes.name}
        if plan.version is not None:
            self.result[plan.version] = plan.to.stated_version
        self.sections: dict[str, Any] = {}  # of the body
        self.written: dict[str, Any] = {}  # values of the result, by path
        self.sources: dict[str, int] = {}  # by path: the read of its value
        self.spoken: set[str] = set()  # slots that have a value
        self.wired: set[str] = set()  # fields of the original that the envelope of the result has
        self.thread: Any = None
        self.told = list(plan.at_home)
        self.vague = [False] * len(plan.reads)
        self.lost: list[FieldChange] = []
        self.invented: list[FieldChange] = []
        self.narrowed: list[FieldChange] = []
        self.carried: list[tuple[str, str]] = []
        self.roles: tuple[str, str | None] = ("", None)

    def write(self, path: str, steps: tuple[str, ...], value: Any) -> None:
        self.written[path] = value
        set_path(self.result, steps, value)

    def invent(self, path: str, slot: str | None, value: Any, reason: str) -> None:
        self.invented.append(FieldChange(path, slot, value, reason))

    def lose(self, path: str, slot: str | None, value: Any, reason: str) -> None:
        self.lost.append(FieldChange(path, slot, value, reason))

    def narrow(self, path: str, slot: str | None, value: Any, reason: str) -> None:
        self.narrowed.append(FieldChange(path, slot, value, reason))

    def slot(self, name: str) -> Any:
        """Value of a slot in the original."""
        if name == "$correlation":
            return self.header.correlation or self.thread
        if name.startswith("$"):
            return getattr(self.header, name[1:])
        values = (self.values[number] for number in self.plan.by_slot.get(name, ()))
        return next((value for value in values if value is not None), None)

    def words(self, slot: str) -> list[str]:
        """Common words for the values of a slot."""
        if slot == "$intent":
            return list(self.plan.row.intents[:1])
        reads, means = self.plan.reads, self.plan.row.means.get(slot, ())
        values = [canonical(self.values[number], reads[number].spelt) for number in self.plan.by_slot.get(slot, ())]
        return [value for value in (*means[:1], *values) if isinstance(value, str)]

    def worth(self, value: Worth, fits: Any = None) -> Any:
        match value:
            case FromSlot(slots, otherwise):
                values = [self.slot(slot) for slot in slots]
                return next((value for value in values if value and (fits is None or fits(value))), otherwise)
            case Sum(slots):
                total = sum(number for slot in slots if type(number := self.slot(slot)) is int)
                return min(total, LIMITS.integer_max)
            case OfList(slot, function):
                return function(self.slot(slot))
            case ByValue(slot, values, otherwise):
                return next((values[word] for word in self.words(slot) if word in values), otherwise)
        return value


def tell(plan: MappingPlan, tree: Tree, header: MessageHeader, body: str | None) -> Translation | NoCounterpart:
    """The message in the other dialect, or the reason why it cannot be translated."""
    account = LossReport(plan, tree, header, body)
    unsendable = address(account)
    if unsendable is not None:
        return NoCounterpart(plan.to, unsendable)
    envelope(account)
    for path, steps, value, overstated in plan.constants:
        account.write(path, steps, value)
        if overstated is not None and set(overstated.words).isdisjoint(account.words(overstated.slot)):
            account.invent(path, None, value, overstated.reason)
        else:
            account.carried.append((TYPE_PATH, path))
    if plan.threaded_first:
        correlate(account)
    for number, _, plainest in plan.meant:  # values that the other type implies
        said = account.values[number]
        if said is not None:
            account.told[number] = True
            account.carried.append((plan.reads[number].path, TYPE_PATH))
            account.vague[number] = canonical(said, plan.reads[number].spelt) != plainest
    _carry(account)
    _constrain(account)
    if not plan.threaded_first:
        correlate(account)
    broken = _fill(account) or _fix(account)
    if broken is not None:
        return NoCounterpart(plan.to, broken)
    text = _write_body(account)
    _close(account)
    ordered = {name: account.result[name] for name in plan.order if name in account.result}
    if plan.to.payload in ordered:
        inside = ordered[plan.to.payload]
        ordered[plan.to.payload] = {name: inside[name] for name in plan.becomes.fields if name in inside}
    translation = Translation(plan.to, plan.becomes, ordered, text)
    return translation._replace(
        lost=tuple(account.lost),
        invented=tuple(account.invented),
        narrowed=tuple(account.narrowed),
        carried=tuple(account.carried),
        sender_role=account.roles[0],
        recipient_role=account.roles[1],
    )


def _carry(account: LossReport) -> None:
    """Copy each field of the original to the first field of the result that accepts it, each once."""
    plan, values, told, written, spoken = account.plan, account.values, account.told, account.written, account.spoken
    for carry in plan.carries:
        number, slot, place, path, steps, name, way, exact, items = carry
        value = values[number]
        if value is None or told[number]:
            continue
        if items is not None:
            found = (
                (_items(account, carry, items, value), True) if place not in written and slot not in spoken else None
            )
        else:
            found = way(value)
        if found is None or found[0] is None:
            continue
        new = found[0]
        if place in written or slot in spoken:
            if written.get(place) == new and place in written:  # it has that value already
                told[number] = True
                account.invented = [field_change for field_change in account.invented if field_change.path != path]
                account.carried.append((plan.reads[number].path, path))
            continue
        if steps:
            account.write(place, steps, new)
        else:
            account.sections[name] = written[place] = new
        account.sources[place] = number
        spoken.add(slot)
        told[number] = True
        account.vague[number] = not (exact and found[1])
        if items is None or not value:
            account.carried.append((plan.reads[number].path, path))


def _constrain(account: LossReport) -> None:
    """List the paths of a contract among the constraints of a type that has no field for them."""
    plan, place = account.plan, account.plan.places.get("constraints")
    if "allowed" not in plan.by_slot or place is None or place.in_body or not isinstance(place.kind, ListOf):
        return
    before: list[str] = account.written.get(place.path, [])
    lines, fit = list(before), fits_kind(place.kind.item)
    for slot, label in (("allowed", "Allowed paths"), ("forbidden", "Forbidden paths")):
        for number in plan.by_slot.get(slot, ()):
            value = account.values[number]
            line = f"{label}: {', '.join(map(str, value)) or 'none'}" if isinstance(value, list) else ""
            if line and not account.told[number] and fit(line):
                lines.append(line)
                account.told[number] = account.vague[number] = True
                account.carried.append((plan.reads[number].path, place.path))
    if len(lines) > len(before):
        account.write(place.path, place.steps, lines)
        if place.path in account.sources:
            account.vague[account.sources[place.path]] = True  # the translation back cannot tell them apart


def _items(account: LossReport, carry: FieldCopy, plan: ListMapping, value: Any) -> list[Any] | None:
    if not isinstance(value, list) or not (plan.whole or all(isinstance(item, dict) for item in value)):
        return None
    read = account.plan.reads[carry.read]
    found: list[Any] = []
    before = len(account.lost)
    lose, carried, in_body = account.lost.append, account.carried.append, read.get is None
    for index, item in enumerate(value):
        here = BODY if in_body else f"{read.path}[{index}]"
        there = f"{carry.path}[{len(found)}]" if carry.steps else carry.path
        new: Any = {}
        already, brought = len(account.lost), len(account.carried)
        for source, at, target, to, way in plan.moves:
            said = item.get(source[0]) if source else item
            told = way(said) if said is not None else None
            if told is None:
                if said is not None:
                    lose(FieldChange(here + at, carry.slot, said, "it does not fit there"))
                continue
            if not target:
                new = told[0]
            else:
                new[target[0]] = told[0]
            carried((here + at, there + to))
            if not told[1]:
                account.narrow(here + at, carry.slot, said, "it cannot be translated back")
        if not plan.whole:
            for name, part in item.items():
                if name not in plan.moved:
                    lose(FieldChange(here if in_body else join(here, name), carry.slot, part, account.plan.no_place))
        if new == {} or any(least is UNSAID and step not in new for step, _, _, least in plan.needs):
            # No value could be copied, or a required choice is missing that only the sender can make.
            del account.lost[already:], account.carried[brought:]
            lose(FieldChange(here, carry.slot, item, account.plan.no_place))
            continue
        for step, to, slot, least in plan.needs:
            if step not in new:
                new[step] = made = (
                    account.worth(least.value) if least.value is not None else format_timestamp(account.header.at)
                )
                account.invent(there + to, slot, made, least.reason)
        found.append(new)
    if value and not found:  # no item could be translated
        del account.lost[before:]
        return None
    return found


def _fill(account: LossReport) -> str | None:
    for group in account.plan.groups:
        inside = account.result
        for step in group:
            inside = inside.setdefault(step, {})
    written = account.written
    for path, steps, slot, fits, least, plain, inside_of, meant in account.plan.needs:
        if path in written or (inside_of is not None and inside_of(account.result) is None):
            continue
        numbers = account.plan.by_slot.get(meant, ()) if meant is not None else ()
        if any(account.values[number] is not None and not account.told[number] for number in numbers):
            return f"{account.plan.becomes.name} has no word for the {meant} of this {account.plan.type.name}."
        if least is UNSAID:
            return f"{account.plan.becomes.name} has to say {slot}, and this {account.plan.type.name} does not."
        value = least.value
        if not plain:
            value = format_timestamp(account.header.at) if value is None else account.worth(value, fits)
        account.write(path, steps, value)
        # No other field had a value for it, or the reason in the mapping.
        is_unsaid = isinstance(least.value, FromSlot) and value == least.value.otherwise
        reason = f"{account.plan.type.name} does not have it" if is_unsaid else least.reason
        account.invent(path, slot, value, reason)
    for group in account.plan.groups:
        if group != (account.plan.to.payload,) and not get_path(group)(account.result):
            account.invent(path_of(*group), None, {}, f"{account.plan.becomes.name} wants it there")
    return None


def _fix(account: LossReport) -> str | None:
    """Repair violated rules of the other dialect as the mapping describes. Returns what cannot be repaired."""
    broken = [rule for holds, rule in account.plan.rules if holds(account.result)]
    if not broken:
        return None
    for rule in broken:
        for name, value in account.plan.spoken.remedies.get(rule.code, {}).items():
            _remedy(account, name, account.worth(value), rule.code)
    left = next((rule for holds, rule in account.plan.rules if holds(account.result)), None)
    return f"As {account.plan.becomes.name} it would be refused ({left.code}): {left.say}" if left else None


def _remedy(account: LossReport, name: str, value: Any, code: str) -> None:
    slot = account.plan.places[name]
    account.write(slot.path, slot.steps, value)
    number = account.sources.get(slot.path)
    if number is not None:
        account.vague[number] = True
        return
    account.invented = [field_change for field_change in account.invented if field_change.path != slot.path]
    account.invent(slot.path, name, value, f"{account.plan.to.name} wants it so ({code})")
    by_type = (TYPE_PATH, slot.path)
    if by_type in account.carried:  # the type implied it, and the translation back has another type
        account.carried.remove(by_type)
        account.narrow(
            TYPE_PATH, "$type", account.plan.type.name, f"{account.plan.to.name} wants it otherwise ({code})"
        )


def _close(account: LossReport) -> None:
    """Report the fields that were not copied exactly, and those that the plan does not know."""
    plan, told, vague = account.plan, account.told, account.vague
    for number, value in enumerate(account.values):
        if value is None:
            continue
        read = plan.reads[number]
        if told[number] and plan.at_home[number]:
            account.carried.append((read.path, TYPE_PATH))
        elif read.path in account.wired:
            continue
        elif not told[number]:
            account.lose(read.path, read.slot, value, plan.no_place)
        elif vague[number]:
            account.narrow(read.path, read.slot, value, f"{plan.to.name} has no field that translates back")
    if account.body and plan.row.body is None:
        account.lose(BODY, None, account.body, plan.no_place)
    elif account.body:
        _close_body(account, account.body)
    _residue(account, account.tree, plan.known)
    if plan.strays is not None:
        account.narrow(plan.strays, "$type", plan.type.name, f"{plan.becomes.name} leads back elsewhere")


def _residue(account: LossReport, tree: Tree, known_fields: KnownFields) -> None:
    if not tree.keys() <= known_fields.names:
        for name, value in tree.items():
            if name not in known_fields.names:
                account.lose(join(known_fields.path, name), None, value, account.plan.no_place)
    for name, inside in known_fields.groups:
        value = tree.get(name)
        if value == {} and name != account.plan.dialect.payload:
            account.lose(inside.path, None, value, account.plan.no_place)
        elif isinstance(value, dict):
            _residue(account, value, inside)
        elif value is not None:
            account.lose(inside.path, None, value, "it is not what the field is for")


# --- markdown body ----------------------------------------------------------------------------------------------------


def _write_body(account: LossReport) -> str | None:
    """The body of the result; None for a JSON dialect."""
    spec = account.plan.spoken.body
    if account.plan.to.form != "front-matter":
        return None
    if spec is None:
        return ""
    headings = account.plan.becomes.headings
    # Line ends are normalised first, so that the sections can be separated again.
    said = {slot: _with_plain_ends(value) for slot, value in account.sections.items()}
    body, silent = markdown_sections.compose(spec, said, headings)
    parsed = markdown_sections.parse(spec, body, headings).values
    for slot, value in account.sections.items():
        if parsed.get(slot) != value:
            account.vague[account.sources[f"{BODY}#{slot}"]] = True
    for heading in silent:
        reason = f"{account.plan.becomes.name} asks for this heading"
        account.invent(join(BODY, heading), None, markdown_sections.SILENT, reason)
    return body


def _with_plain_ends(value: Any) -> Any:
    if type(value) is str:
        return value.replace("\r\n", "\n").replace("\r", "\n") if "\r" in value else value
    if isinstance(value, list):
        return [_with_plain_ends(item) for item in value]
    return {name: _with_plain_ends(item) for name, item in value.items()} if isinstance(value, dict) else value


def _close_body(account: LossReport, body: str) -> None:
    """Report what became of the original's body as a whole, after its sections."""
    for heading, text in account.strays.items():
        account.lose(join(BODY, heading), None, text, account.plan.no_place)
    if any(within(here, BODY) for here, _ in account.carried):
        if account.laid_out:
            account.narrow(BODY, None, body, "its sections are translated, not their layout")
    elif not any(within(field_change.path, BODY) for field_change in account.lost):
        account.lose(BODY, None, body, "there is nothing under its headings")
