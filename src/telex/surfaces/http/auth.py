"""Check of the Host and Origin headers against the names of the hub. Pure: headers in, refusal out.

A page of another site can make a browser on this machine send requests to 127.0.0.1, and by pointing its own name at
127.0.0.1 (DNS rebinding) even read the answers. The browser then says so in Host, Origin and Sec-Fetch-Site, which no
page can change; so the hub answers to its own names only, and to no page but its own.
"""

import asyncio
import time
from collections.abc import Callable, Iterable
from ipaddress import ip_address
from typing import Any, NamedTuple, Protocol

from telex.errors import TelexError
from telex.model.finding import Finding
from telex.model.roster import HUMAN, LEADS
from telex.protocol.verbs import Verb, arguments
from telex.surfaces.http.asgi import (
    HOST_NOT_ALLOWED,
    ORIGIN_NOT_ALLOWED,
    TOKEN_NEEDED,
    TOKEN_NOT_VALID,
    TOKENS_UNREADABLE,
    App,
    Header,
    HttpResponse,
    Receive,
    ResponseSender,
    Scope,
    Send,
    reply,
)
from telex.surfaces.http.tokens import AT_HOME, Caller, Token
from telex.validation.authorization import normalised

LOOPBACK_NAMES = ("localhost", "127.0.0.1", "[::1]")
FORWARDED = frozenset((b"forwarded", b"via", b"x-real-ip"))  # and every x-forwarded-…
_FROM_ELSEWHERE = frozenset((b"cross-site", b"same-site"))
_READS = frozenset(("GET", "HEAD"))


Server = tuple[str, int | None] | None


class AllowedHosts(NamedTuple):
    """The names under which the hub may be asked for, as they stand in Host and in Origin."""

    origins: dict[bytes, frozenset[bytes]]  # by host: which origins are then the hub itself


def places(port: int, names: Iterable[str] = (), address: str | None = None) -> AllowedHosts:
    """Of a hub on that port: on this machine, by the address it listens on, and by names that its operator gave it."""
    at_home = [*LOOPBACK_NAMES, *([bracketed(address)] if address and not _is_every(address) else ())]
    hosts: dict[str, tuple[str, ...]] = {
        host: (f"http://{host}",) for name in at_home for host in _with_port(name, port)
    }
    for name in names:  # a proxy may speak TLS for it, and on another port
        for host in _with_port(name.lower(), port, as_well_without=True):
            hosts[host] = (f"http://{host}", f"https://{host}")
    return AllowedHosts({host.encode(): frozenset(one.encode() for one in own) for host, own in hosts.items()})


def _with_port(name: str, port: int, *, as_well_without: bool = False) -> list[str]:
    bare = [name] if as_well_without or port == 80 else []
    has_port = name.rpartition(":")[2].isdecimal() and not name.endswith("]")
    return [name] if has_port else [*bare, f"{name}:{port}"]


def bracketed(address: str) -> str:
    """An address as it stands in a URL."""
    return f"[{address}]" if ":" in address and not address.startswith("[") else address.lower()


def _is_every(address: str) -> bool:
    return address in ("0.0.0.0", "::", "")


class RequestHeaders(NamedTuple):
    """What the headers say that the doorkeeper goes by. None: the header is missing."""

    hosts: list[bytes]
    origins: list[bytes]
    site: bytes | None
    mode: bytes | None
    destination: bytes | None
    shown: list[bytes]  # every Authorization
    forwarded: bool


def asked(headers: Iterable[Header]) -> RequestHeaders:
    hosts: list[bytes] = []
    origins: list[bytes] = []
    shown: list[bytes] = []
    fetch: dict[bytes, bytes] = {}
    forwarded = False
    for name, value in headers:
        if name == b"host":
            hosts.append(value.strip().lower())
        elif name == b"authorization":
            shown.append(value)
        elif name == b"origin":
            origins.append(value.strip().lower())
        elif name.startswith(b"sec-fetch-"):
            fetch[name] = value.strip().lower()
        elif name in FORWARDED or name.startswith(b"x-forwarded-"):
            forwarded = True
    return RequestHeaders(
        hosts,
        origins,
        site=fetch.get(b"sec-fetch-site"),
        mode=fetch.get(b"sec-fetch-mode"),
        destination=fetch.get(b"sec-fetch-dest"),
        shown=shown,
        forwarded=forwarded,
    )


