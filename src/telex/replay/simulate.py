"""Simulation of a send: what a team with these settings would have answered to a message of a log.

A message is checked, routed and held against the work rules by the same pure functions that the bus calls. Members and
work state come from the log. What a log does not record stays as it was: the sender's options, whether an inbox was
full.
"""

from collections.abc import Iterable, Mapping
from itertools import islice
from typing import Any, Literal, NamedTuple

import msgspec

from telex.delivery.validator_cache import CheckedMessage, TypeTraits, ValidatorCache
from telex.dialects.schema import ANY, Dialect, MessageType
from telex.model.event import COMING_AND_GOING, Event
from telex.model.finding import Finding, Severity, refusals
from telex.model.json_path import ROOT
from telex.model.message import Message
from telex.model.roster import EVERYONE, TELEX, Member
from telex.replay.reader import LogEntry, inboxes_of, moment_in, recorded
from telex.replay.team import NOBODY, ReplayPath, ReplayTeam
from telex.validation.check import STRICT, CheckPolicy
from telex.work import reducer
from telex.work.approvals import Approval, ApprovalRequest, topic_of
from telex.work.rule_set import RuleContext
from telex.work.user_dialect_requests import ANSWERING, ASKING, decides_nothing, left_over, stands_for, wanted_by
from telex.work.view import WorkMessage, parse_tree, work_message_from_log

Verdict = Literal["passed", "refused", "repeated", "own"]  # own: a message of the bus itself, which is not checked
# Findings that only the record has: the options of the sender and the inboxes of that day are not in the log.
RECORDED = frozenset({"id-differs", "id-not-allowed", "inbox-full", "recipient-missing"})
EVIDENCE: dict[str, Severity] = {"mark": "warning", "refuse": "refusal"}  # by the team's setting
REUSED, CONTRADICTED = "id-reused", "evidence-contradicted"
IDS_MAX = 5_000  # at least so many ids are remembered
REQUESTS_MAX = 5_000  # at least so many ids of requests in a user's dialect are remembered
REQUESTS_PER_ID_MAX = 16
_NO_SENDER = ReplayPath(Member("", ""), None, (), None, NOBODY)
_decode = msgspec.json.Decoder().decode


class SimulatedResult(NamedTuple):
    """What would have become of a message."""

    verdict: Verdict
    agent: str
    dialect: Dialect | None
    type: MessageType | None
    id: str | None
    findings: tuple[Finding, ...] = ()


