"""Matching of a path against one pattern, with the syntax of .gitignore.

`src/auth/` matches what is below it, `src/auth` itself as well; `*` and `?` match within a name, `**` any folders,
`[a-z]` one letter. Differences from git: there are no comments and no exceptions, so `#a` and `!a` are names; and a
pattern that cannot be in the project matches nothing (`flaw`).

Our own matcher, since a guard starts for every file that an agent writes: importing pathspec takes longer than the
whole check, and `a*a*a*b` as a regular expression has exponential running time. Here a path is walked once for each
pattern, and a test compares both.
"""

from typing import NamedTuple

from telex.validation.project_paths import SEPARATOR

ANY_FOLDERS = "**"
PATTERN_CHARACTERS_MAX = 4096
WILD = frozenset("*?[\\")


class CharacterClass(NamedTuple):
    """One character of a name: any of these, or any but these; `None` stands for whichever."""

    among: frozenset[str] | None
    ranges: tuple[tuple[str, str], ...] = ()
    negated: bool = False

    def fits(self, character: str) -> bool:
        if self.among is None:
            return True
        found = character in self.among or any(low <= character <= high for low, high in self.ranges)
        return found is not self.negated


Piece = str | tuple[CharacterClass, ...]  # what stands between two stars
Name = str | tuple[Piece, ...]  # a name as it stands, or its pieces


class Pattern(NamedTuple):
    text: str  # as written
    names: tuple[Name, ...]  # from the root; `**` for any folders
    below_only: bool  # it ended in / and covers only what is below


def flaw(pattern: str) -> str | None:
    """Why this pattern can cover nothing, in words that go on after "because"; None: it can."""
    text = pattern.rstrip()
    if not text.strip(SEPARATOR):
        return "it is empty"
    if len(text) > PATTERN_CHARACTERS_MAX:
        return f"it is longer than {PATTERN_CHARACTERS_MAX:,} characters"
    if not text.isprintable():
        return "it has characters that cannot be seen"
    if text.startswith(("~/", "\\\\")) or text == "~" or text[1:3] in (":\\", ":/"):
        return "it does not lie in the project"
    if ".." in text.split(SEPARATOR):
        return "it leads upwards"
    if "\\" in text and any(one == "\\" and text[i + 1 : i + 2].isalnum() for i, one in enumerate(text)):
        return "its backslashes are no separators: write /"
    return None if _parsed(text) is not None else "it ends in the middle of [ or \\"


def compiled(pattern: str, *, from_root: bool = False) -> Pattern | None:
    """The pattern, ready to be compared. `from_root`: one without a wildcard is a path from the project's root,
    although it may be a single name, which git would look for in every folder."""
    if flaw(pattern) is not None:
        return None
    text = pattern.rstrip()
    if not text.isascii():
        from unicodedata import normalize

        text = normalize("NFC", text)
    parts = [part for part in text.split(SEPARATOR) if part not in ("", ".")]
    names = _parsed(text)
    if not parts or names is None:
        return None
    rooted = SEPARATOR in text.rstrip(SEPARATOR) or (from_root and WILD.isdisjoint(text))
    if not rooted and names[0] != ANY_FOLDERS:
        names = (ANY_FOLDERS, *names)
    below_only = text.endswith(SEPARATOR)
    while len(names) > 1 and names[-1] == ANY_FOLDERS:  # `a/**` is what is below a
        names, below_only = names[:-1], True
    if names == (ANY_FOLDERS,):
        names = (ANY_FOLDERS, ("", ""))
    return Pattern(pattern, names, below_only)


def _parsed(text: str) -> tuple[Name, ...] | None:
    names: list[Name] = []
    for part in text.split(SEPARATOR):
        if part in ("", ".") or (part == ANY_FOLDERS and names[-1:] == [ANY_FOLDERS]):
            continue
        name = part if part == ANY_FOLDERS or WILD.isdisjoint(part) else _name(part)
        if name is None:
            return None
        names.append(name)
    return tuple(names)


def _name(part: str) -> Name | None:
    """A name with wildcards, cut at its stars. None: it ends in the middle of something."""
    pieces: list[list[CharacterClass]] = [[]]
    place = 0
    while place < len(part):
        one, place = part[place], place + 1
        if one == "*":
            pieces.append([])
        elif one == "?":
            pieces[-1].append(CharacterClass(None))
        elif one == "[":
            found = _letters(part, place)
            if found is None:
                return None
            letter, place = found
            pieces[-1].append(letter)
        elif one == "\\":
            if place == len(part):
                return None
            pieces[-1].append(CharacterClass(frozenset(part[place])))
            place += 1
        else:
            pieces[-1].append(CharacterClass(frozenset(one)))
    plain = [_piece(piece) for piece in pieces]
    is_text = len(plain) == 1 and isinstance(plain[0], str) and plain[0] != ANY_FOLDERS  # two stars, each escaped
    return plain[0] if is_text and isinstance(plain[0], str) else tuple(plain)


