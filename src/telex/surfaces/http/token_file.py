"""Token file: beside the store, readable by its owner only, replaced atomically.

A writer holds a lock, so that concurrent changes are not lost. A reader checks the file's stamp first, which costs two
microseconds, so that a revocation takes effect with the next request. A file that cannot be parsed is an error for
every request, never "no tokens".
"""

import json
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any, NamedTuple

from telex.errors import StoreDamaged, StoreUnavailable
from telex.stores.disk import make_folder, open_file, refuse_links
from telex.surfaces.http.tokens import Token, matching, read, written

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
