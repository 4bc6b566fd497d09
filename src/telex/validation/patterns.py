"""Path patterns with the syntax of .gitignore, one by one and as sets.

`src/auth/` matches what is below it, `src/auth` itself as well; `*` and `?` match within a name, `**` any folders,
`[a-z]` one letter. Differences from git: there are no comments and no exceptions, so `#a` and `!a` are names; and a
pattern that cannot be in the project matches nothing (`flaw`).

This is not pathspec because a guard starts for every file that an agent writes: importing pathspec takes longer than
the whole check, and `a*a*a*b` as a regular expression may take exponential time. A test compares the two.
"""

from collections.abc import Iterable
from functools import lru_cache
from itertools import chain, takewhile

from telex.model.named_tuple import NamedTuple

SEPARATOR = "/"
ANY_FOLDERS = "**"
PATTERN_CHARACTERS_MAX = 4096
FOLDERS_MAX = 10_000  # in the cache of a pattern set
WILD = frozenset("*?[\\")


def folded(text: str) -> str:
    """The text as on a disk that ignores case and compatibility forms."""
    if text.isascii():
        return text.lower()
    from unicodedata import normalize

    return normalize("NFKC", normalize("NFKC", text).casefold())


class CharacterClass(NamedTuple):
    """One character of a name: one of these, or none of these; `None`: any character."""

    among: frozenset[str] | None
    ranges: tuple[tuple[str, str], ...] = ()
    negated: bool = False

    def fits(self, character: str) -> bool:
        if self.among is None:
            return True
        found = character in self.among or any(low <= character <= high for low, high in self.ranges)
        return found is not self.negated


Piece = str | tuple[CharacterClass, ...]  # the part between two stars
Name = str | tuple[Piece, ...]  # a literal name, or its pieces


class Pattern(NamedTuple):
    text: str  # as written
    names: tuple[Name, ...]  # from the root; `**` for any folders
    below_only: bool  # it ended in / and covers only what is below


def flaw(pattern: str) -> str | None:
    """Why this pattern covers nothing, to be read after "because"; None: it is valid."""
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
    """The parsed pattern. `from_root`: one without a wildcard is a path from the project's root, even a single name,
    which git matches in every folder."""
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
    """A name with wildcards, split at its stars. None: a bracket or escape is not closed."""
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
    """`[a-z_]` after its bracket, and where it ends. A closing bracket that comes first is one of the letters."""
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
    """Text, if it has no wildcards."""
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
    """Whether a name matches. Each piece between two stars is matched greedily, at its first position."""
    if isinstance(name, str):
        return name == given
    if len(name) == 2 and isinstance(name[0], str) and isinstance(name[1], str):  # `*.py`, the most common
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


def known_texts(pattern: Pattern) -> list[str]:
    """Texts that every covered path contains."""
    texts = [""]
    for name in pattern.names:
        for piece in (name,) if isinstance(name, str) else name:
            texts += ["", piece] if isinstance(piece, str) and piece != ANY_FOLDERS else [""]
            for letter in () if isinstance(piece, str) else piece:
                if letter.among is not None and len(letter.among) == 1 and _is_plain(letter):
                    texts[-1] += next(iter(letter.among))
                else:
                    texts.append("")
    return [text for text in texts if text]


Places = frozenset[int]  # positions in a pattern's names


def beginning(pattern: Pattern) -> Places:
    return frozenset((0, 1) if pattern.names[0] == ANY_FOLDERS else (0,))


def step(pattern: Pattern, here: Places, given: str) -> Places:
    """All positions after one more name. There are at most as many as the pattern has names."""
    names, reached = pattern.names, set()
    for place in here:
        name = names[place]
        if name == ANY_FOLDERS:
            reached.add(place)
        elif name_fits(name, given):
            reached.add(place + 1)
    last = len(names)
    return frozenset(reached | {place + 1 for place in reached if place < last and names[place] == ANY_FOLDERS})


def covers(pattern: Pattern, path: str) -> bool:
    """Whether it covers this normalised path, or a folder above it."""
    given, last = path.rstrip(SEPARATOR).split(SEPARATOR), len(pattern.names)
    here, is_folder = beginning(pattern), path.endswith(SEPARATOR)
    for number, one in enumerate(given, 1):
        here = step(pattern, here, one)
        if last in here and (number < len(given) or is_folder or not pattern.below_only):
            return True
        here -= {last}
    return False


