"""Send: check outside the transaction, decide inside it, answer after the commit.

The check (parse, validate, authorise) is pure and takes the longest, so it runs before the lock is taken, with the
sender and recipient that the cache knows. The decision reads everything it depends on under the lock, and checks again
if the roster has changed meanwhile. It makes all checks before its first write and changes nothing outside the
transaction but the cache, so it can be run again in another transaction.
"""

from collections.abc import Awaitable, Callable
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, Unpack

from telex.bus.context import BusContext
from telex.bus.decision import (
    DecidedSend,
    Decision,
    PreparedSend,
    RefusedSend,
    SendRequest,
    StoredSend,
)
from telex.delivery.routing import Participants
from telex.dialects.schema import Dialect
from telex.errors import OutcomeUnknown, Refused, StoreError
from telex.model.finding import Finding
from telex.model.text import digest_of, replace_surrogates
from telex.ports.bus import Raw, Receipt, SendContext, as_bytes
from telex.validation.authorization import normalised
from telex.validation.check import CheckResult

if TYPE_CHECKING:
    import asyncio

_NEW = tuple.__new__  # makes a NamedTuple in half the time: by place, for every message
CLAIMING = frozenset({"progress", "commit"})  # actions with claims that a repository can confirm


def accepted(receipt: Receipt) -> Receipt:
    """The receipt of an accepted message.

    Raises:
        Refused: the message was refused.
    """
    if not receipt.accepted:
        raise Refused(receipt)
    return receipt


