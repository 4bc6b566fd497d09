"""Access tokens and the file that stores them.

A token is `telex_<id>_<secret>`. The id is public: lists and logs contain it. The secret is 256 random bits, shown
once; the file has its SHA-256. A slow hash protects guessable secrets; this one is random, and its hash is computed for
each request.
"""

import hashlib
import hmac
import os
import re
import secrets
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Annotated, Any

import msgspec

from telex.errors import StoreDamaged, StoreUnavailable
from telex.model.named_tuple import NamedTuple
from telex.stores.disk import make_folder, open_file, refuse_links

try:
    import fcntl
except ImportError:  # pragma: no cover - not a Unix: concurrent writers are not supported there
    fcntl = None  # type: ignore[assignment]

PREFIX = "telex_"
CHARACTERS_MAX = 200  # longer input is rejected without hashing
USUAL_STORE, USUAL_NAME = "telex.db", "tokens.json"
_ID_LETTERS, _ID_LENGTH = "abcdefghjkmnpqrstvwxyz23456789", 8  # without letters that look alike, and without underscore
_SECRET_BYTES = 32
_UNKNOWN_HASH = hashlib.sha256(b"unknown").hexdigest()  # compared if the id is unknown, so that the time is the same
# In any case, since lower-casing restores it; and a bare secret, since its prefix may be escaped.
_TOKEN_LIKE = re.compile(rf"{PREFIX}[^\s_/?&]+_[^\s/?&]+|[0-9a-f]{{{2 * _SECRET_BYTES},}}", re.IGNORECASE)
_BYTES_MAX = 16 * 1_048_576  # about a hundred thousand tokens

_Text = Annotated[str, msgspec.Meta(min_length=1)]
_Hash = Annotated[str, msgspec.Meta(pattern=r"^[0-9a-f]{64}\Z")]
_Time = Annotated[float, msgspec.Meta(ge=0, lt=1e12)]


class Caller(NamedTuple):
    """Identity of a request. Only the authentication middleware creates it."""

    agent: str | None  # bound to the token; None: the caller names itself, as on the command line
    role: str | None  # bound to the token
    operator: bool  # may do what only a person may do
    token: str | None  # public id of the token; None: there was none
    viewer: bool = False  # may read, and nothing else
    conversation: str | None = None  # the only one that a viewer may read; None: all


AT_HOME = Caller(None, None, True, None)  # on this machine, without a token: as trusted as the command line


def caller_of(scope: Any) -> Caller:
    caller = scope["state"]["caller"]
    assert isinstance(caller, Caller), "every route is behind the authentication middleware"
    return caller