def misplaced(
    request: RequestHeaders, method: str, path: str, allowed_hosts: AllowedHosts, server: Server = None
) -> HttpResponse | None:
    """Refusal of a request with a foreign Host or Origin. `server` is the address that received it."""
    own = _own_origins(request.hosts[0], allowed_hosts, server) if len(request.hosts) == 1 else None
    if own is None:
        return HOST_NOT_ALLOWED
    if any(origin not in own for origin in request.origins):
        return ORIGIN_NOT_ALLOWED
    if request.site in _FROM_ELSEWHERE and not _is_a_link_to_the_page(request, method, path):
        return ORIGIN_NOT_ALLOWED
    return None


def _own_origins(host: bytes, allowed_hosts: AllowedHosts, server: Server) -> frozenset[bytes] | None:
    """Origins of the hub's own pages under this host name. None: it is not a name of the hub.

    The IP address that received the request counts as a name: DNS rebinding cannot forge it.
    """
    found = allowed_hosts.origins.get(host)
    if found is None and server is not None and host == f"{bracketed(server[0])}:{server[1]}".encode():
        return frozenset((b"http://" + host,))
    return found


def _is_a_link_to_the_page(request: RequestHeaders, method: str, path: str) -> bool:
    """Somebody follows a link to the page: that shows nothing to the site it stands on. A frame would."""
    return path == "/" and method in _READS and request.mode == b"navigate" and request.destination == b"document"


def is_loopback(peer: str | None) -> bool:
    """Is it this very machine? By what the operating system says of the connection, never by what a header says."""
    if peer is None:
        return False
    if peer == "127.0.0.1" or peer == "::1":
        return True
    try:
        address = ip_address(peer.partition("%")[0])
    except ValueError:
        return False
    inner = getattr(address, "ipv4_mapped", None)
    return (inner or address).is_loopback


DIFFERS = "identity-differs"
_OPERATOR_ONLY = Finding("operator-only", "$", "Ask a person: this needs an operator's token.")


def acting(caller: Caller, verb: Verb, given: dict[str, Any]) -> dict[str, Any] | Finding:
    """The arguments with the name and role that the door vouches for, or why they may not stand.

    Whoever came without a token names itself; one with a token need not say who it is.
    """
    if verb.may == "operator" and not caller.operator:
        return _OPERATOR_ONLY
    if caller.token is None or verb.acts is None:
        return given
    claimed = _word(given.get(verb.acts))
    if caller.operator:
        for name, value in ((verb.acts, caller.agent or HUMAN), (verb.by, HUMAN)):
            if name is not None and _word(given.get(name)) is None:
                given = given | _written(verb, name, value)
        return given
    assert caller.agent is not None, "a token that is no operator's is bound to an agent"
    if verb.by is not None:
        by = _word(given.get(verb.by))
        if by is not None and normalised(by) != caller.agent:
            return _differs(caller, verb.by, by)
        given = given | _written(verb, verb.by, caller.agent)
    if claimed is not None and normalised(claimed) != caller.agent:
        if verb.by is None or caller.role not in LEADS:
            return _differs(caller, verb.acts, claimed)
        return _OPERATOR_ONLY if HUMAN in (normalised(claimed), normalised(_word(given.get("role")) or "")) else given
    given = given | _written(verb, verb.acts, caller.agent)
    if "role" not in arguments(verb.name) or caller.role is None:
        return given
    role = _word(given.get("role"))
    if role is not None and normalised(role) != caller.role:
        say = f"Leave role out: the token is bound to the role {caller.role}."
        return Finding("role-claim-differs", "$.role", say, expected=caller.role, found=role[:60])
    return given | _written(verb, "role", caller.role)


def _differs(caller: Caller, name: str, claimed: str | None) -> Finding:
    say = f"Act as {caller.agent}, or leave {name} out: the token is bound to that name."
    return Finding(DIFFERS, f"$.{name}", say, expected=caller.agent, found=(claimed or "")[:60])


def _word(value: Any) -> str | None:
    """What was claimed, whether it stood in a query or in a JSON object. What is no word is told to be wrong later."""
    if isinstance(value, tuple):
        value = value[-1] if len(value) == 1 else "\0".join(value) or None
    return value if isinstance(value, str) else None if value is None else "\0"


def _written(verb: Verb, name: str, value: str) -> dict[str, Any]:
    return {name: value if verb.body == "json" else (value,)}


LOOK_SECONDS = 2.0  # between two looks, while anybody with a token is inside
_Task = asyncio.Task[None]


