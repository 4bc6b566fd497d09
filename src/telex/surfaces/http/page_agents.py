"""Agents for the page: the list, one agent's page, and what a person does with an agent: wake it, stop it."""

import asyncio
import secrets
import time
from collections import defaultdict
from pathlib import Path
from typing import Any

from starlette.requests import Request

from telex.config import Settings
from telex.dialects.schema import ANY, Dialect, MessageType
from telex.dialects.write import write
from telex.errors import InvalidValue, NotAMember, NotFound
from telex.model.finding import Finding
from telex.model.roster import HUMAN, Member, roster_of
from telex.model.text import nearest
from telex.model.work import NO_SHUTDOWNS, STATES, TOPIC, ShutdownState
from telex.ports.bus import Bus, Presence, Wake
from telex.protocol.verbs import VERBS
from telex.surfaces.clients.sessions import Session, all_sessions, folder_of, sessions_of
from telex.surfaces.clients.wakes import Waker, on_loop
from telex.surfaces.http.asgi import HttpResponse, problem
from telex.surfaces.http.auth import OPERATOR_ONLY, acting
from telex.surfaces.http.page_query import DAY, HOUR, choice_of, json_object, moment_of, number_of
from telex.surfaces.http.page_stats import RecentEvents, RefusalStats
from telex.surfaces.http.tokens import caller_of
from telex.surfaces.page.agent_contracts import contracts_facts
from telex.surfaces.page.agent_wakes import clients_of, join_command, session_facts, session_of, wake_facts
from telex.surfaces.page.agents import (
    SHOWN,
    SORTS,
    AgentsQuery,
    Moment,
    PageAgent,
    agent_facts,
    agent_rows,
    agents_at,
    agents_page,
    names_in,
    roles_of,
)
from telex.surfaces.page.find import GONE
from telex.surfaces.page.history import History
from telex.surfaces.page.past import PastHistories
from telex.surfaces.page.search import FILTER_CHARACTERS_MAX
from telex.surfaces.page.timeline import LaneMember, TimelineQuery, Window, timeline_facts
from telex.validation.authorization import may_receive, normalised
from telex.work.reducer import HeaderFields, compose
from telex.work.shutdown import shutdown_progress

AGENTS, AGENTS_MAX = 60, 500  # of one page of the list: unless more are asked for, and at most
LIVE_SECONDS = 1.0  # a moment so near to now is now
SHARED_SECONDS = 1.0
CODES_MAX = 10
NAME_CHARACTERS_MAX = 200  # of a name in an error
SESSIONS_SECONDS = 2.0  # for which the files of sessions are not read again
ASKERS_MAX = 20

Facts = dict[str, Any]


class UnknownAgent(NotFound):
    def __init__(self, say: str, nearest: str | None = None) -> None:
        super().__init__(say)
        self.nearest = nearest


