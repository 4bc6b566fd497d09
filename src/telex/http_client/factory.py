"""Construction of the client from an address and a token.

A token goes only to a hub that the user has named. A cloned project has a telex.toml too, and its address must not get
the token of another hub.
"""

import os
from urllib.parse import urlsplit

from telex.errors import StoreUnavailable
from telex.http_client.bus import RemoteBus
from telex.http_client.transport import AsyncTransport, BlockingTransport, RetryTransport, Transport, is_loopback
from telex.ports.environment import Clock
from telex.validation.check import CheckPolicy


def token_for(url: str, token: str | None, *, is_named: bool) -> str | None:
    """The token to send to this hub. `is_named`: by an option, an argument or the environment, not only by telex.toml.

    Raises:
        StoreUnavailable: the token, or a message, would go to a hub that the user has not named, or in plain text.
    """
    token = (token or "").strip()  # a token read from a file ends in a line break
    parts = urlsplit(url)
    is_local = is_loopback(parts.hostname or "")
    if not is_named and (token or not is_local) and url.rstrip("/") not in _remembered_hubs():
        raise StoreUnavailable(
            f"telex.toml names the hub {url}, and nothing is sent to a hub that only telex.toml names:"
            f" set TELEX_STORE={url}, or add the address as a line to {_hubs_file()}."
        )
    if token and parts.scheme.lower() == "http" and parts.hostname and not is_local:
        raise StoreUnavailable(
            f"no token is sent over plain http to {parts.hostname}: use https://, or a tunnel to 127.0.0.1."
        )
    return token or None


def _hubs_file() -> str:
    config = os.environ.get("XDG_CONFIG_HOME") or os.path.join(os.path.expanduser("~"), ".config")
    return os.path.join(config, "telex", "hubs")


def _remembered_hubs() -> set[str]:
    """Addresses that the user trusts in every project, one on a line."""
    try:
        with open(_hubs_file(), encoding="utf-8", errors="replace") as file:
            return {line.strip().rstrip("/") for line in file}
    except OSError:
        return set()


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
