"""What did a program do to its files, and what did it promise, in which order?

The program runs once under strace, with all the processes it starts. What they did to the files of one folder becomes
`Act`s, and every line they wrote to their standard output a `Promise` among them. What the acts leave on a disk is
`disk.py`'s question. A call that would change a file in a way not known here is an error: a simulation that overlooks a
write proves nothing.

Calls of several processes overlap, and then the worst is assumed: a promise is heard and a write may reach the disk
when the call begins; a sync is done when it returns, and covers what had returned when it began.
"""

import os
import re
import shutil
import subprocess
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from heapq import heappop, heappush
from pathlib import Path
from typing import NamedTuple

STRACE = shutil.which("strace")
KNOWN = (
    "openat,write,pwrite64,lseek,ftruncate,fallocate,fsync,fdatasync,unlink,unlinkat,rename,renameat,renameat2,mmap,"
    "mkdir,mkdirat,rmdir"
)
UNKNOWN = (  # they are watched so that none of them goes by unnoticed
    "open,creat,writev,pwritev,pwritev2,truncate,copy_file_range,sendfile,splice,sync_file_range,link,linkat,symlink,symlinkat"
)


class Create(NamedTuple):
    name: str  # of a folder if it ends with a slash


class Write(NamedTuple):
    name: str
    offset: int
    data: bytes


class Resize(NamedTuple):
    name: str
    size: int


class Sync(NamedTuple):
    name: str  # "." for the folder itself
    since: int  # it covers the acts below this number: what was written while it ran is not among them


class Unlink(NamedTuple):
    name: str


class Rename(NamedTuple):
    name: str
    becomes: str


class Promise(NamedTuple):
    text: str


Act = Create | Write | Resize | Sync | Unlink | Rename | Promise


def is_renamed(path: str, name: str) -> bool:
    """Does a path change when this name does? A folder takes with it what lies in it."""
    return path == name or (name.endswith("/") and path.startswith(name))


class UnknownCallError(Exception):
    """The program did something to a file that this simulation cannot follow."""


def record(
    command: Sequence[str], folder: Path, trace: Path, *, slow_syncs: float = 0.0, timeout: float = 120.0
) -> list[Act]:
    """Run the program and tell what it did to the files of the folder, which must be empty."""
    assert not any(folder.iterdir()), f"{folder} is not empty"
    recorded = record_calls(command, trace, slow_syncs=slow_syncs, timeout=timeout)
    return list(Reader(folder.resolve()).acts(recorded))


def record_calls(
    command: Sequence[str], trace: Path, *, below: Path | None = None, slow_syncs: float = 0.0, timeout: float = 120.0
) -> "list[Call]":
    """Run the program and return the calls of all its processes: of those that name a file, only those that name one
    `below` a folder, by its whole path.

    With `slow_syncs` every sync takes so many seconds longer, so that others get in between, however fast the disk is.
    """
    assert STRACE is not None, "strace is not installed"
    watched = ["-f", "--seccomp-bpf", "-qq", "-y", "-xx", "-s", "4194304", "-e", "signal=none"]
    slowed = ["-e", f"inject=fsync,fdatasync:delay_enter={slow_syncs * 1e6:.0f}"] if slow_syncs else []
    told = ["-e", f"trace={KNOWN},{UNKNOWN}", "-o", str(trace), "--", *command]
    ran = subprocess.run([STRACE, *watched, *slowed, *told], capture_output=True, timeout=timeout, check=False)
    assert ran.returncode == 0, f"the writer failed: {ran.stderr.decode(errors='replace')}"
    with trace.open(encoding="ascii") as lines:
        recorded = calls(lines if below is None else lines_about(lines, below))
    trace.unlink()  # it is four times as large as everything that was written
    return recorded


WHOLE = re.compile(r"(?P<call>\w+)\((?P<args>.*)\)\s+= (?P<answer>-?\d+|\?|0x[0-9a-f]+)", re.DOTALL)
RESUMED = re.compile(r"<\.\.\. \w+ resumed>(.*)", re.DOTALL)
TEXT = re.compile(r'"((?:\\x[0-9a-f]{2})*)"')
PLACE = re.compile(r"(-?\d+|AT_FDCWD)<((?:\\x[0-9a-f]{2})*)>(\(deleted\))?")


def plain(escaped: str) -> bytes:
    return bytes.fromhex(escaped.replace("\\x", ""))


class Call(NamedTuple):
    """One call that succeeded, and the lines of the trace on which it began and returned."""

    thread: str
    began: int
    returned: int
    name: str
    args: str
    answer: int

    @property
    def place(self) -> int:
        """Where it counts among the others."""
        return self.began if self.name in EARLY else self.returned


EARLY = {"write", "pwrite64", "ftruncate", "fallocate"}  # what they do, and what a promise says, may be there at once


