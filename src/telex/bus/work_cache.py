"""What does a message mean to the work, and may it? The book, read from the store as far as it is needed.

What is known of a topic is kept and may be behind; that is no harm. A message is kept only if the topics it was weighed
against have not gone on, and before it is refused they are read again.
"""

from collections.abc import Iterable, Mapping
from functools import cache
from itertools import chain
from typing import Any, NamedTuple

from telex.delivery.routing import Route
from telex.dialects.schema import PRIORITIES, Dialect
from telex.model.finding import Finding, refusals
from telex.model.message import WorkChange
from telex.ports.store import Store
from telex.work.actions import IDLE
from telex.work.snapshots import LONG, decode_snapshot, encode_snapshot
from telex.work.view import WorkMessage, parse_tree, work_message_from_log

TYPE_CHECKING = False
if TYPE_CHECKING:
    from telex.bus.correlate import SendRequest
    from telex.bus.directory import BusContext
    from telex.delivery.validator_cache import CheckedMessage
    from telex.model.message import NewMessage
    from telex.model.roster import Member, Roster
    from telex.work.rule_set import DraftMessage

TOPICS_MAX = 20_000  # known at a time; beyond that all are read again as they are needed
NOTHING_SAID = (0, None)
UNREAD: Any = object()  # of what was said in a dialect that the team has no more; nobody can tell what it was
Known = dict[str, tuple[int, Any]]  # by topic: the number of the last message in it, and its state
EVIDENT = frozenset({"progress", "commit"})  # deeds that leave traces in a repository


class WorkCache:
    def __init__(self, store: Store, dialects: Mapping[str, Dialect]) -> None:
        self._store, self._dialects = store, dialects
        self._known: Known = {}
        self._behind: set[str] = set()  # topics that have surely gone on since: we wrote in them ourselves

    def mark_stale(self, work_change: WorkChange, seq: int) -> None:
        """A message was kept under this number, with its part."""
        reported = [report.work_change.topics for report in work_change.reports if report.work_change is not None]
        for topic in chain(work_change.topics, *reported):
            known = self._known.get(topic)
            if known is not None and known[0] < seq:  # nobody has read it since
                self._behind.add(topic)

    async def about(self, work_message: WorkMessage, *, fresh: bool, before: Known | None = None) -> Known:
        """Every topic that this message has to do with. Unless they are to be fresh, they may be a little behind; those
        that surely are, are read on where it can be told what was known of them `before`."""
        from telex.work import reducer

        found: Known = {}
        while missing := reducer.topics_needed(work_message, _states(found)) - found.keys():
            behind = self._behind & missing if before is not None and not fresh else frozenset()
            if before is not None:
                before |= {topic: self._known[topic] for topic in behind}
            found |= {topic: await self._topic(topic, fresh=fresh or topic in behind) for topic in missing}
        return found

    def put_back(self, before: Known) -> None:
        """As if these had not been read on."""
        self._known |= before
        self._behind.update(before)
        before.clear()

    async def of(self, topics: Iterable[str]) -> dict[str, Any]:
        """These topics as they are now; those in which nothing was said are left out."""
        return _states({topic: await self._topic(topic, fresh=True) for topic in topics})

    async def of_kind(self, kind: str) -> dict[str, Any]:
        return await self.of(await self._store.topics(kind))

    async def are_empty(self, topics: Iterable[str], *, fresh: bool) -> bool:
        """Was nothing ever said in these? Unless it is to be fresh, the answer may be a little behind."""
        return not any([(await self._topic(topic, fresh=fresh))[0] for topic in topics])

    def known_empty(self, topics: Iterable[str]) -> bool:
        """Was nothing ever said in these, as far as is known?"""
        known = self._known
        for topic in topics:  # noqa: SIM110 - `all` takes three times as long, and every message asks
            if known.get(topic) != NOTHING_SAID:
                return False
        return True

    @staticmethod
    @cache
    def nothing_said(topics: tuple[str, ...]) -> WorkChange:
        """The part of a message that has none as long as these topics are empty."""
        return WorkChange((), tuple((topic, 0) for topic in topics))

    async def _topic(self, topic: str, *, fresh: bool) -> tuple[int, Any]:
        known = self._known.get(topic)
        if known is not None and not fresh:
            return known
        self._behind.discard(topic)
        last, state = known or await self._snapshot(topic)
        news = await self._store.topic(topic, last)
        if news:
            from telex.work import reducer
        many = len(news) >= LONG
        if many:  # then they are folded in place, by whoever alone holds the state
            from telex.work.mutable_state import mutable_state
        for event, message in news:
            dialect = self._dialects.get(message.dialect or "")
            work_message = work_message_from_log(message, event, dialect) if dialect is not None else None
            if work_message is not None:
                state = reducer.fold(topic, None if state is UNREAD else state, work_message)
            elif dialect is None and state is None:
                state = UNREAD
            state = (
                mutable_state(reducer.kind_of(topic), state)
                if many and state is not None and state is not UNREAD
                else state
            )
            last = message.seq
        if many and state is not UNREAD:
            words = encode_snapshot(topic, last, state)
            await self._store.keep_snapshot(topic, last, words)
            state = decode_snapshot(topic, last, words)  # what was written in place is nobody's any more
        if len(self._known) >= TOPICS_MAX:
            self._known.clear()
            self._behind.clear()
        self._known[topic] = last, state
        return last, state

    async def _snapshot(self, topic: str) -> tuple[int, Any]:
        kept = await self._store.snapshot(topic)
        if kept is None:
            return NOTHING_SAID
        try:
            return kept[0], decode_snapshot(topic, *kept)
        except ValueError:  # of another version, or harmed: the log has it all
            return NOTHING_SAID


