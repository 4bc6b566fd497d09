"""Search of messages: the filter syntax of the feed, its matches, and excerpts.

    from:dev to:lead role:qa type:task state:refused code:path-outside-contract in:1-1-T2
    before:14:05 after:2026-11-18 around:14:05 after:2h "a phrase" prefix* part-of-a-word -word

All terms must match. `a,b` in an operator is one of the two, a star matches any continuation, and a minus sign negates
a term. A word that is no operator is searched in the text, the names, the id and the codes of a message.
"""

import re
from collections.abc import Callable, Iterable
from datetime import UTC, datetime, timedelta, timezone
from typing import get_args
from unicodedata import combining, normalize

from telex.model.named_tuple import NamedTuple
from telex.surfaces.page.history import PageMessage, PageState
from telex.surfaces.page.rows import recipient_label

FILTER_CHARACTERS_MAX = 500
TERMS_MAX = 20
EXCERPT_CHARACTERS = 200
BEFORE_MATCH = 60  # characters of an excerpt before the match
AROUND_SECONDS = 300.0
STATES = frozenset(get_args(PageState))
_TERM = re.compile(r'(-?)(?:([a-z]+):)?("(?:[^"]*)"?|\S+)', re.IGNORECASE)
_UNITS = {"s": 1.0, "m": 60.0, "min": 60.0, "h": 3_600.0, "d": 86_400.0}
_SPAN = re.compile(r"(\d+(?:\.\d+)?)(s|min|m|h|d)")
_CLOCK = re.compile(r"(\d{1,2}):(\d\d)(?::(\d\d))?")
TIME_EXAMPLES = "14:05, 2026-11-18, 2026-11-18T14:05 or 2h"

Match = Callable[[PageMessage, float], bool]


class SearchTime(NamedTuple):
    """The clock of the searcher."""

    now: float
    utc_offset: float = 0.0  # seconds


class TextTerm(NamedTuple):
    """A word, phrase or prefix in the text of a message."""

    pattern: re.Pattern[str]
    part: str  # of a word, which is found faster than a pattern; empty for phrases and prefixes
    words: str  # for the index of the store, which knows whole words only; empty for parts of words
    state: str | None  # a word that is also the name of a state

    def matches(self, message: PageMessage, at: float) -> bool:
        if self._is_in(folded(message.text)) or self._is_in(_names(message)):
            return True
        if self.part and folded(message.id).startswith(self.part):
            return True
        return self.state is not None and message.state_at(at) == self.state

    def _is_in(self, text: str) -> bool:
        return self.part in text if self.part else self.pattern.search(text) is not None


class MessageFilter(NamedTuple):
    texts: tuple[TextTerm, ...]
    excluded: tuple[TextTerm, ...]
    matches_: tuple[Match, ...]  # of the operators
    problems: tuple[str, ...]  # parts that could not be parsed and are ignored

    @property
    def is_empty(self) -> bool:
        return not (self.texts or self.excluded or self.matches_)

    @property
    def words(self) -> str:
        """Whole words that a message must contain, as a query of the store's index."""
        return " ".join(term.words for term in self.texts if term.words)

    def matches(self, message: PageMessage, at: float, indexed: frozenset[int] = frozenset()) -> bool:
        """`indexed`: messages that have the words in a part of their text that is not in memory."""
        return (
            all(match(message, at) for match in self.matches_)
            and (message.seq in indexed or all(term.matches(message, at) for term in self.texts))
            and not any(term.matches(message, at) for term in self.excluded)
        )

    def excerpt(self, message: PageMessage) -> str | None:
        """The text around the first match; None where the gist has it."""
        gist, text = folded(message.gist), folded(message.text)
        missing = [term for term in self.texts if not term.pattern.search(gist)]
        found = next((match for term in missing if (match := term.pattern.search(text))), None)
        if found is None:
            return None
        begin = max(0, found.start() - BEFORE_MATCH)
        begin = begin and max(begin, message.text.rfind(" ", 0, begin + 20) + 1)
        end = begin + EXCERPT_CHARACTERS
        return f"{'…' if begin else ''}{message.text[begin:end]}{'…' if end < len(message.text) else ''}"


def parse_filter(text: str, time: SearchTime) -> MessageFilter:
    texts, excluded, matches, problems = list[TextTerm](), list[TextTerm](), list[Match](), list[str]()
    for minus, operator, value in [*_TERM.findall(text[:FILTER_CHARACTERS_MAX])][:TERMS_MAX]:
        quoted, value = value.startswith('"'), value.strip('"')
        name = operator.lower()
        if name and name not in _OPERATORS:
            name, value = "", f"{operator}:{value}"  # a path or an address
        if not value:
            continue
        if not name:
            (excluded if minus else texts).append(_text_term(value, quoted=quoted))
            continue
        match = _OPERATORS[name](value, time)
        if match is None:
            problems.append(f"{name}: takes {_TAKES[name]}, not {value[:60]}.")
        else:
            matches.append(_negated(match) if minus else match)
    return MessageFilter(tuple(texts), tuple(excluded), tuple(matches), tuple(problems))