def lines_about(lines: Iterable[str], folder: Path) -> Iterator[str]:
    """The lines that name the folder or write to the standard output, and how such calls ended."""
    path = "".join(f"\\x{byte:02x}" for byte in os.fsencode(folder.resolve()))
    begun: set[str] = set()
    for line in lines:
        thread = line.partition(" ")[0]
        if path in line or " write(1<" in line:
            begun.add(thread)
            yield line
        elif thread in begun and " resumed>" in line:
            yield line
        else:
            begun.discard(thread)


def calls(lines: Iterable[str]) -> list[Call]:
    """The calls of a trace, in the order in which they count."""
    found: list[Call] = []
    begun: dict[str, tuple[int, str]] = {}  # calls cut in two by those of others
    for number, line in enumerate(lines):
        thread, _, rest = line.partition(" ")
        began, whole = number, rest.strip()
        if whole.endswith("<unfinished ...>"):
            begun[thread] = (number, whole.removesuffix("<unfinished ...>").rstrip())
            continue
        if resumed := RESUMED.match(whole):
            began, first = begun.pop(thread)
            whole = first + resumed[1]
        match = WHOLE.match(whole)
        if match is not None and not match["answer"].startswith(("-", "?")):  # else nothing was done
            found.append(Call(thread, began, number, match["call"], match["args"], int(match["answer"], 0)))
    return sorted(found, key=lambda call: call.place)


class Changes:
    """What was done to one file, and how much of it had returned at some line of the trace."""

    def __init__(self) -> None:
        self.numbers: list[int] = []
        self.returned: list[int] = []  # the last line on which this change or one before it returned

    def add(self, number: int, returned: int) -> None:
        self.numbers.append(number)
        self.returned.append(max(returned, self.returned[-1] if self.returned else 0))

    def first_unreturned(self, line: int) -> int | None:
        at = bisect_right(self.returned, line)
        return self.numbers[at] if at < len(self.numbers) else None


