"""Markup of a message's text for a browser: markdown, rendered and then sanitised.

There are two independent layers: the renderer accepts no HTML, and its output is cleaned with an allow-list. No images,
no styles, no ids that a script could find, and no links within the page: a link leads to a visible outside address, or
is removed.
"""

from functools import cache
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from markdown_it import MarkdownIt

CHARACTERS_MAX = 20_000  # what is longer is cut: hostile text of that length takes a fifth of a second, raw has it all
NESTING_MAX = 20  # levels of quotes and lists
LINES_OF = frozenset("\n\t")
_BLOCKS = ("p", "br", "hr", "h1", "h2", "h3", "h4", "h5", "h6", "blockquote", "pre", "ul", "ol", "li")
TAGS = frozenset((*_BLOCKS, "a", "strong", "em", "s", "code", "table", "thead", "tbody", "tr", "th", "td"))
SCHEMES = ("http://", "https://", "mailto:")
REL = "nofollow noopener noreferrer"


class Markup(NamedTuple):
    html: str
    cut: bool  # was there more of it?


def markup(text: str) -> Markup:
    """The text as HTML that does nothing but show it."""
    import nh3

    cut = len(text) > CHARACTERS_MAX
    rendered = _renderer().render(_visible(text[:CHARACTERS_MAX]))
    clean = nh3.clean(
        rendered,
        tags=set(TAGS),
        clean_content_tags={"script", "style"},
        attributes={"a": {"href"}, "ol": {"start"}},
        attribute_filter=_kept,
        url_schemes={"http", "https", "mailto"},
        link_rel=REL,
        set_tag_attribute_values={"a": {"target": "_blank"}},
        strip_comments=True,
    )
    return Markup(clean, cut)


@cache
def _renderer() -> "MarkdownIt":
    from markdown_it import MarkdownIt

    options = {"html": False, "linkify": False, "typographer": False, "maxNesting": NESTING_MAX}
    return MarkdownIt("commonmark", options).enable(["table", "strikethrough"]).disable("image")


def _kept(tag: str, name: str, value: str) -> str | None:
    """Where a link leads and what we say about links, at which number a list begins: no titles, no languages."""
    if (tag, name) == ("a", "href"):
        return value if value.lower().startswith(SCHEMES) else None
    return value if (tag, name) in (("ol", "start"), ("a", "rel"), ("a", "target")) else None


def _visible(text: str) -> str:
    """With everything escaped that a reader could not see, such as what turns the direction of a line around."""
    if text.isprintable():
        return text
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    return "".join(one if one.isprintable() or one in LINES_OF else _escaped(one) for one in text)


def _escaped(letter: str) -> str:
    if letter == "\u00a0":
        return letter  # a blank that does not break; every other separator is there to be mistaken
    return letter.encode("unicode_escape").decode("ascii").replace("\\", "\\\\")
