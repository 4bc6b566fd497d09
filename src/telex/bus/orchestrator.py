"""Orchestrator of a pipeline: sends the dispatches that are due, through the verbs that every agent has.

The state of a work is in the log and determines which dispatches are due. An orchestrator can therefore be stopped at
any time: the next one computes what is due, skips dispatches that were sent, and acks a result only after everything
that follows from it is sent. Nothing is lost and nothing is sent twice.
"""

from collections.abc import Callable, Collection
from contextlib import suppress
from secrets import token_hex
from typing import NamedTuple

from telex.dialects.builtin.signal_md import SIGNAL_MD, TRIAGE_REQUEST
from telex.dialects.parse.reader import read
from telex.dialects.schema import TYPE
from telex.dialects.write import write
from telex.errors import InvalidValue, LeaseLost, NotFound
from telex.model.dialect_version import choice_of
from telex.model.limits import LIMITS
from telex.model.message import Lease, Message
from telex.model.roster import HUMAN, ONE_OF_ROLE
from telex.ports.bus import Bus, Receipt
from telex.validation.authorization import normalised
from telex.work.dispatches import Dispatch, ask, dispatch_text, pending_dispatches
from telex.work.pipeline import HELD, OPEN, WORK_CHARACTERS_MAX, PipelineStep, Work, again, is_work_id
from telex.work.signals import ANSWERS

ORCHESTRATOR = TRIAGE_REQUEST.senders[0]
TAKEN_MAX = 50  # results in one turn: few enough to be done with before their leases run out


class OrchestratorRound(NamedTuple):
    """What was done in one turn."""

    taken: int
    sent: tuple[Dispatch, ...] = ()
    refused: tuple[tuple[Dispatch, Receipt], ...] = ()  # what the bus would not keep; it is tried again after a restart
    handed_on: tuple[Message, ...] = ()  # mail that was no result of a work: its sender or a person was told

    @property
    def idle(self) -> bool:
        return not self.taken and not self.sent


