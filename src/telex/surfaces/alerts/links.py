"""Answer links: tokens that answer one request for approval at one revision, once, without another token.

The token is 256 random bits and only in the notification; the log has its SHA-256. A link is over when it expires, when
the request is answered, by whom ever, or when the request or its contract changes. Whether the request is still open is
decided in the transaction that stores the answer, so of two answers at once one is stored.
"""

import re
import secrets
from collections.abc import Iterable
from hashlib import sha256

from telex.model.named_tuple import NamedTuple
from telex.surfaces.alerts.notification import Item
from telex.surfaces.alerts.state import Link

PATH = "/answer/"
ACTIONS = ("approve", "reject")
TOKEN_BYTES = 32
LINKS_MAX = 20  # of one notification
SECONDS_MIN = 60.0  # a deadline that is nearer, or over, does not end a link
_TOKEN = re.compile(rf"[0-9a-f]{{{2 * TOKEN_BYTES}}}\Z")  # masked in the request log, as tokens are


class NewLinks(NamedTuple):
    links: dict[str, Link]  # by hash: for the log
    addresses: dict[str, str]  # by key of the item: for the notification


def new_links(items: Iterable[Item], hub: str, now: float, seconds_max: float) -> NewLinks:
    """A link for each request for approval."""
    made = NewLinks({}, {})
    for item in [item for item in items if item.kind == "approval"][:LINKS_MAX]:
        token = secrets.token_hex(TOKEN_BYTES)
        latest = now + seconds_max
        expires_at = item.due if item.due is not None and now + SECONDS_MIN <= item.due < latest else latest
        made.links[hash_of(token)] = Link(item.key, ACTIONS, expires_at, now)
        made.addresses[item.key] = f"{hub}{PATH}{token}"
    return made


def hash_of(token: str) -> str:
    return sha256(token.encode("ascii", "replace")).hexdigest()


def is_token(text: str) -> bool:
    return _TOKEN.match(text) is not None
