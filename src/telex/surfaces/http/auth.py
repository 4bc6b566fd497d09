"""Authentication middleware: host names, origins, tokens, and the names in arguments.

A client on this machine without a token names itself, as on the command line; every other client needs a token. The
middleware runs before every request, so it does little.

A page of another site can make a browser on this machine send requests to 127.0.0.1, and by pointing its own name at
127.0.0.1 (DNS rebinding) even read the responses. The browser shows this in Host, Origin and Sec-Fetch-Site, which no
page can change. So the hub answers only to its own names, and only to its own page.
"""

import time
from collections.abc import Callable, Iterable
from ipaddress import ip_address
from typing import Any, Protocol

from telex.errors import TelexError
from telex.model.finding import Finding
from telex.model.named_tuple import NamedTuple
from telex.model.roster import HUMAN, LEADS
from telex.protocol.verbs import Verb, arguments
from telex.surfaces.alerts.links import PATH as ANSWERS
from telex.surfaces.http import asgi
from telex.surfaces.http.asgi import App, Header, HttpResponse, Receive, ResponseSender, Scope, Send, TaskWatch
from telex.surfaces.http.tokens import AT_HOME, Caller, Token
from telex.validation.authorization import normalised

DIFFERS = "identity-differs"
ANONYMOUS = Caller(None, None, False, None)
PUBLIC_PATHS = frozenset(("/", "/healthz", "/readyz"))
PUBLIC_FOLDERS = ("/static/", ANSWERS)  # an answer link is its own permission
REVALIDATION_SECONDS = 2.0  # of the tokens of open requests
_LOOPBACK_NAMES = ("localhost", "127.0.0.1", "[::1]")
_EVERY_ADDRESS = ("0.0.0.0", "::", "")
_FORWARDED = frozenset((b"forwarded", b"via", b"x-real-ip"))  # and every x-forwarded-…
OPERATOR_ONLY = Finding("operator-only", "$", "Ask a person: this needs an operator's token.")

AllowedHosts = dict[bytes, frozenset[bytes]]  # by value of Host: the origins of the hub's own pages


class TokenLookup(Protocol):
    def holder(self, text: str, now: float) -> Token | None: ...


class AuthMiddleware:
    def __init__(
        self,
        hosts: AllowedHosts,
        tokens: TokenLookup | None = None,
        *,
        tokens_only: bool = False,  # also for clients on this machine
        now: Callable[[], float] = time.time,
    ) -> None:
        self._hosts, self._tokens, self._tokens_only, self._now = hosts, tokens, tokens_only, now
        self.watch: TaskWatch[bytes] = TaskWatch(self._is_expired, REVALIDATION_SECONDS)

    def __call__(self, app: App) -> App:
        async def authenticate(scope: Scope, receive: Receive, send: Send) -> None:
            if scope["type"] == "lifespan":
                await app(scope, receive, send)
                return
            if scope["type"] != "http":
                await send({"type": "websocket.close", "code": 1008})
                return
            caller = self._identify(scope)
            if isinstance(caller, HttpResponse):
                await asgi.reply(send, caller)
                return
            scope.setdefault("state", {})["caller"] = caller
            if caller.token is None:
                await app(scope, receive, send)
                return
            sender = ResponseSender(send)  # a request ends when its token is revoked or expires
            expired = await self.watch.run(
                asgi.header(scope, b"authorization"), app(scope, receive, sender), if_expired=asgi.TOKEN_NOT_VALID
            )
            if expired is not None:
                await sender.finish(expired)

        return authenticate

    def _identify(self, scope: Scope) -> Caller | HttpResponse:
        headers, path = _read_headers(scope["headers"]), scope["path"]
        refusal = _check_origin(headers, scope, self._hosts)
        if refusal is not None:
            return refusal
        if headers.authorization:  # an invalid token is never treated as no token
            return self._token_caller(headers.authorization)
        peer = scope.get("client")
        if not self._tokens_only and not headers.is_forwarded and is_loopback(peer[0] if peer else None):
            return AT_HOME
        return ANONYMOUS if path in PUBLIC_PATHS or path.startswith(PUBLIC_FOLDERS) else asgi.TOKEN_NEEDED

    def _token_caller(self, values: list[bytes]) -> Caller | HttpResponse:
        scheme, _, text = values[0].decode("latin-1").strip().partition(" ")
        if len(values) != 1 or scheme.lower() != "bearer" or self._tokens is None:
            return asgi.TOKEN_NOT_VALID
        try:
            token = self._tokens.holder(text.strip(), self._now())
        except TelexError:
            return asgi.TOKENS_UNREADABLE  # without the path or the error, which are not for strangers
        return asgi.TOKEN_NOT_VALID if token is None else token.caller

    def _is_expired(self, authorization: bytes) -> bool:
        return isinstance(self._token_caller([authorization]), HttpResponse)