class Orchestrator:
    """`read_plan` has the text of a plan's file, which an agent named; nothing if it cannot be read."""

    def __init__(
        self,
        bus: Bus,
        name: str = ORCHESTRATOR,
        *,
        role: str | None = None,
        read_plan: Callable[[str], str] = lambda path: "",
    ) -> None:
        self._bus, self.name, self._role, self._read_plan = bus, normalised(name), role, read_plan
        self._settled: set[str] = set()  # dispatches that are there, or cannot be sent: not to be tried again

    async def start(self, text: str, work: str | None = None, *, to: str | None = None) -> Receipt:
        """Begin a work with what is asked for, in anybody's words. To begin it twice is to begin it once.

        Raises:
            InvalidValue: no work can be called so, or another one is.
        """
        work = work or f"work-{token_hex(3)}"
        if not is_work_id(work):
            wanted = f"1 to {WORK_CHARACTERS_MAX} letters, digits, hyphens and underscores"
            raise InvalidValue(f"choose another id for the work: {wanted}.")
        fields = {TYPE: TRIAGE_REQUEST.name, TRIAGE_REQUEST.field_map["signal"]: "execute"}
        raw = write(SIGNAL_MD, fields, text if text.endswith("\n") else text + "\n").encode("utf-8", "backslashreplace")
        for message in await self._found(work):
            if message.raw != raw:
                raise InvalidValue(f"choose another id for the work: there is a message called {work}.")
            if message.role in TRIAGE_REQUEST.senders:
                return Receipt(
                    True,
                    work,
                    state="stored",
                    to=(message.to,),
                    dialect=message.dialect,
                    type=message.type,
                    duplicate=True,
                )
        address = to or ONE_OF_ROLE + TRIAGE_REQUEST.receivers[0]
        return await self._bus.send(raw, sender=self.name, role=self._role, to=address, id=work, correlation=work)

    async def works(self) -> dict[str, Work]:
        """Every work there is, by its id."""
        return {work.id: work for work in (await self._bus.work_state("work")).values()}

    async def work(self, id_: str) -> Work:
        """One of them, as it stands.

        Raises:
            NotFound: there is none of that id.
        """
        work = (await self.works()).get(id_)
        if work is None:
            raise NotFound(f"no work is called {id_[:128]}: telex work list shows them.")
        return work

    async def step(self, *, wait: float = 0.0, also: Collection[str] = ()) -> OrchestratorRound:
        """Take what has come, send what is due, then ack. Its own works are looked after, and those named `also`."""
        leases = await self._bus.receive(self.name, role=self._role, limit=TAKEN_MAX, wait=wait)
        works = await self.works()
        sent, refused = [], []
        for work in works.values():
            if work.by != self.name and work.id not in also:
                continue
            for dispatch in pending_dispatches(work):
                receipt = await self._send_once(work, dispatch)
                if receipt is not None:
                    sent += [dispatch] if receipt.accepted else []
                    refused += [] if receipt.accepted else [(dispatch, receipt)]
        handed_on = [lease.message for lease in leases if not _is_result(lease.message, works)]
        for message in handed_on:
            await self._hand_on(message)
        for lease in leases:
            await self._done_with(lease)
        return OrchestratorRound(len(leases), tuple(sent), tuple(refused), tuple(handed_on))

    async def run(
        self,
        works: Collection[str] = (),
        *,
        wait: float | None = None,
        seen: Callable[[OrchestratorRound], None] = lambda turn: None,
    ) -> bool:
        """Turn after turn, until all is done or held up. False: nothing came for `wait` seconds. None: for ever."""
        seen(await self.step(also=works))
        while not await self.at_rest(works):
            turn = await self.step(wait=60.0 if wait is None else wait, also=works)
            seen(turn)
            if turn.idle and wait is not None:
                return await self.at_rest(works)
        return True

    async def at_rest(self, works: Collection[str] = ()) -> bool:
        """Is nothing waited for any more but a person, in these works or in all of its own?"""
        looked_after = await self.looked_after(works)
        return not any(step.state in OPEN for work in looked_after for step in work.places.values())

    async def looked_after(self, works: Collection[str] = ()) -> list[Work]:
        """These works, or all of its own."""
        known = (await self.works()).values()
        return [work for work in known if (work.id in works if works else work.by == self.name)]

    async def resume(self, work: str, place: str | None = None, note: str = "", *, to: str | None = None) -> Receipt:
        """Set a place going again that is blocked or escalated, in a new round, with a word to whoever does it.

        Raises:
            NotFound: there is no such work, or it has no such place.
            InvalidValue: that place is not held up.
        """
        found = await self.work(work)
        dispatch = ask(found, again(_held(found, place)))
        return await self._send(found, dispatch._replace(to=to or dispatch.to), note)

    # --- one dispatch ------------------------------------------------------------------------------------------------

    async def _send_once(self, work: Work, dispatch: Dispatch) -> Receipt | None:
        """None: it has been sent."""
        if dispatch.id in self._settled:
            return None
        receipt = None if await self._was_sent(work, dispatch) else await self._send_now(work, dispatch)
        self._settled.add(dispatch.id)
        return receipt

    async def _send_now(self, work: Work, dispatch: Dispatch) -> Receipt | None:
        """None: another has sent it, in this very moment."""
        receipt = await self._send(work, dispatch)
        if not receipt.accepted and await self._was_sent(work, dispatch):
            return None
        if not receipt.accepted and dispatch.or_to != dispatch.to:  # that one may have left
            receipt = await self._send(work, dispatch._replace(to=dispatch.or_to))
        return receipt

    async def _was_sent(self, work: Work, dispatch: Dispatch) -> bool:
        messages = await self._found(dispatch.id)
        return any(message.role in TRIAGE_REQUEST.senders and message.correlation == work.id for message in messages)

    async def _send(self, work: Work, dispatch: Dispatch, note: str = "") -> Receipt:
        quoted = {id_: await self._body(id_) for _, id_ in dispatch.cites if id_}
        plan = self._read_plan(work.plan_file) if work.plan_file and dispatch.place.kind == "step" else ""
        raw = dispatch_text(work, dispatch, quoted, note, plan).encode("utf-8", "backslashreplace")
        return await self._bus.send(
            raw,
            sender=self.name,
            role=self._role,
            to=dispatch.to,
            id=dispatch.id,
            reply_to=dispatch.reply_to,
            correlation=work.id,
        )

    async def _found(self, id_: str) -> list[Message]:
        """What was kept under that id."""
        try:
            stories = await self._bus.why(id_)
        except NotFound:
            return []
        return [story.message for story in stories if not story.message.refused]

    async def _body(self, id_: str) -> str:
        """What a message says below its front matter; the whole of one that has none."""
        messages = await self._found(id_)
        if not messages:
            return ""
        reading = read(messages[-1].raw, (SIGNAL_MD,), forced=SIGNAL_MD)
        return reading.body or ""

    # --- other mail --------------------------------------------------------------------------------------------------

    async def _hand_on(self, message: Message) -> None:
        """What this cannot route is not swallowed: a result goes back to its sender, anything else to a person."""
        is_result = _is_signal(message)
        if is_result:
            what = "it belongs to no work: send it again with --reply-to and the id of the dispatch it answers"
        else:
            what = f"it came to {self.name}, who only routes results: it is yours to answer"
        text = f"# About {message.id}\n\n{message.type or 'A note'} from {message.sender}: {what}.\n"
        text += f"\nRead it: telex show {message.id}\n"
        id_ = f"{message.id[: LIMITS.id_characters_max - 10]}.handed-on"
        to = message.sender if is_result else HUMAN
        if not await self._found(id_):
            await self._bus.send(
                text, sender=self.name, role=self._role, to=to, id=id_, correlation=message.correlation
            )

    async def _done_with(self, lease: Lease) -> None:
        with suppress(LeaseLost):  # then it comes again, and there will be nothing left to do
            await self._bus.ack(lease.token, agent=self.name)


def _is_result(message: Message, works: dict[str, Work]) -> bool:
    return _is_signal(message) and message.correlation in works


def _is_signal(message: Message) -> bool:
    return choice_of(message.dialect or "").dialect == SIGNAL_MD.name and message.type in ANSWERS


def _held(work: Work, place: str | None) -> PipelineStep:
    held = {name: step for name, step in work.places.items() if step.state in HELD}
    if place is None:
        if len(held) != 1:
            which = f"say which of {', '.join(held)}" if held else "nothing in it is blocked or escalated"
            raise InvalidValue(f"{work.id}: {which}.")
        return next(iter(held.values()))
    if place not in work.places:
        raise NotFound(f"{work.id} has no place called {place[:60]}: it has {', '.join(work.places)}.")
    if place not in held:
        raise InvalidValue(f"{place} of {work.id} is {work.places[place].state}, neither blocked nor escalated.")
    return held[place]