class Reader:
    """Makes acts of calls. It keeps what a call alone does not tell: positions, and which files there are.

    `is_one_process`: all threads that use the folder share their descriptors.
    """

    def __init__(self, folder: Path, *, is_one_process: bool = False) -> None:
        self.folder, self.is_one_process = str(folder), is_one_process
        self.sizes: dict[str, int] = {}  # of the files there are
        self.positions: dict[tuple[str, str], int] = {}  # of open files that are written without saying where
        self.synchronous: set[tuple[str, str]] = set()  # open files whose writes are synced when they return
        self.pending: list[tuple[int, str]] = []  # files to be synced, with the line on which their write returns
        self.changes: defaultdict[str, Changes] = defaultdict(Changes)
        self.count = 0

    def acts(self, calls: Iterable[Call]) -> Iterator[Act]:
        return (act for _, act in self.placed_acts(calls))

    def placed_acts(self, calls: Iterable[Call]) -> Iterator[tuple[int, Act]]:
        """The acts, each with the line of the trace at which it counts."""
        for call in calls:
            yield from self.synced_until(call.place)
            for act in self.read(call):
                if isinstance(act, Write | Resize):
                    self.changes[act.name].add(self.count, call.returned)
                elif isinstance(act, Create | Rename | Unlink):
                    self.changes["."].add(self.count, call.returned)
                self.count += 1
                yield call.place, act

    def synced_until(self, line: int) -> Iterator[tuple[int, Act]]:
        """The syncs of synchronous writes that have returned before a line."""
        while self.pending and self.pending[0][0] < line:
            returned, name = heappop(self.pending)
            act = Sync(name, self.covered(name, returned))
            self.count += 1
            yield returned, act

    def covered(self, name: str, began: int) -> int:
        """Up to which act does a sync of this file reach, that began on this line?"""
        firsts = (self.changes[changed].first_unreturned(began) for changed in (name, "."))
        return min((first for first in firsts if first is not None), default=self.count)

    def inside(self, path: bytes) -> str | None:
        """The name of a file in the folder, or None for files elsewhere. SQLite's index of its WAL does not survive
        a restart, whatever is in it, and is written by mapping."""
        name = os.fsdecode(path)
        if name == self.folder:
            return "."
        if not name.startswith(self.folder + "/") or name.endswith("-shm"):
            return None  # elsewhere, or no file at all
        return name.removeprefix(self.folder + "/")

    def read(self, call: Call) -> Iterator[Act]:
        if call.name in {"unlink", "unlinkat", "rmdir", "rename", "renameat", "renameat2"}:
            yield from self.renamed(call)
        elif call.name in {"mkdir", "mkdirat"}:
            yield from self.made_folder(call)
        elif call.name == "openat":
            yield from self.opened(call)
        elif call.name in {"open", "creat", "truncate", "link", "linkat", "symlink", "symlinkat"}:
            if any(self.inside(path) for path in self.paths(call.args)):
                raise UnknownCallError(f"{call.name}({call.args[:200]})")
        elif place := PLACE.search(call.args):
            name = None if place[3] else self.inside(plain(place[2]))
            yield from self.changed(call, place[1], name)

    def paths(self, args: str) -> list[bytes]:
        """The paths in a call. One that is not absolute begins where the call says, or where the program started."""
        start = PLACE.search(args)
        at = plain(start[2]) if start else os.fsencode(Path.cwd())
        return [os.path.normpath(os.path.join(at, plain(path))) for path in TEXT.findall(args)]

    def renamed(self, call: Call) -> Iterator[Act]:
        names = [self.inside(path) for path in self.paths(call.args)]
        if not any(names):
            return
        if names[0] is None or names[-1] is None:
            raise UnknownCallError(f"{call.name} into or out of the folder")
        is_folder = f"{names[0]}/" in self.sizes
        name, becomes = (f"{path}/" if is_folder else path for path in (names[0], names[-1]))
        if call.name in {"unlink", "unlinkat", "rmdir"}:
            self.sizes.pop(name, None)
            yield Unlink(name)
        else:
            for old in [path for path in self.sizes if is_renamed(path, name)]:
                self.sizes[becomes + old.removeprefix(name)] = self.sizes.pop(old)
            yield Rename(name, becomes)

    def made_folder(self, call: Call) -> Iterator[Act]:
        name = self.inside(self.paths(call.args)[0])
        if name is not None and name != ".":
            self.sizes[f"{name}/"] = 0
            yield Create(f"{name}/")

    def descriptor(self, call: Call, number: str) -> tuple[str, str]:
        return ("" if self.is_one_process else call.thread, number)

    def opened(self, call: Call) -> Iterator[Act]:
        name = self.inside(self.paths(call.args)[0])
        if name is None or name == ".":
            return
        if name not in self.sizes and "O_CREAT" in call.args:
            self.sizes[name] = 0
            yield Create(name)
        if "O_TRUNC" in call.args:
            self.sizes[name] = 0
            yield Resize(name, 0)
        descriptor = self.descriptor(call, str(call.answer))
        self.positions.pop(descriptor, None)
        self.synchronous.discard(descriptor)
        if "O_APPEND" in call.args:
            self.positions[descriptor] = -1  # wherever the file ends
        elif "O_WRONLY" in call.args:
            self.positions[descriptor] = 0
        if "SYNC" in call.args:
            self.synchronous.add(descriptor)

    def changed(self, call: Call, number: str, name: str | None) -> Iterator[Act]:
        """What a call did to an open file."""
        descriptor, args = self.descriptor(call, number), call.args
        if call.name == "write" and number == "1":
            yield from (Promise(line) for line in self.text(call).decode().splitlines())
        elif name is None:
            return
        elif call.name == "write":
            yield self.written(name, self.advanced(descriptor, name, call.answer), self.text(call))
            self.sync_later(call, descriptor, name)
        elif call.name == "pwrite64":
            yield self.written(name, int(args.rsplit(",", 1)[1]), self.text(call))
            self.sync_later(call, descriptor, name)
        elif call.name == "lseek":
            if self.positions.get(descriptor, -1) >= 0:
                self.positions[descriptor] = call.answer
        elif call.name in {"fsync", "fdatasync"}:
            yield Sync(name if name in self.sizes else ".", self.covered(name, call.began))
        elif call.name == "ftruncate":
            yield self.resized(name, int(args.rsplit(",", 1)[1]))
        elif call.name == "fallocate":
            mode, offset, length = (part.strip() for part in args.rsplit(",", 3)[1:])
            if mode != "0":
                raise UnknownCallError(f"fallocate with {mode} on {name}")
            if (size := int(offset) + int(length)) > self.sizes[name]:
                yield self.resized(name, size)
        elif call.name != "mmap" or ("MAP_SHARED" in args and "PROT_WRITE" in args):
            raise UnknownCallError(f"{call.name} on {name}")

    def sync_later(self, call: Call, descriptor: tuple[str, str], name: str) -> None:
        if descriptor in self.synchronous:
            heappush(self.pending, (call.returned, name))

    def text(self, call: Call) -> bytes:
        return plain(call.args.split('"', 2)[1])[: call.answer]  # every byte in it is escaped

    def advanced(self, descriptor: tuple[str, str], name: str, length: int) -> int:
        """Where a write without an offset goes."""
        if descriptor not in self.positions:
            raise UnknownCallError(f"{name} is both read and written from one position")
        if self.positions[descriptor] < 0:
            return self.sizes[name]
        self.positions[descriptor] += length
        return self.positions[descriptor] - length

    def written(self, name: str, offset: int, data: bytes) -> Act:
        self.sizes[name] = max(self.sizes[name], offset + len(data))
        return Write(name, offset, data)

    def resized(self, name: str, size: int) -> Act:
        self.sizes[name] = size
        return Resize(name, size)
