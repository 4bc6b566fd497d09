"""Check of the Host and Origin headers against the names of the hub. Pure: headers in, refusal out.

A page of another site can make a browser on this machine send requests to 127.0.0.1, and by pointing its own name at
127.0.0.1 (DNS rebinding) even read the answers. The browser then says so in Host, Origin and Sec-Fetch-Site, which no
page can change; so the hub answers to its own names only, and to no page but its own.
"""

from collections.abc import Iterable
from ipaddress import ip_address
from typing import NamedTuple

from telex.surfaces.http.auth_errors import HOST_NOT_ALLOWED, ORIGIN_NOT_ALLOWED, Header
from telex.surfaces.http.problem import HttpResponse

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
