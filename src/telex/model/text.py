"""Text helpers: JSON paths, escaping for terminals, digests, and suggestions of a correct spelling."""

import json
from collections.abc import Iterable
from functools import cache, lru_cache
from typing import Any

ROOT = "$"
KEY_CHARACTERS_MAX = 128  # a path repeats its keys in every finding below them


def join(path: str, key: str | int) -> str:
    if isinstance(key, int):
        return f"{path}[{key}]"
    if len(key) > KEY_CHARACTERS_MAX:
        key = key[: KEY_CHARACTERS_MAX - 1] + "…"
    is_simple = key.isascii() and key[:1] != "-" and key.replace("-", "_").isidentifier()
    return f"{path}.{key}" if is_simple else f"{path}[{json.dumps(key)}]"


def path_of(*keys: str | int) -> str:
    """JSON path of these keys: `$.payload.documents[0].name`."""
    path = ROOT
    for key in keys:
        path = join(path, key)
    return path


def within(path: str, other: str) -> bool:
    """Whether a path is `other` or inside it."""
    return path.startswith(other) and path[len(other) : len(other) + 1] in ("", ".", "[")


def shown(text: str) -> str:
    """The text on one line, with every non-printable character escaped: control characters, line ends, direction
    overrides, zero-width and private characters, lone surrogates."""
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode("ascii") for c in text)


def shown_block(text: str) -> str:
    """`shown` for each line of a text."""
    return "\n".join(shown(line.replace("\t", "    ")) for line in text.split("\n"))


def replace_surrogates(text: str | None) -> str | None:
    """The text with lone surrogates escaped: a refused message may have some, and no store can hold them."""
    if text is None or text.isascii():
        return text
    return text.encode("utf-8", "backslashreplace").decode()


DIGEST_BYTES = 16


@cache
def _blake2b() -> Any:
    """The hash function, imported on first use: a check needs none."""
    try:
        from _blake2 import blake2b
    except ImportError:  # another Python than CPython
        from hashlib import blake2b
    return blake2b


def digest_of(raw: bytes) -> bytes:
    digest: bytes = _blake2b()(raw, digest_size=DIGEST_BYTES).digest()
    return digest


def number_of(name: str) -> int:
    """A signed 64-bit hash of a name, for an index; compare the name as well."""
    digest: bytes = _blake2b()(name.encode("utf-8", "surrogatepass"), digest_size=8).digest()
    return int.from_bytes(digest, "little", signed=True)


WORD_CHARACTERS_MAX = 64  # a longer, hostile word must not cost time
LATEST_MAX = 32  # names compared where a team makes more and more of them: the latest
_CHOICE_CHARACTERS_MAX = 2 * WORD_CHARACTERS_MAX  # with separators
_SEPARATORS = str.maketrans("", "", "_- .")


def folded(word: str) -> str:
    """The word without case and separators: `In Progress`, `in-progress` and `IN_PROGRESS` are one."""
    return word.strip().casefold().translate(_SEPARATORS)


_folded = lru_cache(4_096)(folded)  # the names of a team are compared with every misspelling


def nearest(word: str, choices: Iterable[str]) -> str | None:
    """The one choice that the word was certainly meant to be, else None.

    That is the same word but for case and separators, or a single choice with a typing error. Two letters put before or
    into a word are no typing error: `incomplete` and `unapproved` mean the opposite of what they contain. Nor is a sign
    that the choice does not have, as in `pass?`. difflib would cost a cold start 8 ms.
    """
    if len(word) > WORD_CHARACTERS_MAX:
        return None
    wanted, best, matches = folded(word), 99, list[str]()
    edits_max, letters = 0 if len(wanted) < 3 else 1 if len(wanted) < 6 else 2, set(wanted)
    signs = {letter for letter in letters if not letter.isalnum()}
    for choice in choices:
        if len(choice) > _CHOICE_CHARACTERS_MAX:
            continue
        target = _folded(choice)
        if target == wanted:
            edits = 0
        elif abs(len(target) - len(wanted)) > edits_max or len(letters.symmetric_difference(target)) > 2 * edits_max:
            continue  # a cheap test first: an edit replaces one letter at most
        elif edits_max and not signs.difference(target) and not _is_another_word(wanted, target):
            edits = _edit_distance(wanted, target)
        else:
            continue
        if edits < best:
            best, matches = edits, [choice]
        elif edits == best:
            matches.append(choice)
    return matches[0] if best <= edits_max and len(matches) == 1 else None


def _is_another_word(word: str, other: str) -> bool:
    """Whether one is the other with two letters inserted, anywhere but at the end: un-, in-, no-."""
    shorter, longer = sorted((word, other), key=len)
    if len(longer) - len(shorter) != 2:
        return False
    return any(longer[:place] + longer[place + 2 :] == shorter for place in range(len(shorter)))


def _edit_distance(word: str, other: str) -> int:
    """Letters left out, added, changed or swapped (optimal string alignment)."""
    before: list[int] = []
    row = list(range(len(other) + 1))
    for i, letter in enumerate(word, 1):
        before, last, row = row, before, [i]
        for j, wanted in enumerate(other, 1):
            cost = min(before[j] + 1, row[j - 1] + 1, before[j - 1] + (letter != wanted))
            if i > 1 and j > 1 and letter == other[j - 2] and word[i - 2] == wanted:
                cost = min(cost, last[j - 2] + 1)
            row.append(cost)
    return row[-1]
