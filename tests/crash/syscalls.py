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
from pathlib import Path
from typing import NamedTuple

STRACE = shutil.which("strace")
KNOWN = "openat,write,pwrite64,lseek,ftruncate,fallocate,fsync,fdatasync,unlink,unlinkat,rename,renameat,renameat2,mmap"
UNKNOWN = (  # they are watched so that none of them goes by unnoticed
    "open,creat,writev,pwritev,pwritev2,truncate,copy_file_range,sendfile,splice,sync_file_range,link,linkat,symlink,symlinkat"
)


class Create(NamedTuple):
    name: str


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


class UnknownCallError(Exception):
    """The program did something to a file that this simulation cannot follow."""


def record(
    command: Sequence[str], folder: Path, trace: Path, *, slow_syncs: float = 0.0, timeout: float = 120.0
) -> list[Act]:
    """Run the program and tell what it did to the files of the folder, which must be empty.

    With `slow_syncs` every sync takes so many seconds longer, so that others get in between, however fast the disk is.
    """
    assert STRACE is not None, "strace is not installed"
    assert not any(folder.iterdir()), f"{folder} is not empty"
    watched = ["-f", "--seccomp-bpf", "-qq", "-y", "-xx", "-s", "4194304", "-e", "signal=none"]
    slowed = ["-e", f"inject=fdatasync:delay_enter={slow_syncs * 1e6:.0f}"] if slow_syncs else []
    told = ["-e", f"trace={KNOWN},{UNKNOWN}", "-o", str(trace), "--", *command]
    ran = subprocess.run([STRACE, *watched, *slowed, *told], capture_output=True, timeout=timeout, check=False)
    assert ran.returncode == 0, f"the writer failed: {ran.stderr.decode(errors='replace')}"
    with trace.open(encoding="ascii") as lines:
        acts = list(Reader(folder.resolve()).acts(calls(lines)))
    trace.unlink()  # it is four times as large as everything that was written
    return acts


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
    """Makes acts of calls. It keeps what a call alone does not tell: positions, and which files there are."""

    def __init__(self, folder: Path) -> None:
        self.folder = str(folder)
        self.sizes: dict[str, int] = {}  # of the files there are
        self.positions: dict[tuple[str, str], int] = {}  # of open files that are written without saying where
        self.changes: defaultdict[str, Changes] = defaultdict(Changes)
        self.count = 0

    def acts(self, calls: Iterable[Call]) -> Iterator[Act]:
        for call in calls:
            for act in self.read(call):
                if isinstance(act, Write | Resize):
                    self.changes[act.name].add(self.count, call.returned)
                elif isinstance(act, Create | Rename | Unlink):
                    self.changes["."].add(self.count, call.returned)
                self.count += 1
                yield act

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
        name = name.removeprefix(self.folder + "/")
        return None if name.startswith("/") or name.endswith("-shm") else name

    def read(self, call: Call) -> Iterator[Act]:
        if call.name in {"unlink", "unlinkat", "rename", "renameat", "renameat2"}:
            yield from self.renamed(call)
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
        size = self.sizes.pop(names[0], 0)
        if call.name.startswith("unlink"):
            yield Unlink(names[0])
        else:
            self.sizes[names[-1]] = size
            yield Rename(names[0], names[-1])

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
        descriptor = (call.thread, str(call.answer))
        self.positions.pop(descriptor, None)
        if "O_APPEND" in call.args:
            self.positions[descriptor] = -1  # wherever the file ends
        elif "O_WRONLY" in call.args:
            self.positions[descriptor] = 0
        if "SYNC" in call.args:
            raise UnknownCallError(f"{name} was opened to be synced with every write")

    def changed(self, call: Call, number: str, name: str | None) -> Iterator[Act]:
        """What a call did to an open file."""
        descriptor, args = (call.thread, number), call.args
        if call.name == "write" and number == "1":
            yield from (Promise(line) for line in self.text(call).decode().splitlines())
        elif name is None:
            return
        elif call.name == "write":
            yield self.written(name, self.advanced(descriptor, name, call.answer), self.text(call))
        elif call.name == "pwrite64":
            yield self.written(name, int(args.rsplit(",", 1)[1]), self.text(call))
        elif call.name == "lseek":
            if self.positions.get(descriptor, -1) >= 0:
                self.positions[descriptor] = call.answer
        elif call.name in {"fsync", "fdatasync"}:
            yield Sync(name, self.covered(name, call.began))
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

    def text(self, call: Call) -> bytes:
        match = TEXT.search(call.args)
        assert match is not None, call.args[:200]
        return plain(match[1])[: call.answer]

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
