"""What can a power cut leave on the disk?

Everything that was synced. Of what was not, the kernel may have written any part, in any order, and a disk writes no
less than a sector at once. So each sector shows its file as it was at some moment since the last sync, and so does
the file's length; a `Cut` says which moments. That is what a page cache can do, and nothing that it cannot.

Names are kept by a journal, in order: some first part of what was created, renamed and unlinked survives. Syncing a
new file keeps its name too, as the journals of ext4 and XFS do it, and with it every change of names before.
"""

from collections.abc import Iterator
from random import Random
from typing import Literal, NamedTuple, get_args

from tests.crash.syscalls import Act, Create, Promise, Rename, Resize, Sync, Unlink, Write, is_renamed

Cut = Literal["nothing unsynced", "everything", "up to a moment", "pages in any order", "torn pages"]
CUTS: tuple[Cut, ...] = get_args(Cut)
SECTOR, PAGE = 512, 4096


class File:
    """One file: as it was when last synced, and what was done to it since."""

    def __init__(self) -> None:
        self.synced = bytearray()
        self.since: list[tuple[int, Write | Resize]] = []  # each with the number of the act

    def sync(self, until: int) -> None:
        covered = [change for number, change in self.since if number < until]
        del self.since[: len(covered)]
        for change in covered:
            apply(self.synced, change)

    def after(self, cut: Cut, random: Random) -> bytes:
        content, count = bytearray(self.synced), len(self.since)
        if cut == "nothing unsynced" or not count:
            return bytes(content)
        if cut in {"everything", "up to a moment"}:
            moment = count if cut == "everything" else random.randint(0, count)
            for _, change in self.since[:moment]:
                apply(content, change)
            return bytes(content)
        return self.scattered(content, PAGE if cut == "pages in any order" else SECTOR, random)

    def scattered(self, content: bytearray, grain: int, random: Random) -> bytes:
        """Each part of the file at a moment of its own, and its length at another."""
        moments: dict[int, int] = {}
        length_moment = random.randint(0, len(self.since))
        length = size = len(content)
        for moment, (_, change) in enumerate(self.since, start=1):
            for part, piece in pieces(change, size, grain):
                if part not in moments:
                    moments[part] = random.randint(0, len(self.since))
                if moment <= moments[part]:
                    put(content, piece)
            size = change.size if isinstance(change, Resize) else max(size, change.offset + len(change.data))
            length = size if moment <= length_moment else length
        return bytes(content[:length].ljust(length, b"\0"))


class Piece(NamedTuple):
    offset: int
    data: bytes


def pieces(change: Write | Resize, size: int, grain: int) -> Iterator[tuple[int, Piece]]:
    """A change, cut where the disk's parts meet. What is cut off the end of a file reads as zeros if it grows again."""
    if isinstance(change, Resize):
        offset, data = change.size, bytes(max(0, size - change.size))
    else:
        offset, data = change.offset, change.data
    at = 0
    while at < len(data):
        part = (offset + at) // grain
        end = min(len(data), (part + 1) * grain - offset)
        yield part, Piece(offset + at, data[at:end])
        at = end


def put(content: bytearray, piece: Piece) -> None:
    if len(content) < piece.offset:
        content.extend(bytes(piece.offset - len(content)))
    content[piece.offset : piece.offset + len(piece.data)] = piece.data


def apply(content: bytearray, change: Write | Resize) -> None:
    if isinstance(change, Write):
        put(content, Piece(change.offset, change.data))
    else:
        del content[change.size :]
        content.extend(bytes(change.size - len(content)))


class Disk:
    """A folder on a disk, act by act, and what was promised about it meanwhile."""

    def __init__(self) -> None:
        self.files: dict[str, File] = {}
        self.kept: dict[str, File] = {}  # the names that survive for certain
        self.renamings: list[tuple[int, dict[str, File]]] = []  # the names after each change since, and its number
        self.promises: list[str] = []
        self.acts = 0

    def do(self, act: Act) -> None:
        if isinstance(act, Promise):
            self.promises.append(act.text)
        elif isinstance(act, Write | Resize):
            self.files[act.name].since.append((self.acts, act))
        elif isinstance(act, Sync):
            self.sync(act)
        else:
            self.name(act)
        self.acts += 1

    def sync(self, act: Sync) -> None:
        file = self.files.get(act.name)
        if file is not None:
            file.sync(act.since)
        if act.name == "." or (file is not None and self.kept.get(act.name) is not file):
            covered = [names for number, names in self.renamings if number < act.since]
            self.kept = covered[-1] if covered else self.kept
            del self.renamings[: len(covered)]

    def sync_all(self) -> None:
        """What the system does by itself when nothing changes for long enough."""
        for file in self.files.values():
            file.sync(self.acts)
        self.kept, self.renamings = dict(self.files), []

    def name(self, act: Create | Rename | Unlink) -> None:
        if isinstance(act, Create):
            self.files[act.name] = File()
        elif isinstance(act, Rename):
            for name in [path for path in self.files if is_renamed(path, act.name)]:
                self.files[act.becomes + name.removeprefix(act.name)] = self.files.pop(name)
        else:
            self.files.pop(act.name, None)
        self.renamings.append((self.acts, dict(self.files)))

    def after(self, cut: Cut, random: Random) -> dict[str, bytes]:
        """The files that the machine finds when the power is back. The name of a folder ends with a slash."""
        survived = {"nothing unsynced": 0, "everything": len(self.renamings)}
        count = survived.get(cut, random.randint(0, len(self.renamings)))
        names = self.renamings[count - 1][1] if count else self.kept
        return {name: file.after(cut, random) for name, file in names.items()}