# --- Host and Origin --------------------------------------------------------------------------------------------------


def allowed_hosts(port: int, names: Iterable[str] = (), address: str | None = None) -> AllowedHosts:
    """Names of a hub on that port: on this machine, the address it listens on, and those that its operator gave it."""
    own = [*_LOOPBACK_NAMES, *([bracketed(address)] if address and address not in _EVERY_ADDRESS else ())]
    hosts: dict[str, tuple[str, ...]] = {
        host: (f"http://{host}",) for name in own for host in _with_port(name, port, or_without=port == 80)
    }
    for name in names:  # a proxy may serve it with TLS, and on another port
        for host in _with_port(name.lower(), port, or_without=True):
            hosts[host] = (f"http://{host}", f"https://{host}")
    return {host.encode(): frozenset(origin.encode() for origin in origins) for host, origins in hosts.items()}


def _with_port(name: str, port: int, *, or_without: bool) -> list[str]:
    has_port = name.rpartition(":")[2].isdecimal() and not name.endswith("]")
    return [name] if has_port else [*([name] if or_without else []), f"{name}:{port}"]


def bracketed(address: str) -> str:
    """An address as it is written in a URL."""
    return f"[{address}]" if ":" in address and not address.startswith("[") else address.lower()


class _RequestHeaders(NamedTuple):
    hosts: list[bytes]
    origins: list[bytes]
    authorization: list[bytes]
    fetch: dict[bytes, bytes]  # Sec-Fetch-…
    is_forwarded: bool


def _read_headers(headers: Iterable[Header]) -> _RequestHeaders:
    hosts: list[bytes] = []
    origins: list[bytes] = []
    authorization: list[bytes] = []
    fetch: dict[bytes, bytes] = {}
    is_forwarded = False
    for name, value in headers:
        if name == b"host":
            hosts.append(value.strip().lower())
        elif name == b"authorization":
            authorization.append(value)
        elif name == b"origin":
            origins.append(value.strip().lower())
        elif name.startswith(b"sec-fetch-"):
            fetch[name] = value.strip().lower()
        elif name in _FORWARDED or name.startswith(b"x-forwarded-"):
            is_forwarded = True
    return _RequestHeaders(hosts, origins, authorization, fetch, is_forwarded)


def _check_origin(headers: _RequestHeaders, scope: Scope, hosts: AllowedHosts) -> HttpResponse | None:
    own = _own_origins(headers.hosts[0], hosts, scope.get("server")) if len(headers.hosts) == 1 else None
    if own is None:
        return asgi.HOST_NOT_ALLOWED
    is_foreign = headers.fetch.get(b"sec-fetch-site") in (b"cross-site", b"same-site")
    if any(origin not in own for origin in headers.origins) or (is_foreign and not _follows_link(headers, scope)):
        return asgi.ORIGIN_NOT_ALLOWED
    return None


