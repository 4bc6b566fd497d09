"""Where on this disk is the project, and where do its paths really lead?"""

import os
from typing import TYPE_CHECKING

from telex.rules.contracts import judge

if TYPE_CHECKING:
    from collections.abc import Sequence

    from telex.model.contract import Verdict

_KIND, _LINK = 0o170000, 0o120000  # as in stat.S_IFMT and stat.S_IFLNK, which cost an import
REPOSITORY, STORE = ".git", ".telex"  # what lies at the root of one, and at the root of a project


def root_of(folder: str) -> str:
    """The root of the project that this folder is in; the folder itself where nothing tells."""
    return _nearest(folder, STORE, REPOSITORY) or folder


def top_of(folder: str) -> str:
    """The top of the repository; the folder itself where there is none, as git will say."""
    return _nearest(folder, REPOSITORY) or folder


def _nearest(folder: str, *marks: str) -> str | None:
    while not any(os.path.lexists(os.path.join(folder, mark)) for mark in marks):
        above = os.path.dirname(folder)
        if above == folder:
            return None
        folder = above
    return folder


class Disk:
    """Follows links. A folder is looked at once, however many of its files are asked about."""

    def __init__(self, root: str) -> None:
        self._root = os.path.realpath(root)
        self._folders: dict[str, str | None] = {"": ""}

    def leads_to(self, path: str) -> str | None:
        """Where a (normal) path of the project leads, from its root; None when that is outside."""
        path = path.rstrip("/")
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
        try:
            is_link = os.lstat(f"{self._root}/{path}").st_mode & _KIND == _LINK
        except (OSError, ValueError):  # not there at all
            is_link = False
        if is_link:
            return self._inside(path)
        return path if led == folder else f"{led}/{name}" if led else name

    def _inside(self, path: str) -> str | None:
        led = os.path.realpath(f"{self._root}/{path}")
        if led == self._root:
            return ""
        above = self._root.rstrip(os.sep) + os.sep
        return led[len(above) :].replace(os.sep, "/") if led.startswith(above) else None


def without_contracts(paths: "Sequence[str]", disk: Disk) -> "list[Verdict]":
    """Where there is no store, a path may still be one that nobody should write."""
    from telex.flow.book.plan_checks import NO_GROUND, sentence
    from telex.model.contract import Verdict

    judged = [judge(path, (), disk.leads_to) for path in paths]
    return [
        Verdict(path, True, None, "No contract covers it, so nothing is forbidden.")
        if one.code is None
        else Verdict(path, False, one.code, sentence(one, "", NO_GROUND))
        for path, one in zip(paths, judged, strict=True)
    ]
