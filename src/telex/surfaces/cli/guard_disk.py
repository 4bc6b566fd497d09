"""Project root and resolved paths on this disk, for the guard."""

import os
from itertools import islice
from typing import TYPE_CHECKING

from telex.model.roster import HUMAN
from telex.project import GIT, is_inside, nearest
from telex.validation.authorization import normalised
from telex.validation.contracts import judge

if TYPE_CHECKING:
    from collections.abc import Sequence

    from telex.model.contracts import PathVerdict
    from telex.validation.project_paths import Resolver

_KIND, _LINK = 0o170000, 0o120000  # as in stat.S_IFMT and stat.S_IFLNK, which cost an import
LOOKS_MIN, LISTED_PER_LOOK = 2, 16  # a folder is listed as far as that may be cheaper than to look at each name


def top_of(folder: str) -> str:
    """The top of the repository; the folder itself where there is none, as git will say."""
    return nearest(folder, GIT) or folder


def from_root(path: str, folder: str, root: str) -> str:
    """A path that was given in a folder of the project, from the project's root. One that leads elsewhere stays as it
    is: the guard refuses it."""
    if os.path.isabs(path):
        real = os.path.join(os.path.realpath(os.path.dirname(path)), os.path.basename(path))
        for absolute, base in ((path, root), (real, os.path.realpath(root))):
            if is_inside(absolute, base):
                return absolute[len(base.rstrip(os.sep)) + 1 :].replace(os.sep, "/")
    here = os.path.relpath(folder, root).replace(os.sep, "/")
    return path if here == "." or not path or path[0] in "/~\\" else f"{here}/{path}"


class LinkResolver:
    """Follows links. A folder is looked at once, however many of its files are asked about."""

    def __init__(self, root: str) -> None:
        self._root = os.path.realpath(root)
        self._folders: dict[str, str | None] = {"": ""}
        self._linkless: set[str] = set()  # folders that were listed and have no link in them
        self._plain: set[str] = set()  # those of them that are themselves where they seem to be
        self._looks: dict[str, int] = {}  # how many names were looked at one by one, by folder

    def leads_to(self, path: str) -> str | None:
        """Where a (normal) path of the project leads, from its root; None when that is outside."""
        folder, _, name = path.rpartition("/")
        if folder in self._plain and name:
            return path
        if not name:  # a folder, with its /
            path = folder
            folder, _, name = path.rpartition("/")
        if folder not in self._folders:
            prefix = ""
            for part in folder.split("/"):
                above, prefix = prefix, f"{prefix}/{part}" if prefix else part
                if prefix not in self._folders:
                    self._folders[prefix] = self._next(above, part, prefix)
        return self._next(folder, name, path)

    def _next(self, folder: str, name: str, path: str) -> str | None:
        """One name further than a folder that is known."""
        led = self._folders[folder]
        if led is None:
            return None
        if folder not in self._linkless and not self._proves_linkless(folder) and self._is_link(path):
            return self._inside(path)
        return path if led == folder else f"{led}/{name}" if led else name

    def _is_link(self, path: str) -> bool:
        try:
            return os.lstat(f"{self._root}/{path}").st_mode & _KIND == _LINK
        except (OSError, ValueError):  # not there at all
            return False

    def _proves_linkless(self, folder: str) -> bool:
        """Is it told by a list of the folder that no link is in it?

        Which of its names are links is not taken from the list: a disk that is blind to case knows them by others too.
        Listing is worth it for many names only, so it is tried again each time their number has doubled, and given up
        where it would take longer than they did.
        """
        looks = self._looks[folder] = self._looks.get(folder, 0) + 1
        if looks < LOOKS_MIN or looks & (looks - 1):
            return False
        try:
            with os.scandir(f"{self._root}/{folder}") as entries:
                listed = list(islice(entries, LISTED_PER_LOOK * looks + 1))
                if len(listed) > LISTED_PER_LOOK * looks or any(map(os.DirEntry.is_symlink, listed)):
                    return False
        except (OSError, ValueError):
            return False
        self._linkless.add(folder)
        if self._folders[folder] == folder:
            self._plain.add(folder)
        return True

    def _inside(self, path: str) -> str | None:
        led = os.path.realpath(f"{self._root}/{path}")
        if led == self._root:
            return ""
        above = self._root.rstrip(os.sep) + os.sep
        return led[len(above) :].replace(os.sep, "/") if led.startswith(above) else None


def without_contracts(agent: str, paths: "Sequence[str]", resolve: "Resolver | None") -> "list[PathVerdict]":
    """Where there is no store, a path may still be one that no agent should write."""
    from telex.model.contracts import PathVerdict
    from telex.work.plan_checks import NO_GROUND, sentence

    judged = [judge(path, (), resolve, is_person=normalised(agent) == HUMAN) for path in paths]
    return [
        PathVerdict(path, True, None, "No contract covers it, so nothing is forbidden.")
        if decision.code is None
        else PathVerdict(path, False, decision.code, sentence(decision, "", NO_GROUND))
        for path, decision in zip(paths, judged, strict=True)
    ]