class Simulator:
    """A team that answers the messages of a log one after the other."""

    def __init__(
        self,
        policy: CheckPolicy = STRICT,
        declared: Iterable[Member] = (),
        settings: Mapping[str, Any] | None = None,  # of the team, for the work rules
        evidence: str = "mark",
        begin: Iterable[Member] = (),  # members since before the first line of the log
    ) -> None:
        self.work_state: dict[str, Any] = {}  # by topic
        self._policy, self._settings, self._evidence = policy, settings or {}, EVIDENCE.get(evidence)
        self._team, self._validators = ReplayTeam(policy, declared, begin), ValidatorCache(policy)
        self._dedup, self._user_requests = ReplayDedup(), ReplayUserRequests()
        self._dialects = {dialect.name: dialect for dialect in policy.dialects}
        self._now = 0.0  # the latest time that the log has named

    def apply(self, event: Event) -> None:
        """An event of the log that is no message. Only joining, leaving and stopping have an effect."""
        if event.kind in COMING_AND_GOING:
            self._now = max(self._now, event.at)
            self._team.happened(event)

    def send(self, entry: LogEntry) -> SimulatedResult:
        """The answer to a message. Unless it is refused, it then counts as sent."""
        if entry.sender == TELEX and (entry.kept or entry.at is not None):
            return self._send_own(entry)
        path = _NO_SENDER if entry.sender is None else self._path(entry)
        if isinstance(path, Finding):
            checked = self._validators.check(entry.raw, NOBODY)
            return _result("refused", entry, checked, entry.sender or "", (*checked.findings, path))
        checked = self._validators.check(entry.raw, path.pair)
        if entry.sender is None and checked.traits is not None:
            path = path._replace(member=_only_sender(checked.traits.type))
        return self._decide(entry, checked, path) if entry.kept else self._deduplicate(entry, checked, path)

    def _path(self, entry: LogEntry) -> ReplayPath | Finding:
        assert entry.sender is not None
        return self._team.way(entry.sender, entry.role, entry.to, not entry.refused, entry.is_bare)

    def _deduplicate(self, entry: LogEntry, checked: CheckedMessage, path: ReplayPath) -> SimulatedResult:
        """The answer to a message of a log that has neither members nor repeated messages as events."""
        sender, id_ = path.member.name, checked.envelope.id
        self._team.meet(path.member)
        if id_ is None or (checked.checked is not None and not checked.checked.valid):
            return self._decide(entry, checked, path)
        is_repeated = self._dedup.is_repeated(entry.raw, sender, id_)
        if is_repeated is not None:
            finding = () if is_repeated else (_id_reused(id_),)
            return _result("repeated" if is_repeated else "refused", entry, checked, sender, finding)
        result = self._decide(entry, checked, path)
        if result.verdict == "refused":
            self._dedup.forget(sender, id_)  # the corrected message may have the same id
        return result

    def _decide(self, entry: LogEntry, checked: CheckedMessage, path: ReplayPath) -> SimulatedResult:
        traits, findings = checked.traits, self._findings_before(entry, path)
        if path.address is None and checked.envelope.recipient is not None:
            path = self._team.reached(
                checked.envelope.recipient,
                path.member,
                by_role=checked.dialect is not None and checked.dialect.addresses == "roles",
                taken=not entry.refused,
            )
            findings = findings if path.wrong is None else (*findings, path.wrong)
        verdict: Verdict = "passed"
        if (findings and _stops(findings, self._policy)) or (checked.checked is not None and not checked.checked.valid):
            verdict = "refused"
        elif traits is not None and self._policy.work:
            verdict, findings = self._apply_work_rules(entry, checked, traits, path, findings)
        return _result(verdict, entry, checked, path.member.name, (*checked.findings, *findings))

    def _findings_before(self, entry: LogEntry, path: ReplayPath) -> tuple[Finding, ...]:
        findings: tuple[Finding, ...] = () if path.wrong is None else (path.wrong,)
        if entry.detail is None or '"findings"' not in entry.detail:
            return findings
        return (*_findings_of_the_record(entry, self._evidence if self._policy.work else None), *findings)

    def _send_own(self, entry: LogEntry) -> SimulatedResult:
        """A message of the bus itself. It is not checked, and others may answer it."""
        checked = self._validators.check(entry.raw, NOBODY)
        traits = checked.traits
        if traits is not None and traits.action is not None and not entry.refused:
            message = Message(
                entry.number, entry.id or "", entry.at or self._now, TELEX, TELEX, entry.to or "", traits.dialect.name,
                traits.type.name, traits.rank, entry.correlation, entry.reply_to, b"", entry.raw,
            )  # fmt: skip
            event = Event(entry.number, message.at, "accepted", TELEX, detail=entry.detail)
            work_message = work_message_from_log(message, event, traits.dialect)
            if work_message is not None:
                self._fold(work_message)
        return SimulatedResult("own", TELEX, checked.dialect, traits.type if traits is not None else None, entry.id)

    # --- work rules --------------------------------------------------------------------------------------------------

    def _apply_work_rules(
        self,
        entry: LogEntry,
        checked: CheckedMessage,
        traits: TypeTraits,
        path: ReplayPath,
        findings: tuple[Finding, ...],
    ) -> tuple[Verdict, tuple[Finding, ...]]:
        if traits.action is not None:
            if not self._has_effect(checked, traits):
                return "passed", findings
            work_message = self._work_message(entry, checked, traits, path)
            findings = (*findings, *reducer.check_rules(work_message, self.work_state, self._context(work_message.at)))
            if not refusals(findings):
                self._fold(work_message)
                return "passed", findings
            findings = self._user_requests.findings_left(work_message, findings)
        elif stands_for(traits.type, ANSWERING):
            findings = (*findings, *self._answer_of_user_dialect(self._work_message(entry, checked, traits, path)))
        elif stands_for(traits.type, ASKING):
            self._user_requests.add(self._work_message(entry, checked, traits, path))
        return "refused" if self._policy.strict and refusals(findings) else "passed", findings

    def _has_effect(self, checked: CheckedMessage, traits: TypeTraits) -> bool:
        """Not for a message that a lenient team lets pass, and for some types not before certain topics exist."""
        if checked.checked is not None and refusals(checked.findings):
            return False
        return traits.idle is None or not self.work_state.keys().isdisjoint(traits.idle)

    def _answer_of_user_dialect(self, work_message: WorkMessage) -> tuple[Finding, ...]:
        """Findings in an answer of a user's dialect to a request of a built-in one."""
        topic = topic_of(work_message.reply_to) if work_message.reply_to is not None else ""
        approval: Approval | None = self.work_state.get(topic)
        return () if approval is None else decides_nothing(work_message, approval, self._dialects)

    def _fold(self, work_message: WorkMessage) -> None:
        state = self.work_state
        topics = reducer.topics_changed(work_message, state)
        if topics:
            self._now = max(self._now, work_message.at)
        for topic in topics:
            state[topic] = reducer.fold_in_place(topic, state.get(topic), work_message)
        if work_message.sender != TELEX and work_message.action == "stopped":
            for member in reducer.stopping(work_message, state, self._context(work_message.at)):
                self._team.stands(member)

    def _context(self, at: float) -> RuleContext:
        return RuleContext(at, self._team.roster, self._policy.limits, self._settings, self._dialects)

    def _work_message(
        self, entry: LogEntry, checked: CheckedMessage, traits: TypeTraits, path: ReplayPath
    ) -> WorkMessage:
        dialect, envelope, at = traits.dialect, checked.envelope, entry.at
        # msgspec reads JSON faster and less strictly, which is safe after the compiled validator.
        tree = parse_tree(entry.raw, dialect, traits.type, _decode if checked.checked is None else None)
        if at is None:
            written = tree.get(dialect.wire.timestamp or "")
            at = moment_in(written) if isinstance(written, str) else None
        address, inboxes = (path.address, path.inboxes) if path.address else (EVERYONE, self._team.everybody())
        recorded_inboxes = inboxes_of(entry) if entry.detail is not None else None
        return WorkMessage(
            entry.number,
            entry.id or envelope.id or f"line {entry.number}",
            self._now if at is None else at,
            path.member.name,
            path.member.role,
            address,
            inboxes if recorded_inboxes is None else recorded_inboxes,
            dialect,
            traits.type,
            tree,
            envelope.correlation or entry.correlation,
            envelope.reply_to or entry.reply_to,
        )