class AgentViews:
    def __init__(self, bus: Bus, settings: Settings, events: RecentEvents, past: PastHistories) -> None:
        self._bus, self._settings, self._events, self._past = bus, settings, events, past
        self._sessions = SessionFolder(bus)
        self._live_rows: tuple[int, float, list[Facts]] = (-1, 0.0, [])  # as of which event, when, and the rows

    # --- facts --------------------------------------------------------------------------------------------------------

    async def listing(self, request: Request) -> Facts:
        query = AgentsQuery(
            sort=choice_of(request, "sort", [*SORTS, *(f"-{name}" for name in SORTS)]),
            show=choice_of(request, "show", [*SHOWN]),
            filter=request.query_params.get("filter", "")[:FILTER_CHARACTERS_MAX],
            offset=int(number_of(request, "cursor", 0)),
            limit=int(number_of(request, "limit", AGENTS, least=1, most=AGENTS_MAX)),
        )
        now = time.time()
        moment, history = await self._moment(now, moment_of(request))
        rows = await self._rows(history, moment)
        return {"now": now, "at": moment.at, "begins_at": history.begins_at, **agents_page(rows, query)}

    async def _rows(self, history: History, moment: Moment) -> list[Facts]:
        """Those of now are used again for a second, as long as nothing happens."""
        position, made_at, rows = self._live_rows
        if not moment.is_past and position == history.position and moment.at - made_at <= SHARED_SECONDS:
            return rows
        position = history.position
        agents = agents_at(await self._bus.roster(), history, moment)
        rows = await agent_rows(history, agents, await self._bus.escalations(answered=moment.is_past), moment.at)
        clients = {**clients_of(await self._sessions.read()), HUMAN: "person"}
        rows = [row | {"client": clients.get(row["name"])} for row in rows]
        if not moment.is_past:
            self._live_rows = position, moment.at, rows
        return rows

    async def one(self, request: Request) -> Facts | HttpResponse:
        try:
            return await self._one(normalised(request.path_params["name"]), moment_of(request))
        except UnknownAgent as error:
            return problem(404, error.code, error.say, nearest=error.nearest)

    async def _one(self, name: str, at: float | None) -> Facts:
        now, roster = time.time(), await self._bus.roster()
        moment, history = await self._moment(now, at)
        agents = agents_at(roster, history, moment)
        agent = _agent(name, agents, roster)
        escalations = await self._bus.escalations(answered=True)
        window = TimelineQuery(Window(moment.at - HOUR, moment.at, moment.at))
        plans = (await self._bus.work_state("plan")).values()
        facts = agent_facts(history, agent, escalations, moment.at)
        contracts = contracts_facts(plans, agent, moment.at, is_past=moment.is_past)
        names = {*names_in(facts), *(contract["by"] for contract in contracts["contracts"])}
        return {
            "now": now,
            "at": moment.at,
            "begins_at": history.begins_at,
            **facts,
            "filters": {"said": f'from:"{agent.name}"', "heard": f'to:"{agent.name}"'},  # of the feed
            "refusals": _refusals(self._events.refusals, agent.name, moment.at),
            **contracts,
            "roles": roles_of(agents, names),
            **await self._session(history, agent, moment),
            "shutdown": None if moment.is_past else await self._shutdown(agent, roster),
            "lane": timeline_facts(history, [LaneMember(agent.name, agent.role, agent.state)], escalations, window),
        }

    async def _moment(self, now: float, at: float | None) -> tuple[Moment, History]:
        live = (await self._events.caught_up()).history
        silent_seconds = self._settings.limits.silent_seconds
        if at is None or at >= now - LIVE_SECONDS:
            return Moment(now, is_past=False, silent_seconds=silent_seconds), live
        return Moment(at, is_past=True, silent_seconds=silent_seconds), await self._past.covering(live, at - HOUR, at)

    async def _session(self, history: History, agent: PageAgent, moment: Moment) -> Facts:
        found = session_of(await self._sessions.read(), agent.name)
        session, live = found if found is not None else (None, False)
        events = [*history.lane(agent.name).wakes]
        return {
            "client": session.client if session is not None else "person" if agent.name == HUMAN else None,
            "session": session_facts(session, live=live) if session is not None and not moment.is_past else None,
            "join": join_command(agent.name, agent.role),
            "wake": wake_facts(agent.name, session if live and not moment.is_past else None, events, moment.at),
        }

    async def _shutdown(self, agent: PageAgent, roster: list[Presence]) -> Facts:
        """Whether it was asked to stop, and by whom it can be asked."""
        state: ShutdownState = (await self._bus.work_state(TOPIC)).get(TOPIC, NO_SHUTDOWNS)
        members = [presence.member for presence in roster]
        own = next((one for one in members if one.name == agent.name), Member(agent.name, agent.role))
        progress = shutdown_progress(state, own, roster_of(members))
        dialect, type_ = self._stop_type()
        return {
            "state": progress.state,
            "words": STATES[progress.state],
            "asked_at": progress.call.at if progress.call is not None else None,
            "asked_by": progress.call.by if progress.call is not None else None,
            "may_be_asked": type_ is not None and may_receive(agent.role, type_) and self._settings.work_rules,
            "askers": _askers(dialect, type_, roster)[:ASKERS_MAX],
            "reasons": _reasons(type_),
        }

    def _stop_type(self) -> tuple[Dialect | None, MessageType | None]:
        for dialect in self._bus.policy.dialects:
            for type_ in dialect.types.values():
                if type_.action == "stop":
                    return dialect, type_
        return None, None

    # --- actions ------------------------------------------------------------------------------------------------------

    async def wake(self, request: Request) -> Facts:
        """Deliver a wake to the agent's sessions on this machine; without one, make it due."""
        given = await json_object(request, self._settings.limits.message_bytes_max)
        named = acting(caller_of(request.scope), VERBS["wake"], {"agent": request.path_params["name"]})
        if isinstance(named, Finding):
            raise NotAMember.because(named)
        by = named.get("by") or HUMAN
        return await self._wake(normalised(named["agent"]), by=by, force=given.get("force") is True)

    async def _wake(self, agent: str, *, by: str, force: bool) -> Facts:
        if not any(presence.member.name == agent for presence in await self._bus.roster()):
            raise NotFound(f"no agent is called {agent[:NAME_CHARACTERS_MAX]}.")
        folder = self._sessions.folder
        live = await asyncio.to_thread(sessions_of, folder, agent) if folder is not None else []
        failures: list[str] = []
        for session in live:
            assert folder is not None
            waker = Waker(self._bus, folder, session, by=by, runtime=on_loop())
            result = await waker.wake_now(force=force)
            failures += result.failures
            if result.way is not None:
                return _woken(result.wake, way=result.way, failures=failures)
            if session is live[-1]:
                return _woken(result.wake, failures=failures, waits=result.waits)
        return _woken(await self._bus.wake(agent, by=by, force=force), has_session=False)

    async def stop(self, request: Request) -> Facts:
        """Send the agent a request to shut down. It answers, or not."""
        if not caller_of(request.scope).operator:
            raise NotAMember.because(OPERATOR_ONLY)
        given = await json_object(request, self._settings.limits.message_bytes_max)
        name, asker = normalised(request.path_params["name"]), normalised(str(given.get("as", "")))
        members = {presence.member.name: presence.member for presence in await self._bus.roster()}
        unknown = next((one for one in (name, asker) if one not in members), None)
        if unknown is not None:
            raise NotFound(f"no agent is called {unknown[:NAME_CHARACTERS_MAX]}.")
        return await self._ask_to_stop(members[name], members[asker], str(given.get("reason", "")))

    async def _ask_to_stop(self, agent: Member, asker: Member, reason: str) -> Facts:
        dialect, type_ = self._stop_type()
        if dialect is None or type_ is None:
            raise InvalidValue("no dialect of the team has a message that asks for a shutdown.")
        fields = {"reason": reason, "team": self._settings.team_name or "team"}
        addressed = agent.name if dialect.addresses == "names" else agent.role
        header = HeaderFields(secrets.token_hex(16), time.time(), asker.role, addressed)
        raw = write(dialect, compose(dialect, type_, fields, header))
        receipt = await self._bus.send(raw, sender=asker.name, to=agent.name)
        return {"id": receipt.id, "to": receipt.to}


