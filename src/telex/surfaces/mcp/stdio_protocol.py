"""Protocol of MCP on stdin and stdout, without I/O: parses a line into a response, a call or a cancellation.

Every version from 2024-11-05 to 2026-07-28. The older ones begin with the handshake `initialize`; since 2026-07-28 each
request names its version in `_meta`. A client may use both until its first tool call: one whose `server/discover` timed
out falls back to `initialize`.

The answers are those of the SDK, which serves the same tools over HTTP; a test compares both. Importing the SDK takes
longer than many clients wait for a server.
"""

from collections.abc import Callable
from typing import Any

from telex import __version__
from telex.model.named_tuple import NamedTuple
from telex.surfaces.clients.json_text import dump, parse
from telex.surfaces.mcp.tools import listed_resources, listed_tools

Tree = dict[str, Any]
HANDSHAKE_VERSIONS = ("2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25")
MODERN = "2026-07-28"
META = "io.modelcontextprotocol/"  # prefix of keys in `_meta`
VERSION, CAPABILITIES, CLIENT = f"{META}protocolVersion", f"{META}clientCapabilities", f"{META}clientInfo"
SERVER_INFO = {"name": "telex", "version": __version__}
SERVER_CAPABILITIES = {
    "resources": {"listChanged": False, "subscribe": False},
    "tools": {"listChanged": False},
}
INVALID_REQUEST, NOT_FOUND, INVALID_PARAMS, INTERNAL_ERROR, UNSUPPORTED = -32600, -32601, -32602, -32603, -32022
INVALID = "Invalid request parameters"
FRESH_MS = 3_600_000  # the listing changes with an upgrade of Telex only
CACHE = dict.fromkeys(("tools/list", "resources/list", "resources/templates/list"), (FRESH_MS, "public"))
CACHE |= {"server/discover": (0, "private"), "resources/read": (0, "private")}
CALLS = ("tools/call", "resources/read")
ROOTS_ID = "telex-roots"


class RequestError(Exception):
    """A request whose response is a JSON-RPC error."""

    def __init__(self, code: int, message: str, data: Any = None) -> None:
        super().__init__(message)
        self.code, self.message, self.data = code, message, data

    @property
    def tree(self) -> Tree:
        tree = {"code": self.code, "message": self.message}
        return tree if self.data is None else tree | {"data": self.data}


class Call(NamedTuple):
    """A request that needs the bus."""

    id: Any
    method: str
    params: Tree
    is_modern: bool

    def answer(self, result: Tree) -> str:
        return _line(self.id, result=_modern(self.method, result) if self.is_modern else result)

    def error(self, error: RequestError) -> str:
        return _line(self.id, error=error.tree)


class Cancellation(NamedTuple):
    id: str


class Roots(NamedTuple):
    """Answer of the client to our request for its folders."""

    uris: list[str]


class StdioProtocol:
    """State of one connection. `greet`: the instructions for a client of that name. `wants_roots`: the client is asked
    for the folders of the project."""

    def __init__(self, greet: Callable[[str], str], *, wants_roots: bool = False) -> None:
        self._greet, self._wants_roots = greet, wants_roots
        self._is_initialized = False
        self._is_modern: bool | None = None  # None: not decided
        self._has_roots = False  # the client answers roots/list
        self._client = ""  # its name

    def receive(self, line: bytes) -> str | Call | Cancellation | Roots | None:
        """Handle a line. A string is the response. A line that is no message of the protocol is ignored."""
        message = _parsed(line)
        if message is None:
            return None
        method, params = message.get("method"), message.get("params") or {}
        if method is None:
            return _roots(message)
        if "id" not in message:
            return self._notification(method, params)
        try:
            return self._request(message["id"], method, params)
        except RequestError as error:
            return _line(message["id"], error=error.tree)

    def _notification(self, method: str, params: Tree) -> str | Cancellation | None:
        if method == "notifications/initialized" and self._wants_roots and self._has_roots:
            return dump({"jsonrpc": "2.0", "id": ROOTS_ID, "method": "roots/list"}) + "\n"
        return _cancellation(params) if method == "notifications/cancelled" else None

    def _request(self, id_: Any, method: str, params: Tree) -> str | Call:
        meta = params.get("_meta")
        is_modern = method != "initialize" and isinstance(meta, dict) and VERSION in meta
        if self._is_modern is None:
            self._is_modern = is_modern if method == "tools/call" else None
        elif self._is_modern:
            self._check_no_handshake(method, params)
            is_modern = True
        elif is_modern:
            raise RequestError(INVALID_REQUEST, f"this connection began with a handshake: {MODERN} is not accepted")
        if is_modern:
            _check_envelope(meta)
            self._meet((meta or {}).get(CLIENT))
        elif not isinstance(meta, dict | None):
            raise RequestError(INVALID_PARAMS, INVALID, "")
        result = self._result(method, params, is_modern=is_modern)
        call = Call(id_, method, params, is_modern)
        return call if result is None else call.answer(result)

    @staticmethod
    def _check_no_handshake(method: str, params: Tree) -> None:
        if method == "initialize":
            say = f"connection is serving the {MODERN} protocol; the initialize handshake is not accepted"
            raise RequestError(UNSUPPORTED, say, {"supported": [MODERN], "requested": params.get("protocolVersion")})

    def _result(self, method: str, params: Tree, *, is_modern: bool) -> Tree | None:
        """The result of a request, or None: it needs the bus."""
        if method not in (_MODERN_METHODS if is_modern else _HANDSHAKE_METHODS):
            raise RequestError(NOT_FOUND, "Method not found", method)
        if method == "initialize":
            return self._initialize(params)
        if not is_modern and not self._is_initialized and method != "ping":
            raise RequestError(INVALID_PARAMS, INVALID, "")
        for name, kind in _METHODS[method].items():
            if not isinstance(params.get(name), kind):
                raise RequestError(INVALID_PARAMS, INVALID, "")
        if method in CALLS:
            return None
        if method == "ping":
            return {}
        if method == "server/discover":
            return {"supportedVersions": [MODERN], **self._about()}
        if method == "tools/list":
            return {"tools": listed_tools()}
        is_template = method == "resources/templates/list"
        return {"resourceTemplates" if is_template else "resources": listed_resources(templates=is_template)}

    def _initialize(self, params: Tree) -> Tree:
        version, client, capabilities = (params.get(name) for name in ("protocolVersion", "clientInfo", "capabilities"))
        if not isinstance(version, str) or not _is_client(client) or not isinstance(capabilities, dict):
            raise RequestError(INVALID_PARAMS, INVALID, "")
        self._meet(client)
        self._is_initialized, self._has_roots = True, "roots" in capabilities
        spoken = version if version in HANDSHAKE_VERSIONS else HANDSHAKE_VERSIONS[-1]
        return {"protocolVersion": spoken, "serverInfo": SERVER_INFO, **self._about()}

    def _meet(self, client: Any) -> None:
        self._client = self._client or str((client or {}).get("name") or "")

    def _about(self) -> Tree:
        return {"capabilities": SERVER_CAPABILITIES, "instructions": self._greet(self._client)}


