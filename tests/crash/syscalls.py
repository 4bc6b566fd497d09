"""What did a program do to its files, and what did it promise, in which order?

The program runs once under strace. What it did to the files of one folder becomes `Act`s, and every line it wrote to
its standard output a `Promise` among them. What the acts leave on a disk is `disk.py`'s question. A call that would
change a file in a way not known here is an error: a simulation that overlooks a write proves nothing.
"""

import os
import re
import shutil
import subprocess
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
    since: int  # how many acts there were when it began: what was written meanwhile is not covered


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


def record(command: Sequence[str], folder: Path, trace: Path, *, timeout: float = 120.0) -> list[Act]:
    """Run the program and tell what it did to the files of the folder, which must be empty."""
    assert STRACE is not None, "strace is not installed"
    assert not any(folder.iterdir()), f"{folder} is not empty"
    watched = ["-f", "--seccomp-bpf", "-qq", "-y", "-xx", "-s", "4194304", "-e", "signal=none"]
    told = ["-e", f"trace={KNOWN},{UNKNOWN}", "-o", str(trace), "--", *command]
    ran = subprocess.run([STRACE, *watched, *told], capture_output=True, timeout=timeout, check=False)
    assert ran.returncode == 0, f"the writer failed: {ran.stderr.decode(errors='replace')}"
    with trace.open(encoding="ascii") as lines:
        return list(Reader(folder.resolve()).acts(lines))


WHOLE = re.compile(r"(?P<call>\w+)\((?P<args>.*)\)\s+= (?P<answer>-?\d+|\?|0x[0-9a-f]+)", re.DOTALL)
RESUMED = re.compile(r"<\.\.\. \w+ resumed>(.*)", re.DOTALL)
TEXT = re.compile(r'"((?:\\x[0-9a-f]{2})*)"')
PLACE = re.compile(r"(-?\d+|AT_FDCWD)<((?:\\x[0-9a-f]{2})*)>(\(deleted\))?")


def plain(escaped: str) -> bytes:
    return bytes.fromhex(escaped.replace("\\x", ""))


