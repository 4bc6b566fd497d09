"""Normalisation of a path within the project.

A path may mean different files on different disks: one ignores case, another normalises accents, a third drops a
trailing dot. A path is accepted only if it means the same file on all of them. Symbolic links need a disk: the caller
passes a `Resolver`.
"""

import re
from collections.abc import Callable
from functools import cache, lru_cache

from telex.model.named_tuple import NamedTuple

PATH_CHARACTERS_MAX = 4096
SEPARATOR = "/"
_OWNERS = {".git": "git", ".telex": "Telex", "telex.toml": "Telex"}
# Names that Windows takes for a device, in every folder and with any ending.
_DEVICE = re.compile(r"(?:^|/)(?:con|prn|aux|nul|com[0-9]|lpt[0-9]|conin\$|conout\$) *(?:[./]|$)", re.IGNORECASE)
# Invisible, but not control characters: fillers, joiners, variation selectors.
_INVISIBLE = frozenset(map(chr, (0x034F, 0x115F, 0x1160, 0x17B4, 0x17B5, 0x2800, 0x3164, 0xFFA0))) | frozenset(
    map(chr, (*range(0x180B, 0x1810), *range(0xFE00, 0xFE10), *range(0xE0100, 0xE01F0)))
)
_MEANT_BY_SYSTEMS = frozenset("/.\\:")


class InvalidPath(NamedTuple):
    """A path that does not name one file of the project."""

    why: str  # to be read after "because"


Resolver = Callable[[str], str | None]  # path → its target, from the root; None: outside the project


@lru_cache(maxsize=256)
def normal(path: str) -> str | InvalidPath:
    """The normalised path from the project's root; idempotent. A folder keeps its `/`."""
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
    """Fast path: nearly every path needs no normalisation."""
    return (
        path.isascii()
        and path.isprintable()
        and path != ""
        and path[0] != SEPARATOR
        and path[-1] not in "/. "
        and not ("./" in path or "//" in path or " /" in path or "~" in path or "\\" in path or ":" in path)
        and _DEVICE.search(path) is None
    )


def _odd_text(path: str) -> InvalidPath | None:
    if not path or path.isspace():
        return InvalidPath("it is empty")
    if len(path) > PATH_CHARACTERS_MAX:
        return InvalidPath(f"it is longer than {PATH_CHARACTERS_MAX:,} characters")
    if not path.isprintable() or (not path.isascii() and not _INVISIBLE.isdisjoint(path)):
        return InvalidPath("it has characters that cannot be seen")
    if path[0] == SEPARATOR:
        return InvalidPath("it does not begin at the project's root, but at the disk's")
    if path[0] == "~":
        return InvalidPath("it begins with ~, a home directory")
    if "\\" in path:
        return InvalidPath("it has a backslash, which is a / to some systems and a letter to others")
    if ":" in path:
        return InvalidPath("it has a colon, which names a drive or a hidden stream to some systems")
    return None


def _odd_name(name: str) -> InvalidPath | None:
    if name[-1] in ". ":
        return InvalidPath("a name in it ends in a dot or a blank, which some systems drop")
    if "~" in name and _is_short_name(name):
        return InvalidPath("it has a short name such as GIT~1, another file's name on some systems")
    if _DEVICE.search(folded(name)) is not None:
        return InvalidPath(f"{name.partition('.')[0]} is a device to Windows, whatever its ending")
    return None


def _is_short_name(name: str) -> bool:
    """A DOS short name: up to six letters, ~ and a number, then up to three letters."""
    base, _, ending = name.partition(".")
    head, _, number = base.rpartition("~")
    return bool(head) and number.isdecimal() and len(base) <= 8 and len(ending) <= 3 and "." not in ending


@cache
def _turns_into_syntax(character: str) -> bool:
    """Whether a system that normalises by compatibility reads it as syntax: a full-width slash, the dots in `…`."""
    from unicodedata import normalize

    return not _MEANT_BY_SYSTEMS.isdisjoint(normalize("NFKC", character))


def folded(text: str) -> str:
    """The text as on a disk that ignores case and compatibility forms."""
    if text.isascii():
        return text.lower()
    from unicodedata import normalize

    return normalize("NFKC", normalize("NFKC", text).casefold())


@lru_cache(maxsize=256)
def owner(path: str) -> str | None:
    """The program that owns this file. A file in `.git` may run with the next git command; `.telex` and `telex.toml`
    have the messages, tokens and rules of the team."""
    path = folded(path)
    if not any(name in path for name in _OWNERS):
        return None
    return next((_OWNERS[part] for part in path.split(SEPARATOR) if part in _OWNERS), None)


def real(path: str, resolve: Resolver) -> str | InvalidPath:
    """Target of a normalised path after following links."""
    led = resolve(path)
    if led is None:
        return InvalidPath("it leads out of the project through a link")
    return path if led == path else normal(led)