def _own_origins(host: bytes, hosts: AllowedHosts, server: tuple[str, int | None] | None) -> frozenset[bytes] | None:
    """Origins of the hub's own pages under this host name. None: it is not a name of the hub.

    The IP address that received the request counts as a name: DNS rebinding cannot forge it.
    """
    origins = hosts.get(host)
    if origins is None and server is not None and host == f"{bracketed(server[0])}:{server[1]}".encode():
        return frozenset((b"http://" + host,))
    return origins


def _follows_link(headers: _RequestHeaders, scope: Scope) -> bool:
    """A person follows a link to the page or to an answer page, which show nothing to the other site and change
    nothing. A frame would."""
    mode, destination = headers.fetch.get(b"sec-fetch-mode"), headers.fetch.get(b"sec-fetch-dest")
    is_page = scope["path"] == "/" or scope["path"].startswith(ANSWERS)
    return is_page and scope["method"] in ("GET", "HEAD") and mode == b"navigate" and destination == b"document"


def is_forwarded(headers: Iterable[Header]) -> bool:
    """Whether a proxy has passed the request on. Its peer address is that of the proxy."""
    return _read_headers(headers).is_forwarded


def is_loopback(peer: str | None) -> bool:
    """Whether the peer address, as the operating system reports it, is of this machine."""
    if peer is None or peer in ("127.0.0.1", "::1"):
        return peer is not None
    try:
        address = ip_address(peer.partition("%")[0])
    except ValueError:
        return False
    return (getattr(address, "ipv4_mapped", None) or address).is_loopback


# --- names in arguments -----------------------------------------------------------------------------------------------


def acting(caller: Caller, verb: Verb, given: dict[str, Any]) -> dict[str, Any] | Finding:
    """The arguments with the name and role of the token, or why they are refused."""
    if verb.may == "operator" and not caller.operator:
        return OPERATOR_ONLY
    if caller.token is None or verb.acts is None:
        return given
    if caller.operator:
        for name, value in ((verb.acts, caller.agent or HUMAN), (verb.by, HUMAN)):
            if name is not None and _claim(given, name) is None:
                given = given | _argument(verb, name, value)
        return given
    return _acting_agent(caller, caller.agent or "", verb, verb.acts, given)


def _acting_agent(caller: Caller, agent: str, verb: Verb, acts: str, given: dict[str, Any]) -> dict[str, Any] | Finding:
    if verb.by is not None:
        by = _claim(given, verb.by)
        if by is not None and normalised(by) != agent:
            return _differs(agent, verb.by, by)
        given = given | _argument(verb, verb.by, agent)
    claimed = _claim(given, acts)
    if claimed is not None and normalised(claimed) != agent:
        if verb.by is None or caller.role not in LEADS:
            return _differs(agent, acts, claimed)
        is_human = HUMAN in (normalised(claimed), normalised(_claim(given, "role") or ""))
        return OPERATOR_ONLY if is_human else given
    given = given | _argument(verb, acts, agent)
    if "role" not in arguments(verb.name) or caller.role is None:
        return given
    role = _claim(given, "role")
    if role is not None and normalised(role) != caller.role:
        say = f"Leave role out: the token is bound to the role {caller.role}."
        return Finding("role-claim-differs", "$.role", say, expected=caller.role, found=role[:60])
    return given | _argument(verb, "role", caller.role)


def _differs(agent: str, name: str, claimed: str) -> Finding:
    say = f"Act as {agent}, or give no name: the token is bound to that name."
    return Finding(DIFFERS, f"$.{name}", say, expected=agent, found=claimed[:60])


def _claim(given: dict[str, Any], name: str) -> str | None:
    """A claimed name, from a query (a tuple) or from JSON. A value of another type matches no name."""
    value = given.get(name)
    if isinstance(value, tuple):
        value = value[-1] if len(value) == 1 else "\0".join(value) or None
    return value if isinstance(value, str) else None if value is None else "\0"


def _argument(verb: Verb, name: str, value: str) -> dict[str, Any]:
    return {name: value if verb.body == "json" else (value,)}