def _states(found: Mapping[str, tuple[int, Any]]) -> dict[str, Any]:
    return {topic: state for topic, (last, state) in found.items() if last and state is not UNREAD}


class WorkDecision(NamedTuple):
    """What the book has to say to a message, and what is written with it when it is kept."""

    findings: tuple[Finding, ...] = ()
    change: WorkChange | None = None


async def check_work_rules(
    context: "BusContext", work_message: WorkMessage, *, fresh: bool = False, before: Known | None = None
) -> WorkDecision:
    """Hold a message against the book. It must be kept with its part, or weighed again when that is stale.

    Topics in which we have written ourselves are read on, since it would surely be stale, and what was known of them is
    told in `before`, where that is given. But a message under an id that its sender has used is no new one: the store
    will say so, unless we have refused it here for what it has said itself. So for that we have not read on.
    """
    idle = IDLE.get(work_message.action)
    if (
        idle is not None
        and idle.fits(work_message.get(idle.name))
        and await context.work_cache.are_empty(idle.topics, fresh=fresh)
    ):
        return WorkDecision((), context.work_cache.nothing_said(idle.topics))
    from telex.work import reducer
    from telex.work.rule_set import RuleContext

    found = await context.work_cache.about(work_message, fresh=fresh, before=before)
    book, roster = _states(found), await context.roster()
    ground = RuleContext(work_message.at, roster, context.limits, context.work, context.dialects)
    findings = reducer.check_rules(work_message, book, ground)
    if refusals(findings):
        if before and any(
            message.sender == work_message.sender for message in await context.store.find(work_message.id)
        ):
            context.work_cache.put_back(before)
            return await check_work_rules(context, work_message)
        if not fresh:
            return await check_work_rules(context, work_message, fresh=True)
        from telex.bus.user_dialect_requests import is_user_dialect_request  # seldom, like every refusal

        left = await is_user_dialect_request(context, work_message, findings)
        return WorkDecision(findings if left is None else left)
    topics = reducer.topics_changed(work_message, book)
    assert found.keys() >= set(topics), "a message belongs to a topic that it was not weighed against"
    after = book | {topic: reducer.fold(topic, book.get(topic), work_message) for topic in topics}
    reports = []
    for draft in reducer.follow_up_messages(work_message, after, ground):
        report = work_message_of_draft(context, draft, roster, work_message.at)
        # What follows has its own matters, and may be late too.
        beside = await context.work_cache.about(report, fresh=fresh, before=before)
        found = beside | found
        reports.append(new_message_of_draft(context, report, _states(beside) | after))
    members = tuple(
        (member, _stopped(member, work_message)) for member in reducer.stopping(work_message, after, ground)
    )
    expects = tuple((topic, last) for topic, (last, _) in found.items())
    return WorkDecision(findings, WorkChange(topics, expects, tuple(reports), members) if expects else None)