class Sender:
    """Sends of one bus."""

    def __init__(self, context: BusContext) -> None:
        self._context = context
        self._undecided: dict[str, asyncio.Future[None]] = {}  # by sender: its last send that waits for evidence

    async def encode(self, raw: Raw, **context: Unpack[SendContext]) -> bytes:
        """The message as bytes. A typed message that names roles has them from the roster."""
        if not isinstance(raw, bytes | str | dict):
            team = self._context.team
            if not team.is_loaded:
                await self._context.roster()
            route = team.route((context["sender"], context.get("role"), context.get("to")))
            if not isinstance(route, Finding):
                context["role"], context["to_role"] = route.participants.as_role, route.participants.to_role
        return as_bytes(raw, **context)

    async def send(self, request: SendRequest) -> Receipt:
        context = self._context
        if not context.team.is_loaded:
            await context.roster()
        prepared = self._prepare(request)
        if self._undecided or context.evidence is not None:
            submitted = await self._submit_in_order(prepared)
        else:
            submitted = self._submit(prepared)
        try:
            outcome = await submitted
        except OutcomeUnknown as error:
            raise OutcomeUnknown(error.say, prepared.id) from error
        return outcome if isinstance(outcome, Receipt) else await self._finish(outcome)

    def _prepare(self, request: SendRequest) -> PreparedSend:
        """Check the message for the sender and recipient that the cache knows, and give it an id."""
        context = self._context
        began, raw = context.clock.now(), request.raw
        route = context.team.route(request[1:4])
        participants = Participants() if isinstance(route, Finding) else route.participants
        checked = context.validators.check(raw, participants)
        own_id = checked.envelope.id or request.id
        if own_id is not None and checked.checked is not None:
            own_id = replace_surrogates(own_id)
        id_, has_own_id = own_id or context.clock.new_id(), own_id is not None
        digest = digest_of(raw)
        trace = context.current_trace()  # of the caller: the transaction may run in the context of another one
        return _NEW(PreparedSend, (request, checked, participants, id_, has_own_id, digest, began, trace, ()))

    def _submit(self, prepared: PreparedSend) -> Awaitable[DecidedSend]:
        """Submit the decision to the store's queue. Nothing may be awaited before this: it keeps the order of one
        sender."""
        decide = partial(Decision.make, self._context, prepared)
        return self._context.store.transaction(decide, prefetch_id=prepared.id if prepared.has_own_id else None)

    # --- evidence ----------------------------------------------------------------------------------------------------

    async def _submit_in_order(self, prepared: PreparedSend) -> Awaitable[DecidedSend]:
        """Look up what the message claims before it is submitted. Later sends of the same sender wait for that."""
        name, traits = normalised(prepared.request.sender), prepared.checked.traits
        earlier = self._undecided.get(name)
        claims = self._context.evidence is not None and traits is not None and traits.action in CLAIMING
        if earlier is None and not claims:
            return self._submit(prepared)
        release = self._hold(name, earlier)
        try:
            if earlier is not None:
                import asyncio

                await asyncio.shield(earlier)
            if claims:
                prepared = prepared._replace(evidence=await self._evidence(prepared))
            return self._submit(prepared)
        finally:
            release()

    def _hold(self, name: str, earlier: "asyncio.Future[None] | None") -> Callable[[], None]:
        """Make later sends of this sender wait until the returned function is called, and `earlier` is done too."""
        loop = _running_loop()
        if loop is None:  # without an event loop nothing else can run meanwhile
            return lambda: None
        held = self._undecided[name] = loop.create_future()

        def release(_: object = None) -> None:
            if earlier is not None and not earlier.done():
                earlier.add_done_callback(release)
                return
            held.set_result(None)
            if self._undecided.get(name) is held:
                del self._undecided[name]

        return release

    async def _evidence(self, prepared: PreparedSend) -> tuple[Finding, ...]:
        from telex.bus.correlate import work_message_of
        from telex.bus.guard import check_claims
        from telex.work.reducer import HeaderFields
        from telex.work.view import parse_tree

        traits, request, evidence = prepared.checked.traits, prepared.request, self._context.evidence
        assert traits is not None
        assert evidence is not None
        header = HeaderFields(prepared.id, prepared.began, request.sender, request.to)
        tree = parse_tree(request.raw, traits.dialect, traits.type)
        claims = work_message_of(header, request.role or "", (), traits.dialect, traits.type, tree=tree)
        return await check_claims(evidence, claims)

    # --- after the commit --------------------------------------------------------------------------------------------

    async def _finish(self, outcome: StoredSend | RefusedSend) -> Receipt:
        if isinstance(outcome, StoredSend):
            from telex.bus.maintenance import return_messages

            with suppress(StoreError):  # the message is stored, and maintenance returns what is left
                for member in outcome.stopped:
                    await return_messages(self._context, member)
            return outcome.receipt
        from telex.delivery.lifecycle import refusal_answer

        message, checked = outcome.message, outcome.checked
        fixed, certain = fixed_text(checked.checked, checked.dialect)
        answer = refusal_answer(
            outcome.findings,
            message.id,
            message.correlation,
            message.sender,
            checked.dialect,
            now=message.at,
            new_id=self._context.clock.new_id(),  # its own id may be invalid
        )
        return Receipt(
            accepted=False,
            id=message.id,
            state="refused",
            to=(),
            dialect=message.dialect,
            type=message.type,
            findings=outcome.findings,
            answer=answer,
            fixed=fixed,
            certain=certain,
        )


def fixed_text(result: CheckResult | None, dialect: Dialect | None) -> tuple[str | None, bool]:
    """The message as it would be accepted, and whether every change to it is certain."""
    if result is None or dialect is None or result.valid:
        return None, False
    tree = result.fixed if result.fixed is not None else result.skeleton
    if tree is None:
        return None, False
    from telex.dialects.write import OPENING, write

    text, certain = write(dialect, tree, result.body), result.fixed is not None
    if not certain and OPENING not in text and result.skeleton == result.tree:
        return None, False  # nothing could be changed for the sender: the findings name the changes
    return text, certain


def _running_loop() -> "asyncio.AbstractEventLoop | None":
    """Without importing asyncio, which a process that has no event loop does not pay for."""
    import sys

    asyncio = sys.modules.get("asyncio")
    return asyncio._get_running_loop() if asyncio is not None else None
