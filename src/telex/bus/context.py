"""What all verbs of a bus share: store, clock, policy, validators and the cached state of the team."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from functools import cached_property
from typing import Any, TypeVar

from telex.bus.team_state import TeamState, default_roles, read_snapshot, states_of
from telex.delivery.routing import inboxes_of
from telex.delivery.validator_cache import ValidatorCache
from telex.dialects.registry import versions_of
from telex.dialects.schema import Dialect, MessageType
from telex.errors import StoreFull
from telex.model.finding import Finding
from telex.model.message import Message
from telex.model.roster import Member, Roster
from telex.ports.clock import Clock
from telex.ports.evidence import Evidence
from telex.ports.store import Reads, Store, Transaction
from telex.validation.authorization import normalised
from telex.validation.check import STRICT, CheckPolicy

T = TypeVar("T")
ESCALATE = "escalate"  # the action, as in delivery/escalation_chain, which is imported when it is needed
SHUTDOWN = "shutdown"  # the topic, as in model/shutdown, which is imported when it is needed


class BusContext:
    def __init__(
        self,
        store: Store,
        clock: Clock,
        policy: CheckPolicy = STRICT,
        *,
        members: Sequence[Member] = (),
        work: Mapping[str, Any] | None = None,  # the team's settings of the work rules
        evidence: Evidence | None = None,  # looks up in a repository what reports claim
    ) -> None:
        self.store, self.clock, self.policy, self.limits = store, clock, policy, policy.limits
        self.validators = ValidatorCache(policy)
        self.declared = tuple(members)
        self.dialects = {dialect.name: dialect for dialect in policy.dialects}
        self.work = work or {}
        self.evidence = evidence
        self.team = TeamState(
            clock=clock,
            limits=policy.limits,
            dialects=self.dialects,
            declared=self.declared,
            default_roles=default_roles(
                versions_of(policy.forced, policy.dialects) if policy.forced else policy.dialects, closed=bool(members)
            ),
        )
        store.register_cache(self.team)
        self.current_trace: Callable[[], str | None] = lambda: None  # the traceparent that a caller sends in
        self.returned_at: dict[str, float] = {}  # members that stopped, and when: their messages were returned
        self.next_maintenance = 0.0  # when this bus next handles timeouts
        self.next_store_maintenance = 0.0  # when it next helps the store with its maintenance
        self._seen: dict[str, float] = {}
        self._roster_version: int | None = None

    # --- types -------------------------------------------------------------------------------------------------------

    @cached_property
    def escalation_types(self) -> frozenset[str]:
        """The names of all types that escalate something."""
        types = [type_ for dialect in self.dialects.values() for type_ in dialect.types.values()]
        return frozenset([type_.name for type_ in types if type_.action == ESCALATE])

    def type_that(self, action: str) -> tuple[Dialect, MessageType] | tuple[None, None]:
        """The first type of the team's dialects that has this action and that the bus can compose."""
        from telex.work.reducer import can_compose

        among = (self.policy.forced,) if self.policy.forced else self.policy.dialects
        for dialect in among:
            for type_ in dialect.types.values():
                has_action = type_.action == action
                if has_action and can_compose(dialect, type_):
                    return dialect, type_
        return None, None

    def type_of(self, message: Message) -> tuple[Dialect, MessageType] | None:
        """None: plain text, or a dialect that this team no longer has."""
        dialect = self.dialects.get(message.dialect or "")
        type_ = dialect.types.get(message.type or "") if dialect is not None else None
        return (dialect, type_) if dialect is not None and type_ is not None else None

    def action_of(self, message: Message) -> str:
        """The action of a stored message in the work; empty where it has none."""
        found = self.type_of(message)
        return found[1].action if found is not None else ""

    # --- reads -------------------------------------------------------------------------------------------------------

    async def read(self, query: Callable[[Reads], T]) -> T:
        """Run several reads on one snapshot, with the roster and the topics of that moment in `team`."""
        return await read_snapshot(self.store, self.team, query)

    async def topics(self, names: Iterable[str]) -> dict[str, Any]:
        """The states of these topics; those without messages are left out."""
        return await self.read(lambda _: states_of(self.team, names))

    async def topics_of_kind(self, kind: str) -> dict[str, Any]:
        return await self.read(lambda reads: states_of(self.team, reads.topics(kind)))

    async def roster(self, *, fresh: bool = False) -> Roster:
        """The roster as it is now. When members were last seen may be out of date, unless it is to be `fresh`."""
        if fresh:
            await self.read(lambda reads: self.team.load_members(reads.members()))
        version = self.store.changes()
        if version != self._roster_version or not self.team.is_loaded:
            await self.read(lambda _: None)
            self._roster_version = version
        return self.team.roster

    async def inboxes(self, member: Member) -> tuple[str, ...]:
        return inboxes_of(member, await self.roster())

    # --- members -----------------------------------------------------------------------------------------------------

    async def member(
        self, name: str, role: str | None = None, *, by: str | None = None, dialects: tuple[str, ...] = ()
    ) -> Member | Finding:
        """The member that acts under this name. In an open team a newcomer with a known role joins by acting; one that
        has shut down comes back only when it is added `by` a lead or a person. `dialects`: what it says it reads."""
        by = normalised(by) if by is not None else None
        roster = await self.roster()
        known, role = roster.members.get(normalised(name)), normalised(role) if role is not None else None
        if known is None or known.joined_at is None or not known.is_here or dialects or role not in (None, known.role):
            found = self.team.resolve_member(name, role, by=by)
            if isinstance(found, Finding):
                return found

            def join(tx: Transaction) -> Member | Finding:
                self.team.begin(tx)
                member = self.team.resolve_member(name, role, by=by)
                if isinstance(member, Finding):
                    return member
                reads = dialects or member.dialects
                if not self.team.is_member(member) or reads != member.dialects:
                    member = member._replace(dialects=reads, seen_at=self.team.now)
                    self.team.add_member(tx, member, by)
                return member

            return await self.store.transaction(join, may_use_reserve=True)
        await self.mark_seen(known.name, known.seen_at or 0.0)
        return known

    async def find_member(self, name: str, role: str | None = None) -> Member | Finding:
        """The member of this name, or the one that would join under it. Nothing is written."""
        known = (await self.roster()).members.get(normalised(name))
        return known if known is not None and not known.is_here else self.team.resolve_member(name, role)

    async def mark_seen(self, name: str, seen_at: float = 0.0) -> None:
        """Write down that a member is active, a few times in the span after which it would be shown as silent."""
        now, often_enough = self.clock.now(), self.limits.silent_seconds / 4
        if now - self._seen.get(name, seen_at) > often_enough:
            member = (await self.roster()).find(name)
            if member is None:
                return
            self._seen[name] = now
            if now - (member.seen_at or 0.0) > often_enough:
                with suppress(StoreFull):
                    await self.store.seen(name, now)
                    self.team.put_seen(name, now)
