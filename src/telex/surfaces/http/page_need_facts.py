"""Facts of one item that waits for a person, for the page: by its kind, with what is read from its message.

What is read from a message never changes, so it is cached by the key of the item.
"""

from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from typing import Any

from telex.config import Settings
from telex.dialects.schema import Dialect
from telex.errors import NotFound
from telex.model.contracts import SCOPE_CHANGE, WIDENING, Plan
from telex.model.message import StoredMessage
from telex.model.named_tuple import NamedTuple
from telex.model.roster import HUMAN, ONE_OF_ROLE, TELEX, Roster
from telex.model.work import Deadlock, Escalation, Wait, waits_for_ever
from telex.ports.bus import Bus, MessageHistory
from telex.surfaces.http.page_message import kind_of, read_tree
from telex.surfaces.http.page_shared import after_others
from telex.surfaces.http.page_stats import OUTSIDE, RecentEvents, Refusal
from telex.surfaces.http.tokens import Caller
from telex.surfaces.page.history import History
from telex.surfaces.page.needs import DeadGroup, IdleInboxes, Need, behind, named, shortened, wider_patterns
from telex.surfaces.page.rows import recipient_label
from telex.surfaces.page.wake_failures import WakeFailure
from telex.validation.contracts import scope_of
from telex.work.approvals import Approval, answerers, answering
from telex.work.stall import quoted

MEMBERS_MAX, EDGES_MAX, LADDER_MAX, INBOXES_MAX = 20, 12, 10, 20
FIELDS_MAX, FIELD_CHARACTERS_MAX = 10, 400  # of a request, beside those that have a place of their own
PATHS_MAX = 20
CONVERSATION_CHARACTERS_MAX = 60
REFUSED_SECONDS = 1_800.0  # before a request: refused messages that may have led to it
DETAILS_MAX = 2_000
SHOWN_ELSEWHERE = (
    *("request_type", "validationType", "subject", "title", "deadline", "evidence", "options", "taskId", "task_id"),
    *("type", "from", "to", "severity"),
)
Facts = dict[str, Any]


class View(NamedTuple):
    """Values that the facts of an item depend on, beside the item."""

    caller: Caller
    at: float | None
    history: History
    waiters: Mapping[str, frozenset[str]]  # by agent: who waits for it
    roster: Roster
    unread: Mapping[str, int]
    plans: Mapping[str, Plan]  # by the id of a request

    def role(self, name: str) -> str | None:
        member = self.roster.find(name)
        return member.role if member is not None else name if name == HUMAN else None

    def title(self, conversation: str | None) -> str | None:
        messages = self.history.conversations.get(conversation or "")
        return shortened(messages[0].gist, CONVERSATION_CHARACTERS_MAX) if messages else None

    def is_one_of(self, names: Iterable[str]) -> bool:
        """Whether the viewer has one of these names or roles. A person may do everything."""
        caller = self.caller
        own = {caller.agent, caller.role, f"{ONE_OF_ROLE}{caller.role}"}
        return caller.operator or any(name in own for name in names)

    def actions(self, actions: list[str]) -> list[str]:
        return actions if self.at is None and not self.caller.viewer else []

    def blocks(self, need: Need) -> Facts:
        """Agents that wait because of the item."""
        if need.kind not in ("approval", "escalation") or self.caller.conversation is not None:
            return {"agents": 0, "conversations": 0, "words": None}
        others = sorted(behind(need.by, self.waiters))
        words = f"{need.by} waits"
        if others:
            words += f"; {named(others)} wait{'' if len(others) > 1 else 's'} for it"
        messages = self.history.conversations.get(need.conversation or "", [])
        asked = next((message.seq for message in messages if message.at >= need.since), None)
        stands = bool(messages) and (asked is None or messages[-1].seq == asked)
        if stands:
            words += f"; {need.conversation} stands still"
        return {"agents": 1 + len(others), "conversations": int(stands), "words": words}