def _letters(part: str, place: int) -> tuple[CharacterClass, int] | None:
    """`[a-z_]` from behind its bracket, and where it ends. A closing bracket that comes first is one of the letters."""
    negated = part[place : place + 1] in ("!", "^")
    start = place + negated
    end = part.find("]", start + 1)
    if end < 0:
        return None
    text, singles, ranges, i = part[start:end], set(), [], 0
    while i < len(text):
        if text[i + 1 : i + 2] == "-" and i + 2 < len(text):
            ranges.append((text[i], text[i + 2]))
            i += 3
        else:
            singles.add(text[i])
            i += 1
    return CharacterClass(frozenset(singles), tuple(ranges), negated), end + 1


def _piece(letters: list[CharacterClass]) -> Piece:
    """As text where every letter of it is known."""
    known = [
        next(iter(character_class.among))
        for character_class in letters
        if character_class.among and len(character_class.among) == 1 and _is_plain(character_class)
    ]
    return "".join(known) if len(known) == len(letters) else tuple(letters)


def _is_plain(letter: CharacterClass) -> bool:
    return not letter.negated and not letter.ranges


# --- comparing --------------------------------------------------------------------------------------------------------


def name_fits(name: Name, given: str) -> bool:
    """Each piece between two stars is taken where it first fits: no other choice could do better."""
    if isinstance(name, str):
        return name == given
    if len(name) == 2 and isinstance(name[0], str) and isinstance(name[1], str):  # `*.py`, as most are
        return len(given) >= len(name[0]) + len(name[1]) and given.startswith(name[0]) and given.endswith(name[1])
    first, *middle = name
    if not _fits_at(first, given, 0):
        return False
    if not middle:
        return len(first) == len(given)
    last = middle.pop()
    place, end = len(first), len(given) - len(last)
    for piece in middle:
        place = _find(piece, given, place, end)
        if place < 0:
            return False
        place += len(piece)
    return place <= end and _fits_at(last, given, end)


def _fits_at(piece: Piece, given: str, place: int) -> bool:
    if isinstance(piece, str):
        return given.startswith(piece, place)
    there = given[place : place + len(piece)]
    return len(there) == len(piece) and all(letter.fits(one) for letter, one in zip(piece, there, strict=True))


def _find(piece: Piece, given: str, start: int, end: int) -> int:
    if isinstance(piece, str):
        return given.find(piece, start, end)
    places = range(start, end - len(piece) + 1)
    return next((place for place in places if _fits_at(piece, given, place)), -1)


def clue(name: Name) -> str:
    """What every name has in it that fits this one; empty where there is no such text."""
    pieces = (name,) if isinstance(name, str) else name
    return max((text for piece in pieces for text in _known(piece)), key=len, default="")


def _known(piece: Piece) -> list[str]:
    """The texts in it of which every letter is known."""
    if isinstance(piece, str):
        return [] if piece == ANY_FOLDERS else [piece]
    texts = [""]
    for character_class in piece:
        if character_class.among is not None and len(character_class.among) == 1 and _is_plain(character_class):
            texts[-1] += next(iter(character_class.among))
        else:
            texts.append("")
    return texts


def longest_text(pattern: Pattern) -> str:
    """What every path has in it that the pattern covers; empty where there is no such text."""
    pieces = [piece for name in pattern.names for piece in ((name,) if isinstance(name, str) else name)]
    known = [piece for piece in pieces if isinstance(piece, str) and piece != ANY_FOLDERS]
    return max(known, key=len, default="")


Places = frozenset[int]  # where in a pattern's names one may be


def beginning(pattern: Pattern) -> Places:
    return frozenset((0, 1) if pattern.names[0] == ANY_FOLDERS else (0,))


def step(pattern: Pattern, here: Places, given: str) -> Places:
    """One name further, all ways through the pattern at once: there are never more than it has names."""
    names, reached = pattern.names, set()
    for place in here:
        name = names[place]
        if name == ANY_FOLDERS:
            reached.add(place)
        elif name_fits(name, given):
            reached.add(place + 1)
    last = len(names)
    return frozenset(reached | {place + 1 for place in reached if place < last and names[place] == ANY_FOLDERS})


def ends(pattern: Pattern, here: Places, given: str) -> bool:
    """Would one name further be the end of the pattern? Any folders never stand there: `compiled` sees to it."""
    return len(pattern.names) - 1 in here and name_fits(pattern.names[-1], given)


def covers(pattern: Pattern, path: str) -> bool:
    """Does it cover this (normal) path, or a folder that the path is in?"""
    given, last = path.rstrip(SEPARATOR).split(SEPARATOR), len(pattern.names)
    here, is_folder = beginning(pattern), path.endswith(SEPARATOR)
    for number, one in enumerate(given, 1):
        here = step(pattern, here, one)
        if last in here and (number < len(given) or is_folder or not pattern.below_only):
            return True
        here -= {last}
    return False