class SessionFolder:
    """Sessions of clients on the hub's machine, read at most every SESSIONS_SECONDS."""

    def __init__(self, bus: Bus) -> None:
        path = getattr(getattr(bus, "store", None), "path", None)
        self.folder = folder_of(path) if isinstance(path, str) and Path(path).exists() else None
        self._read_at, self._sessions = float("-inf"), list[Session]()

    async def read(self) -> list[Session]:
        if self.folder is not None and time.monotonic() - self._read_at > SESSIONS_SECONDS:
            self._sessions = await asyncio.to_thread(all_sessions, self.folder)
            self._read_at = time.monotonic()
        return self._sessions


def _agent(name: str, agents: list[PageAgent], roster: list[Presence]) -> PageAgent:
    found = next((agent for agent in agents if agent.name == name), None)
    if found is not None:
        return found
    later = next((presence.member for presence in roster if presence.member.name == name), None)
    if later is not None:
        raise UnknownAgent(f"{name} had not joined the team at that moment.")
    close = nearest(name, [agent.name for agent in agents])
    meant = f" Did you mean {close}?" if close is not None else " The list of agents has all names."
    raise UnknownAgent(f"no agent is called {name[:NAME_CHARACTERS_MAX]}.{meant}", close)


def _refusals(stats: RefusalStats, agent: str, at: float) -> Facts:
    """Refused messages of a day by code, the most frequent first, each with the fix of the last one."""
    own = [refusal for refusal in stats.within(at - DAY) if refusal.agent == agent and refusal.at <= at]
    by_code: defaultdict[str, list[tuple[Any, dict[str, str]]]] = defaultdict(list)
    for refusal in own:
        first = {finding["code"]: finding for finding in reversed(refusal.findings)}
        for code, finding in first.items():
            by_code[code].append((refusal, finding))
    codes = [
        {
            "code": code,
            "count": len(pairs),
            "last_at": pairs[-1][0].at,
            "last_fix": pairs[-1][1]["say"],
            "message": pairs[-1][0].seq,
        }
        for code, pairs in sorted(by_code.items(), key=lambda item: (-len(item[1]), item[0]))
    ]
    return {"since": at - DAY, "total": len(own), "codes": codes[:CODES_MAX], "codes_all": len(codes)}


def _askers(dialect: Dialect | None, type_: MessageType | None, roster: list[Presence]) -> list[str]:
    """Members who may send a request to shut down."""
    if dialect is None or type_ is None:
        return []
    here = [presence.member for presence in roster if presence.state not in GONE]
    return [member.name for member in here if type_.senders == ANY or member.role in type_.senders]


def _reasons(type_: MessageType | None) -> list[str]:
    if type_ is None:
        return []
    kind = type_.fields[type_.field_map["reason"]].kind
    return [*getattr(kind, "values", ())]


def _woken(
    wake: Wake, *, way: str | None = None, failures: list[str] | None = None, waits: str = "", has_session: bool = True
) -> Facts:
    return {
        "stage": wake.stage,
        "unread": wake.unread,
        "deliver_at": wake.deliver_at,
        "reason": waits or wake.reason,
        "way": way,
        "failures": failures or [],
        "has_session": has_session,
    }