class TokenValidity:
    def __init__(self, is_valid: Callable[[str], bool], seconds: float = LOOK_SECONDS) -> None:
        self._is_valid, self._seconds = is_valid, seconds
        self._inside: dict[_Task, str] = {}  # who shows which token
        self._over: set[_Task] = set()
        self._timer: asyncio.TimerHandle | None = None

    def begin(self, task: _Task, token: str) -> None:
        self._inside[task] = token
        if self._timer is None:
            loop = task.get_loop()
            self._timer = loop.call_later(self._seconds, self._look_again, loop)

    def end(self, task: _Task) -> None:
        self._inside.pop(task, None)
        self._over.discard(task)

    def is_over(self, task: _Task) -> bool:
        return task in self._over

    def look(self) -> None:
        """End every request whose token is not valid any more."""
        valid = {token: self._is_valid(token) for token in set(self._inside.values())}
        for task, token in self._inside.items():
            if not valid[token] and task not in self._over:
                self._over.add(task)
                task.cancel()

    def _look_again(self, loop: asyncio.AbstractEventLoop) -> None:
        self.look()
        self._timer = loop.call_later(self._seconds, self._look_again, loop) if self._inside else None


NOBODY = Caller(None, None, False, None)  # has shown nothing, and sees what everybody may
OPEN_TO_ALL = frozenset(("/", "/healthz", "/readyz"))
_STATIC = "/static/"
_BEARER = "bearer"


class TokenLookup(Protocol):
    def holder(self, text: str, now: float) -> Token | None: ...


class AuthMiddleware:
    """`doorkeeper(app)` is the app behind its door."""

    def __init__(
        self,
        allowed_hosts: AllowedHosts,
        tokens: TokenLookup | None = None,
        *,
        tokens_only: bool = False,  # also for whoever comes from this machine
        now: Callable[[], float] = time.time,
    ) -> None:
        self._known, self._tokens, self._tokens_only, self._now = allowed_hosts, tokens, tokens_only, now
        self.standing = TokenValidity(self._is_valid)

    def __call__(self, app: App) -> App:
        async def door(scope: Scope, receive: Receive, send: Send) -> None:
            if scope["type"] == "lifespan":
                await app(scope, receive, send)
            elif scope["type"] != "http":
                await send({"type": "websocket.close", "code": 1008})  # nothing here speaks it
            else:
                caller = self.caller(scope)
                if isinstance(caller, HttpResponse):
                    await reply(send, caller)
                else:
                    scope.setdefault("state", {})["caller"] = caller
                    await (app if caller.token is None else self._watched(app))(scope, receive, send)

        return door

    def _watched(self, app: App) -> App:
        """For as long as the token is valid. What is open under one that is revoked, or runs out, is ended."""

        async def watched(scope: Scope, receive: Receive, send: Send) -> None:
            task = asyncio.current_task()
            assert task is not None, "a server runs every request as a task"
            answering = ResponseSender(send)
            self.standing.begin(task, _shown(asked(scope["headers"])))
            try:
                await app(scope, receive, answering)
            except asyncio.CancelledError:
                if not self.standing.is_over(task):
                    raise
                task.uncancel()
                await answering.finish(TOKEN_NOT_VALID)
            finally:
                self.standing.end(task)

        return watched

    def caller(self, scope: Scope) -> Caller | HttpResponse:
        """Who this request is from, or why it goes no further."""
        request, path = asked(scope["headers"]), scope["path"]
        refused = misplaced(request, scope["method"], path, self._known, scope.get("server"))
        if refused is not None:
            return refused
        if request.shown:
            return self._holder(request)
        peer = scope.get("client")
        if not self._tokens_only and not request.forwarded and is_loopback(peer[0] if peer else None):
            return AT_HOME
        return NOBODY if path in OPEN_TO_ALL or path.startswith(_STATIC) else TOKEN_NEEDED

    def _holder(self, request: RequestHeaders) -> Caller | HttpResponse:
        """A token that is shown is looked at: one that is wrong never counts as none."""
        scheme = request.shown[0].decode("latin-1").strip().partition(" ")[0]
        if len(request.shown) != 1 or scheme.lower() != _BEARER or self._tokens is None:
            return TOKEN_NOT_VALID
        try:
            token = self._tokens.holder(_shown(request), self._now())
        except TelexError:
            return TOKENS_UNREADABLE  # a stranger is not told the path, nor what is wrong with the file
        return TOKEN_NOT_VALID if token is None else token.caller

    def _is_valid(self, text: str) -> bool:
        """Still? Of a list that cannot be read for a moment nobody knows: whoever asks anew is told."""
        assert self._tokens is not None, "nobody has come in with a token where there are none"
        try:
            return self._tokens.holder(text, self._now()) is not None
        except TelexError:
            return False


def _shown(request: RequestHeaders) -> str:
    """The text of the token."""
    return request.shown[0].decode("latin-1").strip().partition(" ")[2].strip()