class _Folding(dict[int, str]):
    """Folded characters, for `str.translate`; each is computed once."""

    def __missing__(self, code: int) -> str:
        char = chr(code)
        base = "".join(part for part in normalize("NFD", char) if not combining(part)).lower()
        self[code] = base if len(base) == 1 else char
        return self[code]


_FOLDING = _Folding()


def folded(text: str) -> str:
    """In lower case and without accents; every character stays at its place."""
    return text.lower() if text.isascii() else text.translate(_FOLDING)


def _names(message: PageMessage) -> str:
    parts = (message.sender, recipient_label(message.to), message.kind, message.type or "", message.conversation or "")
    return folded(" ".join((*parts, *message.codes)))


def _text_term(value: str, *, quoted: bool) -> TextTerm:
    is_prefix = not quoted and value.endswith("*") and len(value) > 1
    text = folded(value.rstrip("*") if is_prefix else value)
    pattern = r"\s+".join(re.escape(word) for word in text.split()) or re.escape(text)
    if is_prefix:
        pattern = rf"(?<!\w){pattern}"
    elif quoted:
        pattern = rf"(?<!\w){pattern}(?!\w)"
    state = text if not quoted and text in STATES else None
    part = "" if quoted or is_prefix else text
    return TextTerm(re.compile(pattern), part, "" if is_prefix else value, state)


def _negated(match: Match) -> Match:
    return lambda message, at: not match(message, at)


# --- operators --------------------------------------------------------------------------------------------------------


def _one_of(value: str) -> Callable[[Iterable[str]], bool] | None:
    """Whether one of the names is one of the given ones; a star matches any continuation."""
    wanted = [_plain(word) for word in value.split(",") if word]
    exact, prefixes = (
        {word for word in wanted if word[-1] != "*"},
        tuple(word[:-1] for word in wanted if word[-1] == "*"),
    )
    if not wanted:
        return None
    return lambda names: any(_plain(name) in exact or _plain(name).startswith(prefixes) for name in names)


def _plain(name: str) -> str:
    return folded(name).replace("_", "-").replace(" ", "-")


def _by(names: Callable[[PageMessage], Iterable[str]]) -> Callable[[str, SearchTime], Match | None]:
    def operator(value: str, _: SearchTime) -> Match | None:
        is_one = _one_of(value)
        return None if is_one is None else lambda message, _: is_one(names(message))

    return operator


def _recipients(message: PageMessage) -> set[str]:
    names = {name for delivery in message.deliveries for name in (delivery.inbox, delivery.agent)}
    return names | {message.to, recipient_label(message.to), message.to.partition(":")[2] or message.to}


def _state(value: str, _: SearchTime) -> Match | None:
    wanted = {_plain(word) for word in value.split(",")}
    return (lambda message, at: message.state_at(at) in wanted) if wanted <= STATES else None


def _before(value: str, time: SearchTime) -> Match | None:
    moment = parse_time(value, time)
    return None if moment is None else lambda message, _: message.at < moment


def _after(value: str, time: SearchTime) -> Match | None:
    moment = parse_time(value, time)
    return None if moment is None else lambda message, _: message.at >= moment


def _around(value: str, time: SearchTime) -> Match | None:
    moment = parse_time(value, time)
    return None if moment is None else lambda message, _: abs(message.at - moment) <= AROUND_SECONDS


def parse_time(value: str, time: SearchTime) -> float | None:
    """Seconds since 1970 of `14:05`, which is the last such time of day, `2026-11-18T14:05`, or `2h` ago."""
    span = _SPAN.fullmatch(value.lower())
    if span:
        return time.now - float(span[1]) * _UNITS[span[2]]
    zone = timezone(timedelta(seconds=time.utc_offset))
    try:
        clock = _CLOCK.fullmatch(value)
        if clock:
            here = datetime.fromtimestamp(time.now, UTC).astimezone(zone)
            moment = here.replace(
                hour=int(clock[1]), minute=int(clock[2]), second=int(clock[3] or 0), microsecond=0
            ).timestamp()
            return moment if moment <= time.now else moment - 86_400.0
        moment_ = datetime.fromisoformat(value)
        return (moment_ if moment_.tzinfo else moment_.replace(tzinfo=zone)).timestamp()
    except (ValueError, OverflowError):
        return None


_OPERATORS: dict[str, Callable[[str, SearchTime], Match | None]] = {
    "from": _by(lambda message: (message.sender,)),
    "to": _by(_recipients),
    "role": _by(lambda message: (message.role,)),
    "type": _by(lambda message: (message.kind, message.type or "text")),
    "dialect": _by(lambda message: (message.dialect or "unknown",)),
    "code": _by(lambda message: message.codes),
    "in": _by(lambda message: (message.conversation or "",)),
    "id": _by(lambda message: (message.id,)),
    "state": _state,
    "before": _before,
    "after": _after,
    "around": _around,
}
_TAKES = {
    **dict.fromkeys(_OPERATORS, "a name, or several with commas between them"),
    "state": f"one of {', '.join(sorted(STATES))}",
    **dict.fromkeys(("before", "after", "around"), TIME_EXAMPLES),
}
