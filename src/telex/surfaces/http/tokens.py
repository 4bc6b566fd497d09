"""Who was given a token, and whose is the one that is shown?

A token is `telex_<id>_<secret>`. The id is no secret: lists and logs name it. The secret has 256 bits of chance, is
shown once and never stored; the file has its SHA-256. A slow hash would protect a secret that can be guessed, which
256 random bits cannot, and every request would pay for it. `token_file.py` reads and writes the file.
"""

import hashlib
import hmac
import re
import secrets
from typing import Any, NamedTuple

from telex.surfaces.http.caller import Caller

BEGINS = "telex_"
CHARACTERS_MAX = 200  # more is no token, and is not worth hashing
_ID_LETTERS, _ID_LENGTH = "abcdefghjkmnpqrstvwxyz23456789", 8  # read out over the telephone; and no underscore
_SECRET_BYTES = 32
_HASH = re.compile(r"[0-9a-f]{64}\Z")
_NOBODYS = hashlib.sha256(b"nobody's").hexdigest()  # compared with when the id is unknown, so that it takes as long
_LIKE_A_TOKEN = re.compile(rf"{BEGINS}[^\s_/?&]+_[^\s/?&]+")


class Token(NamedTuple):
    """What is known of a token. Its secret is not in here, and cannot be had from it."""

    id: str
    hash: str
    agent: str | None  # whoever shows it acts under this name; None: a person, under any
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
    """A token to keep, and its text to show once."""
    name = "".join(secrets.choice(_ID_LETTERS) for _ in range(_ID_LENGTH))
    secret = secrets.token_hex(_SECRET_BYTES)
    return Token(
        name, _hashed(secret), agent=agent, role=role, operator=operator, made_at=now, expires_at=expires_at
    ), f"{BEGINS}{name}_{secret}"


def matching(text: str, tokens: dict[str, Token], now: float) -> Token | None:
    """The token of which this is the text. None: unknown, revoked, wrong or over; which of them is not told."""
    if len(text) > CHARACTERS_MAX or not text.isascii() or not text.startswith(BEGINS):
        return None
    name, _, secret = text.removeprefix(BEGINS).partition("_")
    token = tokens.get(name)
    is_right = hmac.compare_digest(_hashed(secret), _NOBODYS if token is None else token.hash)
    return token if is_right and token is not None and not token.is_over(now) else None


def masked(text: str) -> str:
    """The text without what looks like a token, for logs: somebody may have put one where it does not belong."""
    return _LIKE_A_TOKEN.sub(f"{BEGINS}…", text) if BEGINS in text else text


def _hashed(secret: str) -> str:
    return hashlib.sha256(secret.encode()).hexdigest()


# --- as they are stored -----------------------------------------------------------------------------------------------


def written(token: Token) -> dict[str, Any]:
    return token._asdict()


def read(tree: Any) -> Token:
    """The token that was written so.

    Raises:
        ValueError: it was not. Half a token must let nobody in, and must not look like no token.
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
        token.operator or (token.agent is not None and token.role is not None),  # else it would be anybody's
    )
    if not all(fits):
        raise ValueError("an entry has a value that no token has")
    return token


def _is_text(value: object) -> bool:
    return isinstance(value, str) and value != ""


def _is_moment(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value < 1e12
