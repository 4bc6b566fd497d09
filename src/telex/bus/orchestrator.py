"""Orchestrator of a pipeline: sends the dispatches that are due, through the verbs that every agent has.

The state of a work is in the log and determines which dispatches are due. An orchestrator can therefore be stopped at
any time: the next one computes what is due, skips dispatches that were sent, and acks a result only after everything
that follows from it is sent. Nothing is lost and nothing is sent twice.
"""

from collections.abc import Callable, Collection
from contextlib import suppress
from secrets import token_hex

from telex.dialects.builtin.signal_md import SIGNAL_MD, TRIAGE_REQUEST
from telex.dialects.parse.reader import read
from telex.dialects.schema import TYPE
from telex.dialects.write import write
from telex.errors import InvalidValue, LeaseLost, NotFound, TelexError
from telex.model.limits import LIMITS
from telex.model.message import StoredMessage
from telex.model.named_tuple import NamedTuple
from telex.model.roster import HUMAN, ONE_OF_ROLE, choice_of
from telex.ports.bus import Bus, Receipt
from telex.validation.authorization import normalised
from telex.work.pipeline import HELD, OPEN, WORK_CHARACTERS_MAX, PipelineStep, Work, again, is_work_id
from telex.work.signals import ANSWERS, Dispatch, ask, dispatch_text, pending_dispatches

ORCHESTRATOR = TRIAGE_REQUEST.senders[0]
TAKEN_MAX = 50  # results in one round: few enough to ack before their leases expire


class OrchestratorRound(NamedTuple):
    """Result of one round."""

    taken: int
    sent: tuple[Dispatch, ...] = ()
    refused: tuple[tuple[Dispatch, Receipt], ...] = ()  # retried after a restart
    handed_on: tuple[
        StoredMessage, ...
    ] = ()  # messages that are no result of a work: the sender or a person was notified
    failed: tuple[tuple[Dispatch, Exception], ...] = ()  # could not be composed; retried after a restart

    @property
    def idle(self) -> bool:
        return not self.taken and not self.sent


