"""Answers of persons to what waits for them: checked when they are given, held back, checked again and carried out."""

import asyncio
import time
from hashlib import blake2b
from typing import Any

from telex.config import Settings
from telex.errors import InvalidValue, NotAMember, NotFound, TelexError
from telex.model.finding import Finding
from telex.model.named_tuple import NamedTuple
from telex.model.roster import HUMAN
from telex.model.text import ROOT
from telex.ports.bus import Bus, Receipt
from telex.protocol import encoded
from telex.surfaces.http.auth import OPERATOR_ONLY
from telex.surfaces.http.page_needs import Needs, NeedsList
from telex.surfaces.http.tokens import Caller
from telex.surfaces.page import held_answers
from telex.surfaces.page.held_answers import Action, AnswerOutcome, HeldAnswer, HeldAnswers, Job, failed
from telex.surfaces.page.needs import LETTER, DeadLetter, Need, named, parsed_key
from telex.validation.patterns import flaw

KEYS_MAX, PATHS_MAX, CONDITIONS_MAX = 500, 100, 50
KEY_CHARACTERS_MAX, ID_CHARACTERS_MAX, PATH_CHARACTERS_MAX = 400, 100, 4_096
OUTCOME_SECONDS = 60.0  # that the outcome of an answer is shown
ACTIONS: dict[Action, tuple[str, ...]] = {  # kinds that each action answers
    "allow": ("approval",),
    "reject": ("approval",),
    "answer": ("escalation",),
    "retry": ("dead", LETTER),
    "drop": ("dead", LETTER),
    "nudge": ("stall",),
}
PERSONS_ONLY = ("retry", "drop")
NOT_OPEN = ("approval-answered", "approval-outdated", "approval-unknown")  # codes: something else was quicker
REASON_NEEDED = Finding("value-wrong", "$.reason", "Give a reason: it is in the answer.", expected="a reason")
Facts = dict[str, Any]


class AnswerRequest(NamedTuple):
    """The body of a request, checked."""

    id: str
    keys: tuple[str, ...]
    action: Action
    paths: tuple[str, ...] | None = None  # None: those that each request asks for
    conditions: tuple[str, ...] = ()
    reason: str = ""
    text: str = ""
    to: str = ""