class PatternSet:
    """Many patterns, indexed: plain paths, names and endings are dictionary lookups, and folders are cached."""

    def __init__(self, patterns: Iterable[Pattern]) -> None:
        self._paths: dict[str, Pattern] = {}  # by path from the root, without its last /
        self._by_name: dict[str, Pattern] = {}  # by name in any folder
        self._by_ending: dict[str, Pattern] = {}  # `*.py` in any folder
        self._wild: dict[str, list[tuple[list[str], Pattern]]] = {}  # by the folder before the first wildcard
        for pattern in patterns:
            if not self._index(pattern):
                literal = takewhile(lambda name: isinstance(name, str) and name != ANY_FOLDERS, pattern.names)
                folder = SEPARATOR.join(map(str, literal))
                self._wild.setdefault(folder, []).append((known_texts(pattern), pattern))
        self._folders: dict[str, Pattern | None] = {"": None}

    def _index(self, pattern: Pattern) -> bool:
        names = pattern.names
        if all(isinstance(name, str) and name != ANY_FOLDERS for name in names):
            index, key = self._paths, SEPARATOR.join(map(str, names))
        elif len(names) != 2 or names[0] != ANY_FOLDERS:
            return False
        elif isinstance(names[1], str):
            index, key = self._by_name, names[1]
        else:  # `*.py` without another dot
            start, ending = names[1] if len(names[1]) == 2 else ("", "")
            if start != "" or not isinstance(ending, str) or ending.rfind(".") != 0 or len(ending) == 1:
                return False
            index, key = self._by_ending, ending
        known = index.get(key)
        if known is None or (known.below_only and not pattern.below_only):  # the one that covers more
            index[key] = pattern
        return True

    def cover(self, path: str, *, as_folder: bool = False) -> Pattern | None:
        """A pattern that covers this normalised path. `as_folder`: the path may be a folder."""
        folder, _, name = path.rpartition(SEPARATOR)
        pattern = self._cover_below(folder)
        if pattern is not None or not name:  # without a name it is the folder itself
            return pattern
        return self._cover_one(path, name, is_folder=as_folder)

    def _cover_below(self, folder: str) -> Pattern | None:
        """A pattern that covers everything in this folder."""
        if folder not in self._folders:
            if len(self._folders) > FOLDERS_MAX:
                self._folders = {"": None}
            pattern, end = None, 0
            while pattern is None and end < len(folder):
                start, end = end, folder.find(SEPARATOR, end + 1)
                end = len(folder) if end < 0 else end
                part = folder[:end]
                if part not in self._folders:
                    self._folders[part] = self._cover_one(part, folder[start:end].lstrip(SEPARATOR), is_folder=True)
                pattern = self._folders[part]
            self._folders[folder] = pattern
        return self._folders[folder]

    def _cover_one(self, path: str, name: str, *, is_folder: bool) -> Pattern | None:
        """A pattern that covers this path, but no folder above it."""
        for pattern in (self._paths.get(path), self._by_name.get(name), self._by_ending.get(name[name.rfind(".") :])):
            if pattern is not None and (is_folder or not pattern.below_only):
                return pattern
        given = path + SEPARATOR if is_folder else path
        folders = [path[:end] for end, letter in enumerate(path) if letter == SEPARATOR]
        for texts, pattern in chain.from_iterable(self._wild.get(folder, ()) for folder in ("", *folders)):
            if all(text in path for text in texts) and covers(pattern, given):  # few patterns have all texts
                return pattern
        return None


@lru_cache(maxsize=256)
def allowing(patterns: tuple[str, ...]) -> PatternSet:
    """Patterns of allowed paths; a plain name is a path from the root."""
    found = (compiled(one, from_root=True) for one in patterns)
    return PatternSet(pattern for pattern in found if pattern is not None)


class ForbiddenPatterns:
    """Patterns of forbidden paths, which also match as on a disk that ignores case."""

    def __init__(self, patterns: Iterable[str]) -> None:
        written = [pattern for pattern in map(compiled, patterns) if pattern is not None]
        # Only a pattern with [letters] can match exactly and not when folded.
        choosing = [pattern for pattern in written if "[" in pattern.text]
        self._exact = PatternSet(choosing) if choosing else None
        blind = [
            again._replace(text=pattern.text)
            for pattern in written
            if (again := compiled(folded(pattern.text))) is not None
        ]
        self._blind = PatternSet(blind)

    def cover(self, path: str) -> Pattern | None:
        """The pattern that covers it; a file in place of a forbidden folder is covered too."""
        pattern = self._blind.cover(folded(path), as_folder=True)
        return pattern or (self._exact.cover(path, as_folder=True) if self._exact is not None else None)


@lru_cache(maxsize=256)
def forbidding(patterns: tuple[str, ...]) -> ForbiddenPatterns:
    return ForbiddenPatterns(patterns)