_PAGE = {"cursor": str | None}
_METHODS: dict[str, dict[str, Any]] = {  # with the types of their parameters
    "initialize": {},
    "ping": {},
    "tools/list": _PAGE,
    "tools/call": {"name": str, "arguments": dict | None},
    "resources/list": _PAGE,
    "resources/templates/list": _PAGE,
    "resources/read": {"uri": str},
    "server/discover": {},
}
_HANDSHAKE_METHODS, _MODERN_METHODS = _METHODS.keys() - {"server/discover"}, _METHODS.keys() - {"initialize", "ping"}


def _parsed(line: bytes) -> Tree | None:
    """The JSON-RPC message in a line; None: there is none."""
    try:
        tree = parse(line.decode("utf-8", "replace"))
    except ValueError:
        return None
    if not isinstance(tree, dict) or tree.get("jsonrpc") != "2.0":
        return None
    is_identified = isinstance(tree.get("id", 0), str | int) and not isinstance(tree.get("id", 0), bool)
    is_shaped = isinstance(tree.get("method"), str | None) and isinstance(tree.get("params"), dict | None)
    return tree if is_identified and is_shaped else None


def _cancellation(params: Tree) -> Cancellation | None:
    id_ = params.get("requestId")
    return Cancellation(str(id_)) if isinstance(id_, str | int) else None


def _roots(message: Tree) -> Roots | None:
    result = message.get("result")
    roots = result.get("roots") if message.get("id") == ROOTS_ID and isinstance(result, dict) else None
    if not isinstance(roots, list):
        return None
    return Roots([root["uri"] for root in roots if isinstance(root, dict) and isinstance(root.get("uri"), str)])


def _check_envelope(meta: Any) -> None:
    """Raises:
    RequestError: `_meta` does not name a version that is spoken here.
    """
    if not isinstance(meta, dict):
        say = f"params._meta must be an object carrying the required {VERSION!r} and {CAPABILITIES!r} envelope keys"
        raise RequestError(INVALID_PARAMS, say)
    if missing := [key for key in (VERSION, CAPABILITIES) if key not in meta]:
        raise RequestError(
            INVALID_PARAMS, f"params._meta is missing the required envelope key(s): {', '.join(missing)}"
        )
    if not isinstance(meta[VERSION], str):
        raise RequestError(INVALID_PARAMS, "the protocol-version envelope value must be a string")
    if meta[VERSION] != MODERN:
        data = {"supported": [MODERN], "requested": meta[VERSION]}
        raise RequestError(UNSUPPORTED, "Unsupported protocol version", data)
    if not isinstance(meta[CAPABILITIES], dict) or not (meta.get(CLIENT) is None or _is_client(meta[CLIENT])):
        raise RequestError(INVALID_PARAMS, INVALID, "")


def _is_client(info: Any) -> bool:
    return isinstance(info, dict) and isinstance(info.get("name"), str) and isinstance(info.get("version"), str)


def _modern(method: str, result: Tree) -> Tree:
    """The result with what 2026-07-28 adds to each."""
    added: Tree = {"resultType": "complete", "_meta": {f"{META}serverInfo": SERVER_INFO}}
    if method in CACHE:
        added["ttlMs"], added["cacheScope"] = CACHE[method]
    return result | added


def _line(id_: Any, **outcome: Any) -> str:
    return dump({"jsonrpc": "2.0", "id": id_, **outcome}) + "\n"
