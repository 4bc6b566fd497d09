"""Access tokens: creation and verification.

A token is `telex_<id>_<secret>`. The id is public: lists and logs contain it. The secret is 256 random bits, shown
once and never stored; the file has its SHA-256. A slow hash would protect a guessable secret, which this is not, and
would cost time on each request. `token_file.py` reads and writes the file.
"""

import hashlib
import hmac
import re
import secrets
from typing import Any, NamedTuple

from telex.surfaces.http.caller import Caller

BEGINS = "telex_"
CHARACTERS_MAX = 200  # longer input is rejected without hashing
_ID_LETTERS, _ID_LENGTH = "abcdefghjkmnpqrstvwxyz23456789", 8  # without letters that look alike, and without underscore
_SECRET_BYTES = 32
_HASH = re.compile(r"[0-9a-f]{64}\Z")
_NOBODYS = hashlib.sha256(b"nobody's").hexdigest()  # compared with if the id is unknown, so that timing does not differ
# In any case, since lower-casing restores it; and a bare secret, since its prefix may be escaped.
_LIKE_A_TOKEN = re.compile(rf"{BEGINS}[^\s_/?&]+_[^\s/?&]+|[0-9a-f]{{{2 * _SECRET_BYTES},}}", re.IGNORECASE)


class Token(NamedTuple):
    """A stored token, without its secret."""

    id: str
    hash: str
    agent: str | None  # name of the caller; None: a human, under any name
    role: str | None
    operator: bool
    made_at: float
    expires_at: float | None = None

    def is_over(self, now: float) -> bool:
        return self.expires_at is not None and now >= self.expires_at

    @property
    def caller(self) -> Caller:
        return Caller(self.agent, self.role, self.operator, self.id)


def new_token(
    *, agent: str | None, role: str | None, operator: bool, now: float, expires_at: float | None = None
) -> tuple[Token, str]:
    """A token to store, and its text to show once."""
    id_ = "".join(secrets.choice(_ID_LETTERS) for _ in range(_ID_LENGTH))
    secret = secrets.token_hex(_SECRET_BYTES)
    token = Token(id_, _hashed(secret), agent, role, operator, made_at=now, expires_at=expires_at)
    return token, f"{BEGINS}{id_}_{secret}"


def matching(text: str, tokens: dict[str, Token], now: float) -> Token | None:
    """The valid token with this text. None: unknown, revoked, wrong or expired; the caller does not learn which."""
    if len(text) > CHARACTERS_MAX or not text.isascii() or not text.startswith(BEGINS):
        return None
    name, _, secret = text.removeprefix(BEGINS).partition("_")
    token = tokens.get(name)
    is_right = hmac.compare_digest(_hashed(secret), _NOBODYS if token is None else token.hash)
    return token if is_right and token is not None and not token.is_over(now) else None


def masked(text: str) -> str:
    """The text with tokens masked, for logs."""
    return _LIKE_A_TOKEN.sub(f"{BEGINS}…", text)


def _hashed(secret: str) -> str:
    return hashlib.sha256(secret.encode()).hexdigest()


# --- serialisation ----------------------------------------------------------------------------------------------------


def written(token: Token) -> dict[str, Any]:
    return token._asdict()


def read(tree: Any) -> Token:
    """Inverse of `written`.

    Raises:
        ValueError: the entry is malformed. It must not be taken for a missing token.
    """
    if not isinstance(tree, dict) or set(tree) != set(Token._fields):
        raise ValueError("an entry has other fields than a token has")
    token = Token(**tree)
    fits = (
        _is_text(token.id) and _is_text(token.hash) and _HASH.match(token.hash),
        token.agent is None or _is_text(token.agent),
        token.role is None or _is_text(token.role),
        isinstance(token.operator, bool),
        _is_moment(token.made_at),
        token.expires_at is None or _is_moment(token.expires_at),
        token.operator
        or (token.agent is not None and token.role is not None),  # otherwise it would be valid for any agent
    )
    if not all(fits):
        raise ValueError("an entry has a value that no token has")
    return token


def _is_text(value: object) -> bool:
    return isinstance(value, str) and value != ""


def _is_moment(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value < 1e12
