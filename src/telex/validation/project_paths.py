"""Normalisation of a path within the project.

A path may mean different files on different disks: one ignores case, another normalises accents, a third drops a
trailing dot. A path is accepted only if it means the same file on all of them. Symbolic links need a disk: the caller
passes a `Resolver`.
"""

import re
from collections.abc import Callable, Sequence
from functools import cache
from typing import NamedTuple

PATH_CHARACTERS_MAX = 4096  # as long as any system takes
SEPARATOR = "/"
_OWNERS = {".git": "git", ".telex": "Telex", "telex.toml": "Telex"}
# Names that Windows takes for a device, in every folder and with any ending.
_DEVICE = re.compile(r"(?:^|/)(?:con|prn|aux|nul|com[0-9]|lpt[0-9]|conin\$|conout\$) *(?:[./]|$)", re.IGNORECASE)
# Seen by nobody and yet no control characters: fillers, joiners, variation selectors.
_INVISIBLE = frozenset(map(chr, (0x034F, 0x115F, 0x1160, 0x17B4, 0x17B5, 0x2800, 0x3164, 0xFFA0))) | frozenset(
    map(chr, (*range(0x180B, 0x1810), *range(0xFE00, 0xFE10), *range(0xE0100, 0xE01F0)))
)
_MEANT_BY_SYSTEMS = frozenset("/.\\:")


class InvalidPath(NamedTuple):
    """A path that names no one file of the project, and what is odd about it."""

    why: str  # goes on after "because": it …


Resolver = Callable[[str], str | None]  # a path of the project → where it leads, from the root; None: out of it


def normal(path: str) -> str | InvalidPath:
    """The path from the project's root, as it is compared; doing it again changes nothing. A folder keeps its `/`."""
    if _is_plain(path) and len(path) <= PATH_CHARACTERS_MAX:
        return path
    if (odd := _odd_text(path)) is not None:
        return odd
    if not path.isascii():
        if any(_turns_into_syntax(one) for one in path if one > "\x7f"):
            return InvalidPath("it has a character that some systems read as / . : or \\")
        from unicodedata import normalize

        path = normalize("NFC", path)
    parts: list[str] = []
    for part in path.split(SEPARATOR):
        if part == "..":
            if not parts:
                return InvalidPath("it leads out of the project")
            parts.pop()
        elif part not in ("", "."):
            if (odd := _odd_name(part)) is not None:
                return odd
            parts.append(part)
    if not parts:
        return InvalidPath("it names the project itself, and no file in it")
    is_folder = path.endswith((SEPARATOR, "/.", "/.."))
    return SEPARATOR.join(parts) + (SEPARATOR if is_folder else "")


def _is_plain(path: str) -> bool:
    """Nearly every path is, and is told so in a microsecond: nothing in it that anything below would look at twice."""
    return (
        path.isascii()
        and path.isprintable()
        and path != ""
        and path[0] != SEPARATOR
        and path[-1] not in "/. "
        and not ("./" in path or "//" in path or " /" in path or "~" in path or "\\" in path or ":" in path)
        and _DEVICE.search(path) is None
    )


def together(paths: Sequence[str]) -> str | None:
    """All of them as one text that can be searched at once, if each is plain: then so is the text, and the other way
    round, since what may not stand at the beginning or the end of a path may not stand beside a / either."""
    text = SEPARATOR.join(paths)
    return text if _is_plain(text) and max(map(len, paths)) <= PATH_CHARACTERS_MAX else None


def _odd_text(path: str) -> InvalidPath | None:
    """What can be told without taking it apart."""
    if not path or path.isspace():
        return InvalidPath("it is empty")
    if len(path) > PATH_CHARACTERS_MAX:
        return InvalidPath(f"it is longer than {PATH_CHARACTERS_MAX:,} characters")
    if not path.isprintable() or (not path.isascii() and not _INVISIBLE.isdisjoint(path)):
        return InvalidPath("it has characters that cannot be seen")
    if path[0] == SEPARATOR:
        return InvalidPath("it does not begin at the project's root, but at the disk's")
    if path[0] == "~":
        return InvalidPath("it begins with ~, which is somebody's home")
    if "\\" in path:
        return InvalidPath("it has a backslash, which is a / to some systems and a letter to others")
    if ":" in path:
        return InvalidPath("it has a colon, which names a drive or a hidden stream to some systems")
    return None


def _odd_name(name: str) -> InvalidPath | None:
    if name[-1] in ". ":
        return InvalidPath("a name in it ends in a dot or a blank, which some systems drop")
    if "~" in name and _is_short_name(name):
        return InvalidPath("it has a short name such as GIT~1, which stands for another file to some systems")
    if _DEVICE.search(folded(name)) is not None:
        return InvalidPath(f"{name.partition('.')[0]} is a device to Windows, whatever its ending")
    return None


def _is_short_name(name: str) -> bool:
    """As Windows makes one up for a longer name: up to six letters, ~, a number; then up to three letters more."""
    base, _, ending = name.partition(".")
    head, _, number = base.rpartition("~")
    return bool(head) and number.isdecimal() and len(base) <= 8 and len(ending) <= 3 and "." not in ending


@cache
def _turns_into_syntax(character: str) -> bool:
    """A full-width slash is one to a system that compares by compatibility; so are the dots in `…`."""
    from unicodedata import normalize

    return not _MEANT_BY_SYSTEMS.isdisjoint(normalize("NFKC", character))


def folded(text: str) -> str:
    """As a disk has it that sees neither case nor how a letter is drawn."""
    if text.isascii():
        return text.lower()
    from unicodedata import normalize

    return normalize("NFKC", normalize("NFKC", text).casefold())


def owner(path: str) -> str | None:
    """The program whose own file this is, here or in a folder below. A file in `.git` runs with the next git command;
    `.telex` and `telex.toml` are the messages, the tokens and the rules of the team."""
    path = folded(path)
    if not any(name in path for name in _OWNERS):
        return None
    return next((_OWNERS[part] for part in path.split(SEPARATOR) if part in _OWNERS), None)


def real(path: str, resolve: Resolver) -> str | InvalidPath:
    """Where a (normal) path really leads, once links have been followed."""
    led = resolve(path)
    if led is None:
        return InvalidPath("it leads out of the project through a link")
    return path if led == path else normal(led)
