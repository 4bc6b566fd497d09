"""State of one translation: what has been written, and what became of each field."""

from typing import Any

from telex.dialects.schema import TYPE, Tree, set_path
from telex.model.limits import LIMITS
from telex.translation import markdown_sections
from telex.translation.kind_conversion import canonical
from telex.translation.mapping import AsList, ByValue, FromSlot, HasItems, ItemCount, Sum, Worth
from telex.translation.mapping_plan import MappingPlan
from telex.translation.result import FieldChange, MessageHeader

NO_BODY = markdown_sections.ParsedBody({})
_NEW = tuple.__new__  # makes a NamedTuple in half the time


class LossReport:
    """Filled in step by step, by `envelope` and `render`."""

    __slots__ = (
        "body",
        "carried",
        "header",
        "invented",
        "laid_out",
        "loose",
        "lost",
        "narrowed",
        "plan",
        "result",
        "roles",
        "sections",
        "sources",
        "spoken",
        "strays",
        "thread",
        "told",
        "tree",
        "vague",
        "values",
        "wired",
        "written",
    )

    def __init__(self, plan: MappingPlan, tree: Tree, header: MessageHeader, body: str | None) -> None:
        self.plan, self.tree, self.header = plan, tree, header
        parsed = NO_BODY
        self.loose = None  # a body that the row knows nothing of
        if plan.row.body is not None:
            parsed = markdown_sections.parse(plan.row.body, body or "", plan.type.headings)
        elif body:
            self.loose = body
        self.strays = parsed.strays
        self.body, self.laid_out = body, not parsed.as_written  # by hand, and not as it would be written
        said = parsed.values
        self.values = [
            field_read.get(tree) if field_read.get is not None else said.get(field_read.name)
            for field_read in plan.reads
        ]
        self.result: Tree = {TYPE: plan.becomes.name}
        if plan.version is not None:
            self.result[plan.version] = plan.to.stated_version
        self.sections: dict[str, Any] = {}  # what goes into the body
        self.written: dict[str, Any] = {}  # by path: what a place of the result says
        self.sources: dict[str, int] = {}  # by path: the read that it comes from
        self.spoken: set[str] = set()
        self.wired: set[str] = set()  # places of the original that the envelope of the result tells
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
        if len(steps) == 1:
            self.result[steps[0]] = value
        elif len(steps) == 2:
            inside = self.result.get(steps[0])
            if inside is None:
                inside = self.result[steps[0]] = {}
            inside[steps[1]] = value
        else:
            set_path(self.result, steps, value)

    def invent(self, path: str, slot: str | None, value: Any, reason: str) -> None:
        self.invented.append(_NEW(FieldChange, (path, slot, value, reason)))

    def lose(self, path: str, slot: str | None, value: Any, reason: str) -> None:
        self.lost.append(_NEW(FieldChange, (path, slot, value, reason)))

    def narrow(self, path: str, slot: str | None, value: Any, reason: str) -> None:
        self.narrowed.append(_NEW(FieldChange, (path, slot, value, reason)))

    def slot(self, name: str) -> Any:
        """What the original says of it."""
        if name == "$correlation":
            return self.header.correlation or self.thread
        if name.startswith("$"):
            return getattr(self.header, name[1:])
        return next((self.values[one] for one in self.plan.by_slot.get(name, ()) if self.values[one] is not None), None)

    def words(self, slot: str) -> list[str]:
        """What it says of a slot, in the words that all dialects have for it."""
        if slot == "$intent":
            return list(self.plan.row.intents[:1])
        reads, means = self.plan.reads, self.plan.row.means.get(slot, ())
        said = [canonical(self.values[one], reads[one].spelt) for one in self.plan.by_slot.get(slot, ())]
        return [one for one in (*means[:1], *said) if isinstance(one, str)]

    def untold(self, slot: str) -> bool:
        """Does the original say something of it that has found no place?"""
        numbers = self.plan.by_slot.get(slot, ())
        return any(self.values[number] is not None and not self.told[number] for number in numbers)

    def worth(self, value: Worth, fits: Any = None) -> Any:
        match value:
            case FromSlot(slots, otherwise):
                said = [self.slot(one) for one in slots]
                return next((one for one in said if one and (fits is None or fits(one))), otherwise)
            case AsList(slot):
                said = self.slot(slot)
                return [said] if isinstance(said, str) else []
            case Sum(slots):
                together = sum(one for slot in slots if type(one := self.slot(slot)) is int)
                return min(together, LIMITS.integer_max)
            case ItemCount(slot):
                said = self.slot(slot)
                return len(said) if isinstance(said, list) else 0
            case HasItems(slot):
                return bool(self.slot(slot))
            case ByValue(slot, values, otherwise):
                return next((values[one] for one in self.words(slot) if one in values), otherwise)
        return value