class Token(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A stored token, without its secret."""

    id: _Text
    hash: _Hash
    agent: _Text | None  # None: a person, under any name
    role: _Text | None
    operator: bool
    made_at: _Time
    expires_at: _Time | None
    viewer: bool = False
    conversation: _Text | None = None

    def __post_init__(self) -> None:
        if self.viewer:
            if self.operator or self.agent is not None or self.role is not None:
                raise ValueError("the token of a viewer has no name, no role and no rights of an operator")
            return
        if self.conversation is not None:
            raise ValueError("only the token of a viewer is limited to a conversation")
        if not self.operator and (self.agent is None or self.role is None):
            raise ValueError("the token of an agent needs a name and a role")  # it would be valid for every agent

    def is_over(self, now: float) -> bool:
        return self.expires_at is not None and now >= self.expires_at

    @property
    def caller(self) -> Caller:
        return Caller(self.agent, self.role, self.operator, self.id, viewer=self.viewer, conversation=self.conversation)


class _Content(msgspec.Struct, forbid_unknown_fields=True):
    tokens: list[Token]


def new_token(
    *, agent: str | None, role: str | None, operator: bool, now: float, expires_at: float | None = None
) -> tuple[Token, str]:
    """A token to store, and its text to show once."""
    id_, secret = _new_id_and_secret()
    token = Token(id_, _hash(secret), agent, role, operator=operator, made_at=now, expires_at=expires_at)
    return token, f"{PREFIX}{id_}_{secret}"


def new_viewer_token(*, conversation: str | None, now: float, expires_at: float) -> tuple[Token, str]:
    """A token that may read everything, or one conversation."""
    id_, secret = _new_id_and_secret()
    about: dict[str, Any] = {"made_at": now, "expires_at": expires_at, "viewer": True, "conversation": conversation}
    token = Token(id_, _hash(secret), None, None, operator=False, **about)
    return token, f"{PREFIX}{id_}_{secret}"


def _new_id_and_secret() -> tuple[str, str]:
    return "".join(secrets.choice(_ID_LETTERS) for _ in range(_ID_LENGTH)), secrets.token_hex(_SECRET_BYTES)


def matching(text: str, tokens: dict[str, Token], now: float) -> Token | None:
    """The valid token with this text. None: unknown, revoked, wrong or expired; the caller does not learn which."""
    if len(text) > CHARACTERS_MAX or not text.isascii() or not text.startswith(PREFIX):
        return None
    id_, _, secret = text.removeprefix(PREFIX).partition("_")
    token = tokens.get(id_)
    is_right = hmac.compare_digest(_hash(secret), _UNKNOWN_HASH if token is None else token.hash)
    return token if is_right and token is not None and not token.is_over(now) else None


def masked(text: str) -> str:
    """The text with tokens masked, for logs."""
    return _TOKEN_LIKE.sub(f"{PREFIX}…", text)


def _hash(secret: str) -> str:
    return hashlib.sha256(secret.encode()).hexdigest()


# --- file -------------------------------------------------------------------------------------------------------------


def tokens_path(store: str) -> str:
    """Token file of a store. Two stores in one folder do not share tokens."""
    folder, name = os.path.split(store)
    return os.path.join(folder, USUAL_NAME if name == USUAL_STORE else f"{name}-{USUAL_NAME}")


class TokenFile:
    """Token file beside the store, readable by its owner only, replaced atomically.

    A reader checks the file's stamp first, which takes two microseconds, so a revocation takes effect with the next
    request. A file that cannot be parsed is an error for every request, never "no tokens".
    """

    def __init__(self, path: str) -> None:
        self.path = path
        self._stamp: tuple[int, ...] | None = None
        self._tokens: dict[str, Token] = {}

    def tokens(self) -> dict[str, Token]:
        """All tokens by id, also expired ones; none if there is no file.

        Raises:
            StoreUnavailable: the file cannot be read.
            StoreDamaged: it cannot be parsed.
        """
        stamp = self._read_stamp()
        if stamp is None:
            self._stamp, self._tokens = None, {}
        elif stamp != self._stamp:
            self._stamp = None  # in case that reading fails
            self._tokens = self._read()
            self._stamp = stamp  # taken before reading: a write in between has another stamp and is read next time
        return self._tokens

    def holder(self, text: str, now: float) -> Token | None:
        return matching(text, self.tokens(), now)

    def _read_stamp(self) -> tuple[int, ...] | None:
        try:
            status = os.lstat(self.path)
        except FileNotFoundError:
            return None
        except OSError as error:
            raise self._unavailable(error) from error
        return status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns

    def _read(self) -> dict[str, Token]:
        try:
            with open(open_file(self.path, os.O_RDONLY), "rb") as file:
                raw = file.read(_BYTES_MAX + 1)
        except FileNotFoundError:
            return {}
        except OSError as error:
            raise self._unavailable(error) from error
        try:
            if len(raw) > _BYTES_MAX:
                raise ValueError("it is too large")
            tokens = msgspec.json.decode(raw, type=_Content).tokens
            by_id = {token.id: token for token in tokens}
            if len(by_id) != len(tokens):
                raise ValueError("two tokens have one id")
        except (msgspec.DecodeError, ValueError, RecursionError) as error:
            say = (
                f"{self.path} is not a token file ({error}): no token is accepted until it is fixed."
                " Restore a copy of it, or move it away and create new tokens."
            )
            raise StoreDamaged(say) from error
        return by_id

    def add(self, token: Token) -> None:
        with self._change() as tokens:
            assert token.id not in tokens, "ids are random"
            tokens[token.id] = token

    def revoke(self, id: str) -> Token | None:
        """Remove a token; None if there is none with that id."""
        with self._change() as tokens:
            return tokens.pop(id, None)

    @contextmanager
    def _change(self) -> Iterator[dict[str, Token]]:
        """The tokens to change, under a file lock: concurrent changes are not lost."""
        try:
            make_folder(os.path.dirname(self.path))
            refuse_links([self.path, f"{self.path}-lock"])
            lock = open_file(f"{self.path}-lock", os.O_RDWR | os.O_CREAT)
            try:
                if fcntl is not None:
                    fcntl.flock(lock, fcntl.LOCK_EX)
                before = self._read()
                after = dict(before)
                yield after
                if after != before:
                    self._write(after)
            finally:
                os.close(lock)
        except OSError as error:
            raise self._unavailable(error) from error

    def _write(self, tokens: dict[str, Token]) -> None:
        raw = msgspec.json.format(msgspec.json.encode(_Content([*tokens.values()])), indent=1) + b"\n"
        new = f"{self.path}-new"
        with suppress(FileNotFoundError):
            os.unlink(new)  # of a killed process, with unknown permissions
        descriptor = open_file(new, os.O_WRONLY | os.O_CREAT | os.O_EXCL)
        try:
            with open(descriptor, "wb") as file:
                file.write(raw)
                file.flush()
                os.fsync(file.fileno())
            os.replace(new, self.path)
        except OSError:
            os.unlink(new)
            raise

    def _unavailable(self, error: OSError) -> StoreUnavailable:
        return StoreUnavailable(f"{self.path} cannot be used: {error.strerror}. Fix its permissions or its disk.")