class Orchestrator:
    """`read_plan` returns the text of a plan's file, which an agent named; empty if it cannot be read."""

    def __init__(
        self,
        bus: Bus,
        name: str = ORCHESTRATOR,
        *,
        role: str | None = None,
        read_plan: Callable[[str], str] = lambda path: "",
    ) -> None:
        self._bus, self.name, self._role, self._read_plan = bus, normalised(name), role, read_plan
        self._settled: set[str] = set()  # dispatches that were sent, or cannot be sent

    async def start(self, text: str, work: str | None = None, *, to: str | None = None) -> Receipt:
        """Start a work with a request in free text. Starting it twice is the same as starting it once.

        Raises:
            InvalidValue: the id is invalid, or in use.
        """
        work = work or f"work-{token_hex(3)}"
        if not is_work_id(work):
            wanted = f"1 to {WORK_CHARACTERS_MAX} letters, digits, hyphens and underscores"
            raise InvalidValue(f"choose another id for the work: {wanted}.")
        fields = {TYPE: TRIAGE_REQUEST.name, TRIAGE_REQUEST.field_map["signal"]: "execute"}
        raw = write(SIGNAL_MD, fields, text if text.endswith("\n") else text + "\n").encode("utf-8", "backslashreplace")
        for message in await self._stored(work):
            if message.raw != raw:
                raise InvalidValue(f"choose another id for the work: there is a message called {work}.")
            if message.role in TRIAGE_REQUEST.senders:
                receipt = Receipt(True, work, "stored", to=(message.to,), dialect=message.dialect, type=message.type)
                return receipt._replace(duplicate=True)
        address = to or ONE_OF_ROLE + TRIAGE_REQUEST.receivers[0]
        return await self._bus.send(
            raw, sender=self.name, role=self._role, to=address, id=work, correlation=work, check=False
        )

    async def works(self) -> dict[str, Work]:
        """All works by id."""
        return {work.id: work for work in (await self._bus.work_state("work")).values()}

    async def work(self, id_: str) -> Work:
        """
        Raises:
            NotFound: there is no work of that id.
        """
        work = (await self.works()).get(id_)
        if work is None:
            raise NotFound(f"no work is called {id_[:128]}: telex work list shows them.")
        return work

    async def step(self, *, wait: float = 0.0, also: Collection[str] = ()) -> OrchestratorRound:
        """Receive results, send the dispatches that are due, then ack. For its own works and those in `also`."""
        leases = await self._bus.receive(self.name, role=self._role, limit=TAKEN_MAX, wait=wait)
        works = await self.works()
        sent, refused, failed = [], [], []
        for work in works.values():
            if work.by != self.name and work.id not in also:
                continue
            for dispatch in pending_dispatches(work):
                try:
                    receipt = await self._send_once(work, dispatch)
                except TelexError:
                    raise
                except Exception as error:  # one that cannot be composed does not hold up the others
                    self._settled.add(dispatch.id)
                    failed.append((dispatch, error))
                    continue
                if receipt is not None and receipt.accepted:
                    sent.append(dispatch)
                elif receipt is not None:
                    refused.append((dispatch, receipt))
        handed_on = [
            lease.message for lease in leases if not (_is_signal(lease.message) and lease.message.correlation in works)
        ]
        for message in handed_on:
            await self._hand_on(message)
        for lease in leases:
            with suppress(LeaseLost):  # it is delivered again, and nothing is left to do then
                await self._bus.ack(lease.token, agent=self.name)
        return OrchestratorRound(len(leases), tuple(sent), tuple(refused), tuple(handed_on), tuple(failed))

    async def run(
        self,
        works: Collection[str] = (),
        *,
        wait: float | None = None,
        seen: Callable[[OrchestratorRound], None] = lambda turn: None,
    ) -> bool:
        """Rounds until all works are done or blocked. False: no message came for `wait` seconds. None: no timeout."""
        seen(await self.step(also=works))
        while not await self.at_rest(works):
            turn = await self.step(wait=60.0 if wait is None else wait, also=works)
            seen(turn)
            if turn.idle and wait is not None:
                return await self.at_rest(works)
        return True

    async def at_rest(self, works: Collection[str] = ()) -> bool:
        """Whether these works, or all of its own, wait for nothing but a person."""
        looked_after = await self.looked_after(works)
        return not any(step.state in OPEN for work in looked_after for step in work.places.values())

    async def looked_after(self, works: Collection[str] = ()) -> list[Work]:
        """These works, or all of its own."""
        known = (await self.works()).values()
        return [work for work in known if (work.id in works if works else work.by == self.name)]

    async def resume(self, work: str, place: str | None = None, note: str = "", *, to: str | None = None) -> Receipt:
        """Resume a blocked or escalated place, in a new round, with a note to its agent.

        Raises:
            NotFound: there is no such work, or it has no such place.
            InvalidValue: that place is neither blocked nor escalated.
        """
        state = await self.work(work)
        dispatch = ask(state, again(_held(state, place)))
        return await self._send(state, dispatch._replace(to=to or dispatch.to), note)

    # --- one dispatch ------------------------------------------------------------------------------------------------

    async def _send_once(self, work: Work, dispatch: Dispatch) -> Receipt | None:
        """None: it was sent before, or another process has just sent it."""
        if dispatch.id in self._settled:
            return None
        receipt = None if await self._was_sent(work, dispatch) else await self._send_now(work, dispatch)
        self._settled.add(dispatch.id)
        return receipt

    async def _send_now(self, work: Work, dispatch: Dispatch) -> Receipt | None:
        receipt = await self._send(work, dispatch)
        if not receipt.accepted and await self._was_sent(work, dispatch):
            return None
        if not receipt.accepted and dispatch.or_to != dispatch.to:  # that agent may have left
            receipt = await self._send(work, dispatch._replace(to=dispatch.or_to))
        return receipt

    async def _was_sent(self, work: Work, dispatch: Dispatch) -> bool:
        messages = await self._stored(dispatch.id)
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
            check=False,
        )

    async def _stored(self, id_: str) -> list[StoredMessage]:
        """The accepted messages of that id."""
        try:
            histories = await self._bus.why(id_)
        except NotFound:
            return []
        return [history.message for history in histories if not history.message.refused]

    async def _body(self, id_: str) -> str:
        """The text below the front matter of a message."""
        messages = await self._stored(id_)
        parsed = read(messages[-1].raw, (SIGNAL_MD,), forced=SIGNAL_MD) if messages else None
        return parsed.body or "" if parsed is not None else ""

    # --- other messages ----------------------------------------------------------------------------------------------

    async def _hand_on(self, message: StoredMessage) -> None:
        """Notify the sender of a result that belongs to no work, and a person of any other message."""
        is_result = _is_signal(message)
        if is_result:
            what = "it belongs to no work: send it again with the id of the dispatch it answers as reply-to"
        else:
            what = f"it came to {self.name}, who only routes results: it is yours to answer"
        text = f"# About {message.id}\n\n{message.type or 'A note'} from {message.sender}: {what}.\n"
        text += f"\nRead it: telex show {message.id}\n"
        id_ = f"{message.id[: LIMITS.id_characters_max - 10]}.handed-on"
        to = message.sender if is_result else HUMAN
        if not await self._stored(id_):
            await self._bus.send(
                text, sender=self.name, role=self._role, to=to, id=id_, correlation=message.correlation, check=False
            )


def _is_signal(message: StoredMessage) -> bool:
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
