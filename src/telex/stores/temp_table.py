"""Where does something go that is too much for memory, and is wanted only until the end? Into a file without a name.

Whatever is put there is written behind all the rest, and knows where the one before it begins that fell into the same
of some thousand places. Memory holds where the last of each place begins and nothing of what is in the file, so that it
stays as it is however much that becomes; and a sieve besides, since most of what is asked for was never there.

Nobody else can open the file, and the system frees it with the process, however that ends.
"""

from array import array
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from struct import Struct
from typing import Protocol, Self

from telex.errors import StoreUnavailable

PLACES = 1 << 16
SIEVE_BITS = 1 << 21
READ_AT_ONCE, WRITTEN_AT_ONCE = 4_096, 65_536  # bytes; most things are shorter than the former
# Where the one before it in the same place begins (0: there is none), the hash of its name, and how many bytes its name
# and itself have.
_HEAD = Struct("<qqII")
_FIRST = 1  # where the first thing begins


class TableFile(Protocol):
    def seek(self, at: int, /) -> int: ...
    def read(self, limit: int, /) -> bytes | None: ...
    def write(self, data: memoryview, /) -> int | None: ...
    def truncate(self, size: int, /) -> int: ...
    def close(self) -> None: ...


def nameless() -> TableFile:
    """A file of ours alone, in the system's temporary folder."""
    from tempfile import TemporaryFile  # most never need one

    return TemporaryFile(buffering=0, prefix="telex-")


class TempTable:
    """Things by their names. One that is put there again takes the place of the one before."""

    def __init__(self, new_file: Callable[[], TableFile] | None = None) -> None:
        self._new_file = new_file or nameless
        self._file: TableFile | None = None  # there is none before it is needed
        self._end = _FIRST
        self._last = array("q")
        self._sieve = bytearray()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """All of it is gone then."""
        if self._file is not None:
            self._file.close()
            self._file = None
        self._sieve = bytearray()

    def put(self, things: Iterable[tuple[str, bytes]]) -> bool:
        """All of these, or none. False: there is no room for them."""
        try:
            if self._file is None:
                self._file, self._end = self._new_file(), _FIRST
                self._last, self._sieve = array("q", [0]) * PLACES, bytearray(SIEVE_BITS // 8)
        except OSError:
            return False
        news: dict[int, int] = {}
        try:
            self._end = self._written(self._file, things, news)
        except OSError:
            with suppress(OSError):
                self._file.truncate(self._end)  # a full disk may be in need of these bytes
            return False
        for place, begins in news.items():
            self._last[place] = begins
        return True

    def _written(self, file: TableFile, things: Iterable[tuple[str, bytes]], news: dict[int, int]) -> int:
        """Where the file ends with these. `news` is then what is the last in each place."""
        last, sieve, pack, at = self._last, self._sieve, _HEAD.pack, self._end
        left = bytearray()
        file.seek(at)
        for name, value in things:
            number, key = hash(name), name.encode("utf-8", "surrogatepass")
            place = number % PLACES
            sieve[number % SIEVE_BITS >> 3] |= 1 << (number & 7)
            thing = pack(news.get(place) or last[place], number, len(key), len(value)) + key + value
            left += thing
            news[place] = at
            at += len(thing)
            if len(left) >= WRITTEN_AT_ONCE:
                _write(file, left)
                left.clear()
        _write(file, left)
        return at

    def get(self, name: str) -> bytes | None:
        """What was last put there under this name."""
        sieve, number = self._sieve, hash(name)
        if not sieve or not sieve[number % SIEVE_BITS >> 3] & 1 << (number & 7):
            return None
        return next(self.each(name), None)

    def each(self, name: str) -> Iterator[bytes]:
        """Everything that was ever put there under this name, the last first."""
        number, key = hash(name), name.encode("utf-8", "surrogatepass")
        at = self._last[number % PLACES] if self._sieve else 0
        while at:
            data = self._read(at, READ_AT_ONCE)
            before, other, key_length, length = _HEAD.unpack_from(data)
            begins = _HEAD.size + key_length
            if other == number and data[_HEAD.size : begins] == key[: READ_AT_ONCE - _HEAD.size]:
                if len(data) < begins + length:
                    data = self._read(at, begins + length)
                if data[_HEAD.size : begins] == key:
                    yield data[begins : begins + length]
            at = before

    def items(self) -> Iterator[tuple[str, bytes]]:
        """All that is there, in the order in which it was put: of one name, the last holds."""
        at = _FIRST
        while at < self._end and self._file is not None:
            _, _, key_length, length = _HEAD.unpack(self._read(at, _HEAD.size))
            data = self._read(at + _HEAD.size, key_length + length)
            yield data[:key_length].decode("utf-8", "surrogatepass"), data[key_length:]
            at += _HEAD.size + key_length + length

    def _read(self, at: int, limit: int) -> bytes:
        """As many bytes from there, or all there are."""
        assert self._file is not None, "it has been closed"
        try:
            self._file.seek(at)
            data = self._file.read(limit) or b""
            while len(data) < limit and (more := self._file.read(limit - len(data))):
                data += more
        except OSError as error:
            raise StoreUnavailable(f"cannot read a temporary file of ours ({error.strerror}): try again.") from error
        return data


def _write(file: TableFile, data: bytearray) -> None:
    with memoryview(data) as left:
        done = 0
        while done < len(left):
            done += file.write(left[done:]) or 0