class NeedFacts:
    """Reads what the facts of items need of their messages."""

    def __init__(self, bus: Bus, settings: Settings, events: RecentEvents) -> None:
        self._bus, self._settings, self._policy = bus, settings, settings.policy()
        self._events = events
        self._dialects = {dialect.name: dialect for dialect in self._policy.dialects}
        self._details: dict[str, Facts] = {}  # by key of an item: what is read from its message

    async def facts(self, need: Need, view: View) -> Facts:
        common = {
            "key": need.key,
            "kind": need.kind,
            "message": need.message,
            "title": need.title,
            "by": need.by,
            "by_role": view.role(need.by),
            "since": need.since,
            "due": need.due,
            "conversation": need.conversation,
            "conversation_title": view.title(need.conversation),
        }
        match need.subject:
            case Approval():
                own = await self._approval(need, need.subject, view)
            case Escalation():
                own = await self._escalation(need, need.subject, view)
            case DeadGroup():
                own = _dead_facts(need.subject, view, self._settings.limits.attempts_max)
            case Deadlock():
                own = _stall_facts(need.subject, view)
            case IdleInboxes():
                own = _idle_facts(need.subject, view)
            case WakeFailure():
                own = _wake_facts(need.subject, view)
            case _:
                raise AssertionError(f"unknown kind of item: {need.kind}")
        return common | {"blocks": view.blocks(need)} | own

    async def _approval(self, need: Need, approval: Approval, view: View) -> Facts:
        request = approval.request
        dialect: Dialect | None = self._dialects.get(request.dialect)
        words = answering(request, self._dialects)
        may_answer = answerers(request, words, view.roster.members.values())
        plan = view.plans.get(request.id)
        detail = self._details.get(need.key)
        if detail is None:
            detail = self._keep_detail(need, await self._read_approval(approval))
        allowed = (*plan.words.allowed, *plan.granted) if plan is not None and plan.words is not None else ()
        takes = [name for name in ("conditions", "modifications") if words and name in words[1].field_map]
        widens = "modifications" in takes and request.kind in WIDENING
        is_yours = view.is_one_of(may_answer)
        return {
            **detail,
            "request": request.kind or (dialect.name if dialect else request.type),
            "plan": plan.id if plan is not None else None,
            "plan_title": shortened(plan.words.objective) if plan is not None and plan.words is not None else None,
            "allowed": [shortened(pattern) for pattern in allowed[:PATHS_MAX]],
            "scope": scope_of(plan) if plan is not None and plan.words is not None else None,
            "wider": wider_patterns(detail["paths"], allowed) if widens else [],
            "widens": widens,
            "needs_path": widens and request.kind == SCOPE_CHANGE and plan is not None,
            "takes": takes,
            "may_answer": [recipient_label(name) for name in may_answer[:PATHS_MAX]],
            "actions": view.actions(["allow", "reject"] if is_yours else []),
        }

    def _keep_detail(self, need: Need, detail: Facts) -> Facts:
        if len(self._details) >= DETAILS_MAX:
            self._details.clear()
        self._details[need.key] = detail
        return detail

    async def _read_approval(self, approval: Approval) -> Facts:
        request = approval.request
        message = await self._message(request.id, request.by)
        fields = self._fields(message)
        paths, paths_from = request.paths, "request"
        if not paths and request.kind == SCOPE_CHANGE:  # an override is never guessed
            paths, paths_from = self._meant_paths(request.subject, await self._refused_paths(approval))
        return {
            "message": message.seq if message is not None else None,
            "paths": list(paths[:PATHS_MAX]),
            "paths_from": paths_from if paths else None,
            "evidence": _text(fields.get("evidence")) or None,
            "says": _says(fields),
        }

    @staticmethod
    def _meant_paths(subject: str, refused: tuple[str, ...]) -> tuple[tuple[str, ...], str]:
        """Refused paths that the subject does not contradict, or else the paths in the subject."""
        named_there = tuple(paths_in(subject))
        within = tuple(path for path in refused if any(is_within(path, other) for other in named_there))
        if within or not named_there:
            return within or refused, "refused"
        return named_there, "subject"

    async def _refused_paths(self, approval: Approval) -> tuple[str, ...]:
        """The paths for which the last message of the asker before the request was refused."""
        request, refusals = approval.request, self._events.refusals
        for refusal in refusals.of_agent(request.by, request.at - REFUSED_SECONDS, request.at):
            paths = await self._paths_of(refusal)
            if paths:
                return paths
        return ()

    async def _paths_of(self, refusal: Refusal) -> tuple[str, ...]:
        findings = [one for one in refusal.findings if one["code"] == OUTSIDE[0] and one.get("found")]
        if any(finding["found"].endswith("…") for finding in findings):  # it was shortened: read the message
            stories = await after_others(self._bus.why(refusal.id))
            message = next((story.message for story in stories if story.message.seq == refusal.seq), None)
            tree = read_tree(message, self._policy) if message is not None else None
            found = [value_at(tree, finding["path"]) for finding in findings]
        else:
            found = [finding["found"] for finding in findings]
        return tuple(dict.fromkeys(path for path in found if isinstance(path, str)))

    async def _escalation(self, need: Need, escalation: Escalation, view: View) -> Facts:
        step = escalation.now
        detail = self._details.get(need.key)
        if detail is None:
            detail = self._keep_detail(need, await self._read_escalation(escalation))
        is_yours = view.is_one_of([step.to, *step.inboxes])
        return {
            "with": recipient_label(step.to),
            "level": step.level,
            "severity": escalation.severity or None,
            "ladder": [
                {"to": recipient_label(rung.to), "level": rung.level, "at": rung.at, "due": _moment(rung.due_at)}
                for rung in escalation.rungs[-LADDER_MAX:]
            ],
            "reply_to": step.id,
            **detail,
            "actions": view.actions(["answer"] if is_yours else []),
        }

    async def _read_escalation(self, escalation: Escalation) -> Facts:
        """Facts from the message of the last step, which never changes."""
        sender = TELEX if len(escalation.rungs) > 1 else escalation.by
        fields = self._fields(await self._message(escalation.now.id, sender))
        return {"answer_to": await self._answer_to(escalation), "says": _says(fields, escalation.reason)}

    async def _answer_to(self, escalation: Escalation) -> str | None:
        """The agent that waits for the answer; if the bus raised it, the last sender before that."""
        if escalation.by != TELEX:
            return escalation.by
        if not escalation.correlation:
            return None
        story: list[MessageHistory] = await after_others(self._bus.trace(escalation.correlation))
        earlier = [one.message for one in story if one.message.at <= escalation.at and not one.message.refused]
        return next((message.sender for message in reversed(earlier) if message.sender != TELEX), None)

    async def _message(self, id_: str, sender: str) -> StoredMessage | None:
        """The last accepted message of this sender with this id."""
        with suppress(NotFound):
            stories = await after_others(self._bus.why(id_))
            messages = [story.message for story in stories]
            return next((one for one in reversed(messages) if one.sender == sender and not one.refused), None)
        return None

    def _fields(self, message: StoredMessage | None) -> Facts:
        if message is None:
            return {}
        dialect, _ = kind_of(message, self._policy)
        tree = read_tree(message, self._policy)
        inner = (
            tree.get(dialect.payload) if dialect is not None and dialect.payload and isinstance(tree, dict) else tree
        )
        return inner if isinstance(inner, dict) else {}


