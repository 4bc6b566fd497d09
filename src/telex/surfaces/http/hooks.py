"""Route for hooks of coding tools on the hub's machine: `POST /hook/CLIENT/EVENT`, without a process for each event.

The payload and the answer are those of `telex hook`. A session is answered only if its folder uses the store of this
hub, and only on this machine: the payload names folders of the client's disk. The holder of an agent's token is
answered for sessions of that agent only.
"""

import asyncio
import logging
import os
import time

from starlette.requests import Request
from starlette.routing import BaseRoute

from telex.surfaces.clients.answers import BLOCKED, block
from telex.surfaces.clients.calls import read_call
from telex.surfaces.clients.hook import HookRun, find_store, is_guarded
from telex.surfaces.clients.hook_process import DEADLINE_SECONDS, PAYLOAD_BYTES_MAX, parse_payload
from telex.surfaces.clients.registration import Origin
from telex.surfaces.clients.sessions import AGENT as AGENT_VARIABLE
from telex.surfaces.clients.sessions import folder_of, load
from telex.surfaces.clients.table import BEFORE_TOOL, WAKE
from telex.surfaces.http import asgi
from telex.surfaces.http.asgi import HttpResponse
from telex.surfaces.http.auth import is_forwarded, is_loopback
from telex.surfaces.http.tokens import caller_of
from telex.validation.authorization import normalised

NOTHING = HttpResponse(200, b"{}")
ELSEWHERE = asgi.problem(404, "not-found", "Not found: hooks are answered on the machine of the hub only.")
LOG = logging.getLogger("telex.http")


def hook_routes(store: str) -> list[BaseRoute]:
    """The route of a hub with this store file."""

    async def answer(request: Request) -> HttpResponse:
        peer = request.scope.get("client")
        if not is_loopback(peer[0] if peer else None) or is_forwarded(request.scope["headers"]):
            return ELSEWHERE
        raw = await asgi.read_body(request.scope, request.receive, PAYLOAD_BYTES_MAX)
        if isinstance(raw, HttpResponse):
            return raw
        caller = caller_of(request.scope)
        wanted = caller.agent or request.query_params.get("as", "")
        client, event = request.path_params["client"], request.path_params["event"]
        origin = Origin(wanted=wanted, role=caller.role, is_named_by_token=caller.agent is not None)
        work = asyncio.to_thread(_answer, client, event, raw, store, origin)
        try:
            return await asyncio.wait_for(work, DEADLINE_SECONDS)
        except TimeoutError:
            return NOTHING
        except Exception:  # a failing hook must not stop a client
            LOG.exception("hook %.40r %.40r failed", client, event)
            return NOTHING

    return [asgi.route("/hook/{client}/{event}", answer, "POST")]


def _answer(client: str, event: str, raw: bytes, store: str, origin: Origin) -> HttpResponse:
    call = read_call(client, event, parse_payload(raw), {})
    if call is None or call.moment == WAKE or (call.moment == BEFORE_TOOL and not is_guarded(call)):
        return NOTHING
    found = find_store(call.cwd, {})
    if not call.session_id or found is None or not os.path.samefile(found, store):
        return NOTHING
    session = load(folder_of(found), call.client.name, call.session_id)
    if origin.is_named_by_token and session is not None and session.agent != normalised(origin.wanted):
        return NOTHING
    environ = {AGENT_VARIABLE: origin.wanted}
    answer = HookRun(call, environ, time.time(), origin=origin._replace(cwd=call.cwd)).answer()
    if answer.code == BLOCKED:
        answer = block(call, answer.err)
    return HttpResponse(200, answer.out.encode()) if answer.out else NOTHING
