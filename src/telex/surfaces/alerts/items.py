"""Items of alerts, from the list of the page: what waits only for a person."""

from collections.abc import Mapping
from typing import Any, Protocol

from telex.model.contracts import GATE_OVERRIDE
from telex.model.named_tuple import NamedTuple
from telex.model.roster import HUMAN
from telex.surfaces.alerts.notification import Item
from telex.surfaces.http.page_needs import NeedsList
from telex.surfaces.http.tokens import AT_HOME, Caller
from telex.surfaces.page.needs import Need
from telex.validation.authorization import normalised

REVISED = frozenset(("approval", "escalation"))  # a new revision of these is notified anew
ITEMS_MAX = 500
Facts = dict[str, Any]


class NeedsReader(Protocol):
    """The list of the page."""

    async def current(self) -> NeedsList: ...

    async def facts_of(self, need: Need, caller: Caller) -> Facts: ...


class OpenApproval(NamedTuple):
    """A request for approval at one revision, for its answer page."""

    id: str
    revision: int
    title: str
    by: str
    paths: tuple[str, ...]  # that an approval allows
    evidence: str
    overrides: bool  # an approval allows paths that the contract forbids


class AlertItems:
    """Items that a person is notified of. The facts of an item are read once."""

    def __init__(self, needs: NeedsReader) -> None:
        self._needs = needs
        self._known: Mapping[str, Item] = {}

    async def __call__(self) -> list[Item] | None:
        """None: not everything is known yet, as after the start of a hub. What is missing then is not settled."""
        found = await self._needs.current()
        if found.unknown:
            return None
        needs = [need for need in found.needs if is_for_person(need)][:ITEMS_MAX]
        self._known = {need.key: self._known.get(need.key) or await self._item(need) for need in needs}
        return [*self._known.values()]

    async def _item(self, need: Need) -> Item:
        facts = await self._needs.facts_of(need, AT_HOME) if need.kind == "approval" else {}
        return Item(
            key=need.key if need.kind in REVISED else f"{need.kind}:{need.id}",
            kind=need.kind,
            title=need.title,
            by=need.by,
            since=need.since,
            due=need.due,
            conversation=need.conversation,
            paths=tuple(facts.get("paths", ())),
        )


def is_for_person(need: Need) -> bool:
    """Every item of the list is, except for an escalation that an agent can still answer."""
    if need.kind != "escalation":
        return True
    step = need.subject.now
    return HUMAN in (*step.inboxes, step.to, normalised(step.level))


async def open_approval(needs: NeedsReader, key: str) -> OpenApproval | None:
    """The request with this key, if it is open at this revision."""
    need = (await needs.current()).find(key)
    if need is None or need.key != key or need.kind != "approval":
        return None
    facts = await needs.facts_of(need, AT_HOME)
    evidence = str(facts.get("evidence") or "")
    paths = tuple(facts["paths"]) if facts["widens"] else ()
    overrides = facts["request"] == GATE_OVERRIDE
    return OpenApproval(
        need.id, need.revision, need.title, need.by, paths=paths, evidence=evidence, overrides=overrides
    )