# --- facts of one item ------------------------------------------------------------------------------------------------


def _dead_facts(group: DeadGroup, view: View, attempts: int) -> Facts:
    return {
        "reason": shortened(group.reason, FIELD_CHARACTERS_MAX) or None,
        "count": len(group.letters),
        "members": [
            {
                "key": letter.key,
                "message": letter.message,
                "from": letter.sender,
                "to": letter.inbox,
                "gist": letter.gist,
                "at": letter.at,
                "attempts": letter.attempts,
            }
            for letter in group.letters[:MEMBERS_MAX]
        ],
        "attempts": attempts,  # of a retry
        "actions": view.actions(["retry", "drop"] if view.caller.operator else []),
    }


def _stall_facts(knot: Deadlock, view: View) -> Facts:
    wait = weakest(knot)
    return {
        "agents": len(knot.who),
        "circle": [_edge(wait, view) for wait in knot.waits[:EDGES_MAX]],
        "circle_more": max(0, len(knot.waits) - EDGES_MAX),
        "inboxes": [],
        "inboxes_more": 0,
        "remedy": knot.remedy._asdict(),
        "nudge": {"to": wait.whom, "text": nudge_text(wait)},
        "actions": view.actions(["nudge"] if view.caller.operator or view.caller.agent else []),
    }