def _stopped(member: "Member", work_message: WorkMessage) -> Any:
    from telex.model.event import Event

    return Event(0, work_message.at, "stopped", member.name)


def work_message_of_draft(context: "BusContext", draft: "DraftMessage", roster: "Roster", now: float) -> WorkMessage:
    """A message of the bus's own, as the rules see it."""
    from telex.delivery.routing import normal_address, route
    from telex.model.roster import HUMAN, TELEX, Member
    from telex.work.compose import compose

    new_id, dialect, type_ = draft.id or context.clock.new_id(), draft.dialect, draft.type
    tree = compose(
        dialect, type_, draft.of, id=new_id, now=now, sender=TELEX, to=draft.to, correlation=draft.correlation,
        reply_to=draft.reply_to,
    )  # fmt: skip
    found = route(normal_address(draft.to), Member(TELEX, TELEX), roster)
    inboxes = (HUMAN,) if isinstance(found, Finding) else found  # a person is always there
    return WorkMessage(
        0, new_id, now, TELEX, TELEX, draft.to, inboxes, dialect, type_, tree, draft.correlation, draft.reply_to
    )


def new_message_of_draft(context: "BusContext", work_message: WorkMessage, book: Mapping[str, Any]) -> "NewMessage":
    """It, ready to be kept together with what made it, and its own part in the work."""
    from telex.dialects.write import write
    from telex.model.digest import digest_of
    from telex.model.message import NewMessage
    from telex.model.roster import HUMAN
    from telex.work import reducer

    raw = write(work_message.dialect, work_message.tree).encode("utf-8", "backslashreplace")
    asks = work_message.type.reply is not None and HUMAN not in work_message.inboxes
    answer_by = work_message.at + context.limits.request_seconds if asks else None
    if work_message.action == "escalate":
        from telex.delivery.escalation_chain import deadline_of

        answer_by = deadline_of(work_message.text("level"), work_message.inboxes, work_message.at, context.limits)
    return NewMessage(
        id=work_message.id,
        at=work_message.at,
        sender=work_message.sender,
        role=work_message.role,
        to=work_message.to,
        dialect=work_message.dialect.name,
        type=work_message.type.name,
        rank=PRIORITIES.index(work_message.type.priority),
        correlation=work_message.correlation,
        reply_to=work_message.reply_to,
        digest=digest_of(raw),
        raw=raw,
        inboxes=work_message.inboxes,
        answer_by=answer_by,
        work_change=WorkChange(reducer.topics_changed(work_message, book)),
    )


def work_message_of_send(
    request: "SendRequest", member: "Member", checked: "CheckedMessage", address: str, inboxes: Route, now: float
) -> WorkMessage:
    """A message as the rules see it before it is kept."""
    kind, facts = checked.traits, checked.envelope
    assert kind is not None
    assert request.id is not None
    return WorkMessage(
        0,
        request.id,
        now,
        member.name,
        member.role,
        address,
        inboxes,
        kind.dialect,
        kind.type,
        parse_tree(request.raw, kind.dialect, kind.type),
        facts.correlation or request.correlation,
        facts.reply_to or request.reply_to,
    )


async def check_evidence(context: "BusContext", work_message: WorkMessage) -> tuple[Finding, ...]:
    """What the repository at hand says to it, where it claims to have changed something there."""
    if context.evidence is None or work_message.action not in EVIDENT:
        return ()
    from telex.bus.evidence_check import check_claims

    return await check_claims(context, work_message)
