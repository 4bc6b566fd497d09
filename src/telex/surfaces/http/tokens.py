"""Caller of a request, as the authentication middleware has identified it."""

import hashlib
import hmac
import json
import os
import re
import secrets
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any, NamedTuple

from telex.errors import StoreDamaged, StoreUnavailable
from telex.stores.disk import make_folder, open_file, refuse_links


class Caller(NamedTuple):
    """Somebody at the door. Nobody else makes one of these than the doorkeeper, and it believes no claim."""

    agent: str | None  # the name that the token is bound to; None: names itself, as on the command line
    role: str | None  # the role that the token is bound to
    operator: bool  # may do what is a person's to do
    token: str | None  # the id of the token, which is no secret; None: came without one


AT_HOME = Caller(None, None, True, None)  # on this very machine and without a token: trusted as the command line is


def caller_of(scope: Any) -> Caller:
    """Who the doorkeeper let in with this request. A route that it does not guard is our own mistake."""
    caller = scope["state"]["caller"]
    assert isinstance(caller, Caller)
    return caller


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


try:
    import fcntl
except ImportError:  # pragma: no cover - not a Unix; whoever makes tokens does it one at a time there
    fcntl = None  # type: ignore[assignment]

USUAL_STORE, USUAL_NAME = "telex.db", "tokens.json"
_BYTES_MAX = 16 * 1_048_576  # a hundred thousand tokens; a larger file is something else


def tokens_path(store: str) -> str:
    """Of the store at that path. Two stores in one folder share no tokens."""
    folder, name = os.path.split(store)
    return os.path.join(folder, USUAL_NAME if name == USUAL_STORE else f"{name}-{USUAL_NAME}")


class _Stamp(NamedTuple):
    """Two files with the same stamp are the same file, unchanged: each is written anew, under a number of its own."""

    device: int
    number: int
    size: int
    changed: int


class TokenFile:
    def __init__(self, path: str) -> None:
        self.path = path
        self._stamp: _Stamp | None = None
        self._tokens: dict[str, Token] = {}

    # --- reading -----------------------------------------------------------------------------------------------------

    def tokens(self) -> dict[str, Token]:
        """Every token there is now, by id; those that are over too. No file: none.

        Raises:
            StoreUnavailable: the file may not be read.
            StoreDamaged: it cannot be understood.
        """
        stamp = self._look()
        if stamp is None:
            self._stamp, self._tokens = None, {}
        elif stamp != self._stamp:
            # Read after the stamp was taken: what is written in between has another, and is read the next time.
            self._stamp, self._tokens = None, self._read()
            self._stamp = stamp
        return self._tokens

    def holder(self, text: str, now: float) -> Token | None:
        """Whose token this is, if it is anybody's."""
        return matching(text, self.tokens(), now)

    def _look(self) -> _Stamp | None:
        try:
            found = os.lstat(self.path)
        except FileNotFoundError:
            return None
        except OSError as error:
            raise self._unavailable(error) from error
        return _Stamp(found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns)

    def _read(self) -> dict[str, Token]:
        try:
            with open(open_file(self.path, os.O_RDONLY), "rb") as file:
                raw = file.read(_BYTES_MAX + 1)
        except FileNotFoundError:
            return {}
        except OSError as error:
            raise self._unavailable(error) from error
        try:
            return _understood(raw)
        except (ValueError, RecursionError) as error:
            say = (
                f"{self.path} is no token file ({_why(error)}): no token is accepted until it is fixed."
                " Put back a copy of it, or move it away and make new tokens."
            )
            raise StoreDamaged(say) from error

    # --- changing ----------------------------------------------------------------------------------------------------

    def add(self, token: Token) -> None:
        """Keep one more. The two errors are those of `tokens`."""
        with self._changing() as tokens:
            assert token.id not in tokens, "eight letters of chance came twice"
            tokens[token.id] = token

    def revoke(self, id: str) -> Token | None:
        """Forget one; whoever shows it is turned away from now on. None: there was none of that id."""
        with self._changing() as tokens:
            return tokens.pop(id, None)

    @contextmanager
    def _changing(self) -> Iterator[dict[str, Token]]:
        try:
            make_folder(os.path.dirname(self.path))
            refuse_links([self.path, f"{self.path}-lock"])
            lock = open_file(f"{self.path}-lock", os.O_RDWR | os.O_CREAT)
            try:
                if fcntl is not None:
                    fcntl.flock(lock, fcntl.LOCK_EX)  # let go when it is closed, or we are killed
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
        """Beside it first and then in its place, so that a reader sees the one or the other and never half of one."""
        text = json.dumps({"tokens": [written(token) for token in tokens.values()]}, indent=1) + "\n"
        beside = f"{self.path}-new"
        _remove(beside)  # left by one who was killed; whose permissions it has nobody knows
        descriptor = open_file(beside, os.O_WRONLY | os.O_CREAT | os.O_EXCL)
        try:
            with open(descriptor, "w", encoding="utf-8") as file:
                file.write(text)
                file.flush()
                os.fsync(file.fileno())
            os.replace(beside, self.path)
        except OSError:
            _remove(beside)
            raise

    def _unavailable(self, error: OSError) -> StoreUnavailable:
        return StoreUnavailable(f"{self.path} cannot be used: {error.strerror}. Fix its permissions or its disk.")


def _understood(raw: bytes) -> dict[str, Token]:
    if len(raw) > _BYTES_MAX:
        raise ValueError("it is too large")
    tree: Any = json.loads(raw)
    if not isinstance(tree, dict) or list(tree) != ["tokens"] or not isinstance(tree["tokens"], list):
        raise ValueError("it has another format")
    tokens = [read(entry) for entry in tree["tokens"]]
    by_id = {token.id: token for token in tokens}
    if len(by_id) != len(tokens):
        raise ValueError("two tokens have one id")
    return by_id


def _why(error: Exception) -> str:
    """The reason in a few words, without a word of what stands in the file."""
    if isinstance(error, json.JSONDecodeError):
        return f"invalid JSON at line {error.lineno}"
    return "it is not UTF-8" if isinstance(error, UnicodeDecodeError) else str(error)


def _remove(path: str) -> None:
    with suppress(FileNotFoundError):
        os.unlink(path)