def _edge(wait: Wait, view: View) -> Facts:
    message = view.history.by_id.get(wait.id or "")
    facts = {"who": wait.who, "whom": wait.whom, "why": wait.why, "what": shortened(wait.words or wait.about)}
    if message is not None and wait.why == "answer":
        facts["what"] = message.gist
    roles = {"who_role": view.role(wait.who), "whom_role": view.role(wait.whom)}
    return facts | roles | {"since": wait.since, "message": message.seq if message is not None else None}


def _idle_facts(idle: IdleInboxes, view: View) -> Facts:
    shown = idle.inboxes[:INBOXES_MAX]
    return {
        "agents": len(idle.inboxes),
        "circle": [],
        "circle_more": 0,
        "inboxes": [
            {"inbox": one.inbox, "say": one.say, "since": one.since, "command": _wake_command(one.inbox, view)}
            for one in shown
        ],
        "inboxes_more": len(idle.inboxes) - len(shown),
        "remedy": None,
        "nudge": None,
        "actions": [],
    }


def _wake_command(inbox: str, view: View) -> str:
    """Command that a person runs on the machine of the agent."""
    name = inbox.removeprefix(ONE_OF_ROLE)
    return f"telex wake {quoted(name)}" if view.roster.find(name) is not None else f"telex inbox --as {quoted(name)}"


def _wake_facts(failure: WakeFailure, view: View) -> Facts:
    return {
        "agent": failure.agent,
        "unread": view.unread.get(failure.agent, 0),
        "attempts": failure.attempts,
        "tried": [attempt._asdict() for attempt in reversed(failure.tried)],
        "way": failure.tried[-1].way or None,
        "error": failure.tried[-1].error,
        "command": f"telex wake {quoted(failure.agent)}",
        "actions": [],
    }


def weakest(knot: Deadlock) -> Wait:
    """The wait that is reminded of: the oldest, of those on a person's message last."""
    return min(knot.waits, key=lambda wait: (wait.whom == HUMAN, wait.whom.startswith("plan:"), wait.since))


def nudge_text(wait: Wait) -> str:
    about = shortened(wait.words or wait.about)
    return f"{wait.who} waits for you: {about}. Please answer it, or say what you need first."


# --- helpers ----------------------------------------------------------------------------------------------------------


def paths_in(text: str) -> Iterator[str]:
    """Words of a sentence that look like paths: they have a slash, or an ending."""
    for word in text[:2_000].split()[:100]:
        word = word.strip(".,:;!?()[]{}\"'`")
        stem, dot, ending = word.rpartition(".")
        is_file = bool(dot and stem) and ending.isalnum() and not ending.isdecimal() and len(ending) <= 8
        if ("/" in word or is_file) and "//" not in word and word.strip("/") and not word.startswith(("/", "~")):
            yield word


def is_within(path: str, other: str) -> bool:
    return path == other or path.startswith(f"{other.rstrip('/')}/")


def value_at(tree: Any, path: str) -> Any:
    """The value at the path of a finding, such as `$.payload.files[0]`; None: there is none."""
    for part in path.removeprefix("$").replace("[", ".[").split("."):
        if part.startswith("[") and part[1:-1].isdecimal():
            index = int(part[1:-1])
            tree = tree[index] if isinstance(tree, list) and index < len(tree) else None
        elif part:
            tree = tree.get(part) if isinstance(tree, dict) else None
    return tree


def _says(fields: Facts, title: str = "") -> list[tuple[str, str]]:
    """The other fields of a message, as texts."""
    shown = [(name, _text(value)) for name, value in fields.items() if name not in SHOWN_ELSEWHERE]
    return [(name, text) for name, text in shown if text and text != title][:FIELDS_MAX]


def _text(value: Any) -> str:
    if value is None or value == "" or isinstance(value, dict):
        return ""
    if isinstance(value, list):
        return shortened(", ".join(_text(one) for one in value[:PATHS_MAX]), FIELD_CHARACTERS_MAX)
    return shortened(str(value), FIELD_CHARACTERS_MAX)


def _moment(due_at: float | None) -> float | None:
    return due_at if due_at is not None and not waits_for_ever(due_at) else None