def _result(
    verdict: Verdict, entry: LogEntry, checked: CheckedMessage, agent: str, findings: tuple[Finding, ...]
) -> SimulatedResult:
    type_ = checked.traits.type if checked.traits is not None else None
    return SimulatedResult(verdict, agent, checked.dialect, type_, entry.id or checked.envelope.id, findings)


def _only_sender(type_: MessageType) -> Member:
    """The sender of a message that names none: the role that may send its type, if there is only one."""
    role = type_.senders[0] if len(type_.senders) == 1 and type_.senders != ANY else ""
    return Member(role, role)


def _stops(findings: tuple[Finding, ...], policy: CheckPolicy) -> bool:
    """A claim that contradicts the repository stops a message in a strict team only, every other refusal in any."""
    return any(one.code != CONTRADICTED or policy.strict for one in refusals(findings))


def _id_reused(id_: str) -> Finding:
    say = f"Give it an id of its own: {id_} was sent before, with other words."
    return Finding(REUSED, ROOT, say, expected="an id not used before", found=id_)


def _findings_of_the_record(entry: LogEntry, evidence: Severity | None) -> tuple[Finding, ...]:
    """Findings of the send that a replay cannot make again. `evidence`: the severity of a claim that contradicts the
    repository; None: it is ignored."""
    listed = recorded(entry).get("findings")
    findings = []
    for finding in [_finding(one) for one in listed if isinstance(one, dict)] if isinstance(listed, list) else ():
        if finding.code == CONTRADICTED and evidence is not None:
            findings.append(finding._replace(severity=evidence))
        elif entry.refused and (finding.code in RECORDED or (finding.code, finding.path) == (REUSED, ROOT)):
            findings.append(finding)
    return tuple(findings)


def _finding(fields: dict[str, Any]) -> Finding:
    known = {name: value for name, value in fields.items() if name in Finding._fields and isinstance(value, str)}
    return Finding(**{"code": "", "path": ROOT, "say": ""} | known)  # type: ignore[arg-type]


class ReplayDedup:
    """The ids of messages, by sender. It holds the latest of them, since no team keeps all ids of a long log."""

    def __init__(self) -> None:
        self._ids: dict[tuple[str, str], int] = {}  # by sender and id: the hash of the message
        self._ids_max = 2 * IDS_MAX  # the older half is then forgotten

    def is_repeated(self, raw: bytes, sender: str, id_: str) -> bool | None:
        """True: the same message was sent under this id. False: another one was. None: none was."""
        ids, digest = self._ids, hash(raw)
        known = ids.setdefault((sender, id_), digest)
        if known is not digest:
            return known == digest
        if len(ids) > self._ids_max:
            self._ids = dict(islice(ids.items(), IDS_MAX, None))
        return None

    def forget(self, sender: str, id_: str) -> None:
        self._ids.pop((sender, id_), None)


class ReplayUserRequests:
    """Requests in a user's dialect, which are no part of the work state. Answers to them pass, as they do on the bus.

    It holds the latest of them. An answer that comes later is taken as an answer to an unknown request.
    """

    def __init__(self) -> None:
        self._requests: dict[str, list[tuple[MessageType, ApprovalRequest]]] = {}  # by id
        self._ids_max = 2 * REQUESTS_MAX  # the older half is then forgotten

    def add(self, message: WorkMessage) -> None:
        request = ApprovalRequest(
            message.id, message.sender, message.role, message.to, message.inboxes, "", "", message.at, None,
            message.dialect.name, message.type.name,
        )  # fmt: skip
        known = self._requests.setdefault(message.id, [])
        known.append((message.type, request))
        del known[:-REQUESTS_PER_ID_MAX]
        if len(self._requests) > self._ids_max:
            self._requests = dict(islice(self._requests.items(), REQUESTS_MAX, None))

    def findings_left(self, message: WorkMessage, findings: tuple[Finding, ...]) -> tuple[Finding, ...]:
        """The findings in an answer, without those that do not hold if it answers one of these requests."""
        intents = wanted_by(message, findings) if self._requests else None
        if intents is None:
            return findings
        known = self._requests.get(message.reply_to or "", ())
        left = left_over(message, findings, [request for type_, request in known if stands_for(type_, intents)])
        return findings if left is None else left
