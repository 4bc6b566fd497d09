"""Matching of a path against one pattern, with the syntax of .gitignore.

`src/auth/` matches what is below it, `src/auth` itself as well; `*` and `?` match within a name, `**` any folders,
`[a-z]` one letter. Differences from git: there are no comments and no exceptions, so `#a` and `!a` are names; and a
pattern that cannot be in the project matches nothing (`flaw`).

Our own matcher, since a guard starts for every file that an agent writes: importing pathspec takes longer than the
whole check, and `a*a*a*b` as a regular expression has exponential running time. Here a path is walked once for each
pattern, and a test compares both.
"""

from collections.abc import Iterable, Mapping
from functools import lru_cache
from types import MappingProxyType
from typing import Any, NamedTuple

from telex.validation.project_paths import SEPARATOR, folded

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


NONE: Mapping[str, Any] = MappingProxyType({})
FOLDERS_MAX = 10_000  # remembered for a list of patterns; beyond that they are walked again


class PendingPattern(NamedTuple):
    """A pattern with wildcards at some folder. Of thousands most can be told to be none of a name by their clue."""

    clue: str  # with a name that does not have this in it the pattern neither ends nor comes any further
    stays: bool  # it is then still where it was, at `**`
    one: Pattern
    places: Places  # where in it one may be


Alive = tuple[PendingPattern, ...]


class MatchState(NamedTuple):
    """How far the patterns have come at some folder."""

    found: Pattern | None  # this one covers it, and with it all that is below
    waiting: Mapping[str, Alive] = NONE  # those that go on below only with this name
    alive: Alive = ()  # those that may go on with any

    def next(self, name: str) -> Alive:
        """Those that may go on with this name."""
        return self.waiting.get(name, ()) + self.alive if self.waiting else self.alive


class PatternSet:
    """Many patterns. A plain path or name costs one look, and what a folder has settled is not asked for its files."""

    def __init__(self, patterns: Iterable[Pattern]) -> None:
        self._paths: dict[str, Pattern] = {}  # a path from the root, without its last /
        self._by_name: dict[str, Pattern] = {}  # a name wherever it stands
        self._by_ending: dict[str, Pattern] = {}  # `*.py`, wherever it stands
        wild = [(pattern, beginning(pattern)) for pattern in patterns if not self._put(pattern)]
        self._shelves = bool(self._paths or self._by_name or self._by_ending)
        self._folders = {"": _state(wild)}

    def _put(self, pattern: Pattern) -> bool:
        """Onto a shelf, if there is one for such a pattern."""
        names = pattern.names
        if all(isinstance(name, str) and name != ANY_FOLDERS for name in names):
            _put_wider(self._paths, SEPARATOR.join(map(str, names)), pattern)
        elif len(names) == 2 and names[0] == ANY_FOLDERS and isinstance(names[1], str):
            _put_wider(self._by_name, names[1], pattern)
        elif len(names) == 2 and names[0] == ANY_FOLDERS and (ending := _ending(names[1])) is not None:
            _put_wider(self._by_ending, ending, pattern)
        else:
            return False
        return True

    def cover(self, path: str, *, as_folder: bool = False) -> Pattern | None:
        """One that covers this (normal) path, if any does. `as_folder`: the path may be meant as one."""
        folder, _, name = path.rpartition(SEPARATOR)
        above = self._folders.get(folder) or self._folder(folder)
        pattern = above.found
        if pattern is not None or not name:  # without a name it is the folder itself
            return pattern
        if self._shelves:
            pattern = self._on_shelf(path, name, is_folder=as_folder)
        if pattern is None and (ahead := above.next(name)):
            return _among(ahead, name, is_folder=as_folder)
        return pattern

    def cover_below(self, folder: str) -> Pattern | None:
        """One that covers whatever is in this folder, if any does."""
        return (self._folders.get(folder) or self._folder(folder)).found

    def _folder(self, folder: str) -> MatchState:
        match_state = self._folders.get(folder)
        if match_state is not None:
            return match_state
        if len(self._folders) > FOLDERS_MAX:
            self._folders = {"": self._folders[""]}
        state, prefix = self._folders[""], ""
        for name in folder.split(SEPARATOR):
            prefix = f"{prefix}/{name}" if prefix else name
            here = self._folders.get(prefix)
            if here is None:
                here = state if state.found is not None else self._beyond(state, prefix, name)
                self._folders[prefix] = here
            state = here
        return state

    def _beyond(self, above: MatchState, path: str, name: str) -> MatchState:
        """One folder further than one that nothing covers."""
        ahead = above.next(name)
        found = self._on_shelf(path, name, is_folder=True) or _among(ahead, name, is_folder=True)
        if found is not None:
            return MatchState(found)
        further = [
            (pattern, step(pattern, places, name) - {len(pattern.names)})
            for clue_, _, pattern, places in ahead
            if clue_ in name
        ]
        return _state(
            further,
            [
                pending_pattern
                for pending_pattern in ahead
                if pending_pattern.stays and pending_pattern.clue not in name
            ],
        )

    def _on_shelf(self, path: str, name: str, *, is_folder: bool) -> Pattern | None:
        pattern = self._paths.get(path)
        if pattern is None or (pattern.below_only and not is_folder):
            pattern = self._by_name.get(name)
        if pattern is None or (pattern.below_only and not is_folder):
            pattern = self._by_ending.get(name[name.rfind(".") :])
        return pattern if pattern is not None and (is_folder or not pattern.below_only) else None


