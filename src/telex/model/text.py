"""How a place in a message is written: JSON path, `$.payload.documents[0].name`."""

import json
import re
from collections.abc import Iterable
from functools import lru_cache

ROOT = "$"
KEY_CHARACTERS_MAX = 128  # a path repeats its keys in every finding below them
_SIMPLE = re.compile(r"[A-Za-z_][A-Za-z0-9_-]*\Z")


def join(path: str, key: str | int) -> str:
    """One step further down."""
    if isinstance(key, int):
        return f"{path}[{key}]"
    if len(key) > KEY_CHARACTERS_MAX:
        key = key[: KEY_CHARACTERS_MAX - 1] + "…"
    return f"{path}.{key}" if _SIMPLE.match(key) else f"{path}[{json.dumps(key)}]"


def path_of(*keys: str | int) -> str:
    """The path from the top through these steps."""
    path = ROOT
    for key in keys:
        path = join(path, key)
    return path


def within(path: str, other: str) -> bool:
    """Is the one place the other, or somewhere inside it?"""
    return path.startswith(other) and path[len(other) : len(other) + 1] in ("", ".", "[")


def shown(text: str) -> str:
    """The text on one line, with everything escaped that a terminal would act on or a reader could not see.

    That is every character Unicode calls other or a separator, but for the blank: control characters, line ends,
    direction overrides, zero-width and private ones, lone surrogates.
    """
    if text.isprintable():
        return text
    return "".join(letter if letter.isprintable() else _escaped(letter) for letter in text)


def _escaped(letter: str) -> str:
    return letter.encode("unicode_escape").decode("ascii")


def replace_surrogates(text: str | None) -> str | None:
    """The text with lone surrogates escaped: a refused message may have some, and no store can hold them."""
    if text is None or text.isascii():
        return text
    return text.encode("utf-8", "backslashreplace").decode()


try:
    from _blake2 import blake2b
except ImportError:  # another Python than CPython
    from hashlib import blake2b

DIGEST_BYTES = 16


def digest_of(raw: bytes) -> bytes:
    """What the bytes are known by: two messages of one digest are the same message."""
    made: bytes = blake2b(raw, digest_size=DIGEST_BYTES).digest()
    return made


def number_of(name: str) -> int:
    """A signed 64-bit number for a name, to find it by; whoever looks it up compares the name as well."""
    made: bytes = blake2b(name.encode("utf-8", "surrogatepass"), digest_size=8).digest()
    return int.from_bytes(made, "little", signed=True)


WORD_CHARACTERS_MAX = 64  # nobody misspells a name that long; a hostile one must not cost time
LATEST_MAX = 32  # compared of names that pile up as a team works: whoever slips has a late one in mind
_CHOICE_CHARACTERS_MAX = 2 * WORD_CHARACTERS_MAX  # with separators; a longer choice is never meant
_SEPARATORS = str.maketrans("", "", "_- .")


def folded(word: str) -> str:
    """The word without case and separators: `In Progress`, `in-progress` and `IN_PROGRESS` are one."""
    return word.strip().casefold().translate(_SEPARATORS)


_folded = lru_cache(4_096)(folded)  # the names of a team are compared with every misspelling


def nearest(word: str, choices: Iterable[str]) -> str | None:
    """The one choice that the word was meant to be, or None when that cannot be told."""
    if len(word) > WORD_CHARACTERS_MAX:
        return None
    wanted, slips_best, found = folded(word), 99, list[str]()
    slips_max, letters = 0 if len(wanted) < 3 else 1 if len(wanted) < 6 else 2, set(wanted)
    signs = {letter for letter in letters if not letter.isalnum()}
    for choice in choices:
        if len(choice) > _CHOICE_CHARACTERS_MAX:
            continue
        target = _folded(choice)
        if target == wanted:
            slips = 0
        elif abs(len(target) - len(wanted)) > slips_max or len(letters.symmetric_difference(target)) > 2 * slips_max:
            continue  # too far off, and that costs nothing to tell: a slip puts one letter in another's place at most
        elif slips_max and not signs.difference(target) and not _is_another_word(wanted, target):
            slips = _slips(wanted, target)
        else:
            continue
        if slips < slips_best:
            slips_best, found = slips, [choice]
        elif slips == slips_best:
            found.append(choice)
    return found[0] if slips_best <= slips_max and len(found) == 1 else None


def _is_another_word(one: str, other: str) -> bool:
    """Does one hold the other and two letters more, anywhere but behind it: un-, in-, no-?"""
    shorter, longer = sorted((one, other), key=len)
    if len(longer) - len(shorter) != 2:
        return False
    return any(longer[:place] + longer[place + 2 :] == shorter for place in range(len(shorter)))


def _slips(one: str, other: str) -> int:
    """How many letters were left out, added, changed or swapped (optimal string alignment)."""
    before: list[int] = []
    row = list(range(len(other) + 1))
    for i, letter in enumerate(one, 1):
        before, last, row = row, before, [i]
        for j, wanted in enumerate(other, 1):
            cost = min(before[j] + 1, row[j - 1] + 1, before[j - 1] + (letter != wanted))
            if i > 1 and j > 1 and letter == other[j - 2] and one[i - 2] == wanted:
                cost = min(cost, last[j - 2] + 1)
            row.append(cost)
    return row[-1]
