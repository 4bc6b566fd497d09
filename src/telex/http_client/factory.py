"""Construction of the client from an address and a token."""

from telex.errors import StoreUnavailable
from telex.http_client.bus import RemoteBus
from telex.http_client.transport import AsyncTransport, BlockingTransport, RetryTransport, Transport
from telex.ports.clock import Clock
from telex.validation.check import CheckPolicy


def open_remote(url: str, token: str | None, clock: Clock, desk: CheckPolicy, *, on_loop: bool) -> RemoteBus:
    """Nothing is asked yet: the first verb finds out whether anybody is there.

    Raises:
        StoreUnavailable: that is no address of a hub, or no token.
    """
    headers = {"accept": "application/json"}
    if token:
        if not (token.isascii() and token.isprintable() and " " not in token):
            raise StoreUnavailable("invalid token: it contains whitespace or non-ASCII characters; copy it again.")
        headers["authorization"] = f"Bearer {token}"
    kind, limits = AsyncTransport if on_loop else BlockingTransport, desk.limits
    wire: Transport = kind(url, headers, limits.hub_connect_seconds)
    return RemoteBus(RetryTransport(wire, clock, url, limits), clock, desk)