def parsed_request(given: Facts, settings: Settings) -> AnswerRequest:
    """Raises InvalidValue."""
    limits = settings.limits
    keys = _texts(given, "keys", KEYS_MAX, KEY_CHARACTERS_MAX)
    action = given.get("action")
    if not keys:
        raise InvalidValue("keys takes the keys of the items to answer.")
    if not isinstance(action, str) or action not in ACTIONS:
        raise InvalidValue(f"action takes one of {', '.join(ACTIONS)}.")
    paths = None if given.get("paths") is None else _texts(given, "paths", PATHS_MAX, PATH_CHARACTERS_MAX)
    for path in paths or ():
        if (wrong := flaw(path)) is not None:
            raise InvalidValue(f"paths: {path[:60]} cannot be allowed: {wrong}.")
    if paths and len(keys) > 1:
        raise InvalidValue("leave paths out: with several keys each request gets the paths that it asks for.")
    id_ = _text(given, "id", ID_CHARACTERS_MAX)
    if not id_ or not id_.isprintable() or " " in id_:
        raise InvalidValue("id takes a new id of this answer, made by the client.")
    return AnswerRequest(
        id_,
        tuple(dict.fromkeys(keys)),
        action,
        paths=paths,
        conditions=_texts(given, "conditions", CONDITIONS_MAX, limits.reason_characters_max),
        reason=_text(given, "reason", limits.reason_characters_max).strip(),
        text=_text(given, "text", limits.message_bytes_max // 4),
        to=_text(given, "to", KEY_CHARACTERS_MAX).strip(),
    )


class Answers:
    def __init__(self, bus: Bus, settings: Settings, needs: Needs, path: str | None) -> None:
        self._bus, self._settings, self._needs = bus, settings, needs
        self.held = HeldAnswers(path, self._carry_out)
        needs.answered = self.held.answered_keys

    # --- requests ----------------------------------------------------------------------------------------------------

    async def answer(self, given: Facts, caller: Caller) -> Facts:
        request = parsed_request(given, self._settings)
        digest = blake2b(encoded({**given, "by": caller.agent, "role": caller.role}), digest_size=16).hexdigest()
        await self.held.load()
        known = self.held.get(request.id)
        if known is not None:
            if known.digest != digest:
                raise InvalidValue(f"give the answer a new id: {request.id[:60]} is that of another answer.")
            return answer_facts(known)
        if not caller.operator and request.action in PERSONS_ONLY:
            raise NotAMember.because(OPERATOR_ONLY)
        answer = await self._checked(request, caller, digest)
        if answer.jobs:  # else nothing was answered: the file is for what has to be carried out
            await self.held.hold(answer)
        return answer_facts(answer)

    async def undo(self, id_: str, caller: Caller) -> Facts:
        answer = await self._own(id_, caller)
        undone = await self.held.undo(id_)
        return {"undone": undone, **answer_facts(answer)}

    async def send_now(self, id_: str, caller: Caller) -> Facts:
        answer = await self._own(id_, caller)
        await self.held.send_now(id_)
        return answer_facts(answer)

    async def _own(self, id_: str, caller: Caller) -> HeldAnswer:
        await self.held.load()
        answer = self.held.get(id_)
        if answer is None:
            raise NotFound("no answer has this id: it was given long ago, or at another hub.")
        if not caller.operator and caller.agent != answer.agent:
            raise NotAMember.because(OPERATOR_ONLY)
        return answer

    async def facts(self) -> list[Facts]:
        """Answers that are held back, and recent outcomes."""
        await self.held.load()
        return [answer_facts(answer) for answer in self.held.recent(time.time() - OUTCOME_SECONDS)]

    # --- checks ------------------------------------------------------------------------------------------------------

    async def _checked(self, request: AnswerRequest, caller: Caller, digest: str) -> HeldAnswer:
        needs = await self._needs.current()
        jobs, stale, wrong = list[Job](), list[str](), list[AnswerOutcome]()
        for key in request.keys:
            need, letters = found(needs, key)
            if need is None:
                stale.append(key)
                continue
            job = await self._job(request, key, need, letters, caller=caller)
            if isinstance(job, Job):
                jobs.append(job)
            else:
                wrong.append(failed(key, job))
        now = time.time()
        return HeldAnswer(
            request.id,
            digest,
            request.action,
            agent=(caller.agent or HUMAN) if caller.operator else caller.agent or "",
            role=None if caller.operator else caller.role,
            operator=caller.operator,
            jobs=tuple(jobs),
            at=now,
            undo_until=_undo_until(needs, jobs, now),
            stale=tuple(stale),
            failed=tuple(wrong),
            reason=request.reason,
            text=request.text,
            to=request.to,
            conditions=request.conditions,
            state="held" if jobs else "sent",
        )

    async def _job(
        self, request: AnswerRequest, key: str, need: Need, letters: tuple[DeadLetter, ...], *, caller: Caller
    ) -> Job | Finding:
        """The action for one item, or the reason why it is not possible."""
        facts = await self._needs.facts_of(need, caller)
        action = request.action
        if need.kind not in ACTIONS[action] and not (letters and LETTER in ACTIONS[action]):
            return Finding("value-wrong", "$.action", f"Choose another action: {action} is not for this item.")
        if action not in facts["actions"]:
            able = ", ".join(facts.get("may_answer") or [facts.get("with") or HUMAN])
            return Finding("may-not-answer", ROOT, f"Leave the answer to {able}.", expected=able, found=caller.agent)
        job = Job(key, need.title, need.by, letters=tuple(letter.key for letter in letters))
        match action:
            case "reject" | "drop" if not request.reason:
                return REASON_NEEDED
            case "allow":
                paths = tuple(facts["paths"]) if request.paths is None else request.paths
                if facts["needs_path"] and not paths:
                    say = f"Choose the paths that {need.by} may write: without one, nothing is allowed."
                    return Finding("approval-widens-nothing", "$.paths", say, expected="paths")
                return Job(key, need.title, need.by, paths=paths if facts["widens"] else ())
            case "answer" | "nudge" if not request.text.strip():
                return Finding("value-wrong", "$.text", "Write the text of the message.", expected="a text")
            case "answer" if not (facts["answer_to"] or request.to):
                return Finding("value-wrong", "$.to", "Name the agent that gets the answer.", expected="an agent")
        return job

    # --- execution ---------------------------------------------------------------------------------------------------

    async def _carry_out(self, answer: HeldAnswer) -> list[AnswerOutcome]:
        needs, outcomes = await self._needs.all(), list[AnswerOutcome]()
        for job in answer.jobs:
            try:
                outcomes.append(await self._carry_out_job(answer, job, needs))
            except TelexError as error:
                outcomes.append(failed(job.key, Finding(error.code, ROOT, error.say)))
            await asyncio.sleep(0)  # other requests have their turn
        await self._needs.all()  # so that what was answered is not in the list any more
        return outcomes

    async def _carry_out_job(self, answer: HeldAnswer, job: Job, needs: NeedsList) -> AnswerOutcome:
        """Carry out one job, if its item is still as it was when the answer was given."""
        need, letters = found(needs, job.key)
        letters = tuple(letter for letter in letters if letter.key in job.letters)
        if need is None or (job.letters and not letters):
            return AnswerOutcome(job.key, "stale")
        if answer.action in ("allow", "reject"):
            return _outcome(job, await self._decide(answer, job, need))
        if answer.action in ("retry", "drop"):
            return await self._settle_letters(answer, job, letters)
        facts = await self._needs.facts_of(need, _caller(answer))
        if answer.action == "answer":
            return _outcome(job, await self._send(answer, job, facts["answer_to"] or answer.to, facts["reply_to"]))
        return _outcome(job, await self._send(answer, job, answer.to or facts["nudge"]["to"], None))

    async def _decide(self, answer: HeldAnswer, job: Job, need: Need) -> Receipt:
        approved = answer.action == "allow"
        default = f"Allowed: {', '.join(job.paths)}." if job.paths else "Approved."
        return await self._bus.approve(
            need.id,
            approved=approved,
            reason=answer.reason or default,
            agent=answer.agent,
            role=answer.role,
            conditions=answer.conditions if approved else (),
            modifications=job.paths if approved else (),
            revision=need.revision,
            check=False,
        )

    async def _send(self, answer: HeldAnswer, job: Job, to: str, reply_to: str | None) -> Receipt:
        place = [one.key for one in answer.jobs].index(job.key)
        id_ = answer.id if len(answer.jobs) == 1 else f"{answer.id}.{place + 1}"  # the same if it is sent again
        return await self._bus.send(
            answer.text, sender=answer.agent, role=answer.role, to=to, id=id_, reply_to=reply_to, check=False
        )

    async def _settle_letters(self, answer: HeldAnswer, job: Job, letters: tuple[DeadLetter, ...]) -> AnswerOutcome:
        """Retry or drop; a message that died in several inboxes is retried in all."""
        done, last = 0, Finding("not-found", ROOT, "Look again: these are no dead letters any more.")
        for id_ in dict.fromkeys(letter.id for letter in letters):
            try:
                if answer.action == "retry":
                    done += await self._bus.retry(id_, agent=answer.agent)
                else:
                    done += await self._bus.drop(id_, reason=answer.reason, agent=answer.agent)
            except NotFound as error:
                last = Finding(error.code, ROOT, error.say)
        return AnswerOutcome(job.key, "done") if done else failed(job.key, last)


def found(needs: NeedsList, key: str) -> tuple[Need | None, tuple[DeadLetter, ...]]:
    """The open item of a key and its dead letters. None: it is not open any more, or has another revision."""
    wanted = parsed_key(key)
    if wanted.kind == LETTER:
        groups = [group for group in needs.needs if group.kind == "dead"]
        found_letters = [(group, letter) for group in groups for letter in group.subject.letters if letter.key == key]
        return (found_letters[0][0], (found_letters[0][1],)) if found_letters else (None, ())
    need = needs.find(key)
    if need is None or wanted.revision is None:
        return None, ()
    if need.kind == "dead":  # letters that died since are not meant
        letters = [letter for letter in need.subject.letters if letter.event <= wanted.revision]
        return (need, tuple(letters)) if letters else (None, ())
    return (need if need.revision == wanted.revision else None), ()


def answer_facts(answer: HeldAnswer) -> Facts:
    outcomes = {outcome.key: outcome for outcome in (*answer.outcomes, *answer.failed)}
    stale = [*answer.stale, *(key for key, outcome in outcomes.items() if outcome.state == "stale")]
    wrong = [outcome for outcome in outcomes.values() if outcome.state == "failed"]
    not_done = {*stale, *(outcome.key for outcome in wrong)}
    return {
        "id": answer.id,
        "action": answer.action,
        "state": answer.state,
        "by": answer.agent,
        "at": answer.at,
        "undo_until": answer.undo_until if answer.state == "held" else None,
        "done": [job.key for job in answer.jobs if job.key not in not_done],
        "stale": stale,
        "failed": [{"key": outcome.key, "findings": outcome.findings} for outcome in wrong],
        "words": words_of(answer),
    }


def words_of(answer: HeldAnswer) -> str:
    """The completed action, in a sentence."""
    if not answer.jobs:
        return ""
    job, count = answer.jobs[0], len(answer.jobs)
    names = named([*dict.fromkeys(job.by for job in answer.jobs)])
    letters = len({letter for job in answer.jobs for letter in job.letters})
    messages = f"{letters:,} message{'' if letters == 1 else 's'}"
    match answer.action:
        case "allow" if count > 1:
            return f"Allowed {count} requests of {names}."
        case "allow":
            return f"Allowed {', '.join(job.paths)} for {names}." if job.paths else f"Approved: {job.title}."
        case "reject":
            return f"Rejected {count} requests of {names}." if count > 1 else f"Rejected: {job.title}."
        case "answer":
            return f"Answered {names}."
        case "retry":
            return f"Retried {messages} to {names}."
        case "drop":
            return f"Dropped {messages} to {names}."
        case "nudge":
            return f"Reminder sent about: {job.title}."
    raise AssertionError(f"unknown action: {answer.action}")


def _caller(answer: HeldAnswer) -> Caller:
    return Caller(None if answer.operator else answer.agent, answer.role, answer.operator, None)


def _outcome(job: Job, receipt: Receipt) -> AnswerOutcome:
    if any(finding.code in NOT_OPEN for finding in receipt.findings):
        return AnswerOutcome(job.key, "stale")
    return AnswerOutcome(job.key, "done") if receipt.accepted else failed(job.key, *receipt.findings)


def _undo_until(needs: NeedsList, jobs: list[Job], now: float) -> float:
    """Earlier if something would be overdue by then."""
    until = now + held_answers.UNDO_SECONDS
    for job in jobs:
        need = needs.find(job.key)
        if need is not None and need.due is not None and now < need.due < until:
            until = max(now, need.due - held_answers.DEADLINE_SECONDS)
    return until


def _text(given: Facts, name: str, most: int) -> str:
    value = given.get(name, "")
    if not isinstance(value, str) or len(value) > most:
        raise InvalidValue(f"{name} takes a text of at most {most:,} characters.")
    return value


def _texts(given: Facts, name: str, count_max: int, characters_max: int) -> tuple[str, ...]:
    values = given.get(name) or []
    if not isinstance(values, list) or len(values) > count_max:
        raise InvalidValue(f"{name} takes a list of at most {count_max}.")
    if not all(isinstance(value, str) and len(value.strip()) > 0 and len(value) <= characters_max for value in values):
        raise InvalidValue(f"{name} takes texts of 1 to {characters_max:,} characters.")
    return tuple(value.strip() for value in values)