class Reader:
    """Reads a trace, line by line. It keeps what a line alone does not tell: positions, and which files there are."""

    def __init__(self, folder: Path) -> None:
        self.folder = str(folder)
        self.sizes: dict[str, int] = {}  # of the files there are
        self.positions: dict[int, int] = {}  # of open files that are written without saying where
        self.begun: dict[str, tuple[str, int]] = {}  # calls of other threads, cut in two by ours
        self.count = 0

    def acts(self, lines: Iterable[str]) -> Iterator[Act]:
        for line in lines:
            thread, _, rest = line.partition(" ")
            whole, since = self.joined(thread, rest.strip())
            match = WHOLE.match(whole) if whole else None
            if match is None or match["answer"].startswith(("-", "?")):
                continue  # it failed, or only began, so nothing is known to have been done
            for act in self.read(match["call"], match["args"], match["answer"], since):
                self.count += 1
                yield act

    def joined(self, thread: str, rest: str) -> tuple[str, int]:
        """The line with its other half, and how many acts there were when it began."""
        if rest.endswith("<unfinished ...>"):
            self.begun[thread] = (rest.removesuffix("<unfinished ...>").rstrip(), self.count)
            return "", 0
        if resumed := RESUMED.match(rest):
            first, since = self.begun.pop(thread)
            return first + resumed[1], since
        return rest, self.count

    def inside(self, path: bytes) -> str | None:
        """The name of a file in the folder, or None for files elsewhere. SQLite's index of its WAL does not survive
        a restart, whatever is in it, and is written by mapping."""
        name = os.fsdecode(path)
        if name == self.folder:
            return "."
        name = name.removeprefix(self.folder + "/")
        return None if name.startswith("/") or name.endswith("-shm") else name

    def read(self, call: str, args: str, answer: str, since: int) -> Iterator[Act]:
        if call in {"unlink", "unlinkat", "rename", "renameat", "renameat2"}:
            yield from self.renamed(call, args)
        elif call == "openat":
            yield from self.opened(args, int(answer))
        elif call in {"open", "creat", "truncate", "link", "linkat", "symlink", "symlinkat"}:
            if any(self.inside(path) for path in self.paths(args)):
                raise UnknownCallError(f"{call}({args[:200]})")
        elif place := PLACE.search(args):
            name = None if place[3] else self.inside(plain(place[2]))
            yield from self.changed(call, args, int(answer, 0), since, place[1], name)

    def paths(self, args: str) -> list[bytes]:
        """The paths in a call. One that is not absolute begins where the call says, or where the program started."""
        start = PLACE.search(args)
        at = plain(start[2]) if start else os.fsencode(Path.cwd())
        return [os.path.normpath(os.path.join(at, plain(path))) for path in TEXT.findall(args)]

    def renamed(self, call: str, args: str) -> Iterator[Act]:
        names = [self.inside(path) for path in self.paths(args)]
        if not any(names):
            return
        if names[0] is None or names[-1] is None:
            raise UnknownCallError(f"{call} into or out of the folder")
        size = self.sizes.pop(names[0], 0)
        if call.startswith("unlink"):
            yield Unlink(names[0])
        else:
            self.sizes[names[-1]] = size
            yield Rename(names[0], names[-1])

    def opened(self, args: str, number: int) -> Iterator[Act]:
        name = self.inside(self.paths(args)[0])
        if name is None or name == ".":
            return
        if name not in self.sizes and "O_CREAT" in args:
            self.sizes[name] = 0
            yield Create(name)
        if "O_TRUNC" in args:
            self.sizes[name] = 0
            yield Resize(name, 0)
        self.positions.pop(number, None)
        if "O_APPEND" in args:
            self.positions[number] = -1  # wherever the file ends
        elif "O_WRONLY" in args:
            self.positions[number] = 0
        if "SYNC" in args:
            raise UnknownCallError(f"{name} was opened to be synced with every write")

    def changed(self, call: str, args: str, answer: int, since: int, number: str, name: str | None) -> Iterator[Act]:
        """What a call did to an open file."""
        if call == "write" and number == "1":
            yield from (Promise(line) for line in self.text(args)[:answer].decode().splitlines())
        elif name is None:
            return
        elif call == "write":
            yield self.written(name, self.advanced(int(number), name, answer), self.text(args)[:answer])
        elif call == "pwrite64":
            yield self.written(name, int(args.rsplit(",", 1)[1]), self.text(args)[:answer])
        elif call == "lseek":
            if self.positions.get(int(number), -1) >= 0:
                self.positions[int(number)] = answer
        elif call in {"fsync", "fdatasync"}:
            yield Sync(name, since)
        elif call == "ftruncate":
            yield self.resized(name, int(args.rsplit(",", 1)[1]))
        elif call == "fallocate":
            yield from self.allocated(name, args)
        elif call != "mmap" or ("MAP_SHARED" in args and "PROT_WRITE" in args):
            raise UnknownCallError(f"{call} on {name}")

    def text(self, args: str) -> bytes:
        match = TEXT.search(args)
        assert match is not None, args[:200]
        return plain(match[1])

    def advanced(self, number: int, name: str, length: int) -> int:
        """Where a write without an offset goes."""
        if number not in self.positions:
            raise UnknownCallError(f"{name} is both read and written from one position")
        if self.positions[number] < 0:
            return self.sizes[name]
        self.positions[number] += length
        return self.positions[number] - length

    def written(self, name: str, offset: int, data: bytes) -> Act:
        self.sizes[name] = max(self.sizes[name], offset + len(data))
        return Write(name, offset, data)

    def resized(self, name: str, size: int) -> Act:
        self.sizes[name] = size
        return Resize(name, size)

    def allocated(self, name: str, args: str) -> Iterator[Act]:
        mode, offset, length = (part.strip() for part in args.rsplit(",", 3)[1:])
        if mode != "0":
            raise UnknownCallError(f"fallocate with {mode} on {name}")
        if (size := int(offset) + int(length)) > self.sizes[name]:
            yield self.resized(name, size)