def _state(reached: Iterable[tuple[Pattern, Places]], staying: Iterable[PendingPattern] = ()) -> MatchState:
    """At a folder that nothing covers. A pattern that is nowhere any more is left behind."""
    waiting: dict[str, list[PendingPattern]] = {}
    alive = list(staying)
    for pattern, places in reached:
        if not places:
            continue
        first, last = min(places), max(places)
        name = pattern.names[last]
        at_any_folders = pattern.names[first] == ANY_FOLDERS and last == first + 1
        if first == last and isinstance(name, str):
            waiting.setdefault(name, []).append(PendingPattern("", False, pattern, places))
        else:
            telling = first == last or at_any_folders
            alive.append(PendingPattern(clue(name) if telling else "", at_any_folders, pattern, places))
    return MatchState(None, {name: tuple(those) for name, those in waiting.items()}, tuple(alive))


def _among(alive: Alive, name: str, *, is_folder: bool) -> Pattern | None:
    for clue_, _, pattern, places in alive:
        if clue_ in name and (is_folder or not pattern.below_only) and ends(pattern, places, name):
            return pattern
    return None


def _put_wider(shelf: dict[str, Pattern], key: str, pattern: Pattern) -> None:
    """Of two patterns for the same thing the one that covers more."""
    known = shelf.get(key)
    if known is None or (known.below_only and not pattern.below_only):
        shelf[key] = pattern


def _ending(name: Name) -> str | None:
    """`.py` of `*.py`. With another dot in it, it would not be what stands behind the last dot."""
    if isinstance(name, str) or len(name) != 2 or name[0] != "" or not isinstance(name[1], str):
        return None
    return name[1] if name[1].startswith(".") and name[1].count(".") == 1 and len(name[1]) > 1 else None


@lru_cache(maxsize=256)
def allowing(patterns: tuple[str, ...]) -> PatternSet:
    """What may be touched: exactly what is written, and a plain name is a path from the root."""
    found = (compiled(one, from_root=True) for one in patterns)
    return PatternSet(pattern for pattern in found if pattern is not None)


class ForbiddenPatterns:
    """What may not be touched: also where a disk that is blind to case would take the path for a forbidden one."""

    def __init__(self, patterns: Iterable[str]) -> None:
        written = [pattern for pattern in map(compiled, patterns) if pattern is not None]
        # Without a choice of letters, whatever a pattern covers as it stands it covers blindly too.
        choosing = [pattern for pattern in written if "[" in pattern.text]
        self._exact = PatternSet(choosing) if choosing else None
        blind = [
            again._replace(text=pattern.text)
            for pattern in written
            if (again := compiled(folded(pattern.text))) is not None
        ]
        self._blind = PatternSet(blind)
        self._clues = [folded(longest_text(pattern)) for pattern in (*blind, *choosing)]

    def cover(self, path: str) -> Pattern | None:
        """The pattern that covers it; a file that would take the place of a forbidden folder is covered too."""
        pattern = self._blind.cover(folded(path), as_folder=True)
        return pattern or (self._exact.cover(path, as_folder=True) if self._exact is not None else None)

    def spares(self, text: str) -> bool:
        """Can it be told at a glance that no path is covered which is a part of this (plain, folded) text?"""
        return not any(clue in text for clue in self._clues)


@lru_cache(maxsize=256)
def forbidding(patterns: tuple[str, ...]) -> ForbiddenPatterns:
    return ForbiddenPatterns(patterns)
