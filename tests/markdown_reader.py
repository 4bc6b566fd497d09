"""What does somebody who reads markdown see in a rendering? A parser that is not ours, and what is looked for in it."""

from collections.abc import Iterator

from markdown_it import MarkdownIt
from markdown_it.token import Token

_PARSER = MarkdownIt("commonmark").enable(
    ["table", "strikethrough"]
)  # with what GitHub adds, since it is more to abuse


def parsed(markdown: str) -> list[Token]:
    return _PARSER.parse(markdown)


def layout(markdown: str) -> list[str]:
    """The kinds of everything on the page, but for what is quoted: whether that is a quotation or a fence, and how many
    paragraphs it has, is the text's own affair."""
    found: list[str] = []
    inside = 0
    for token in parsed(markdown):
        if token.type == "blockquote_close":
            inside -= 1
        if not inside and token.type != "blockquote_close":
            found.append("quoted" if token.type in ("blockquote_open", "fence") else _with_children(token))
        if token.type == "blockquote_open":
            inside += 1
    return found


def _with_children(token: Token) -> str:
    kinds = [child.type for child in token.children or () if child.type != "text"]
    return " ".join([token.type + token.tag, *kinds])


def kinds(markdown: str) -> set[str]:
    """Every kind of thing there is anywhere on the page."""
    return {kind for token in parsed(markdown) for kind in (token.type, *(one.type for one in token.children or ()))}


def lines(markdown: str) -> Iterator[str]:
    """Everything there is to read, line by line, as it is meant: escapes taken off, blank lines left out."""
    for token in parsed(markdown):
        if token.type in ("fence", "code_block", "html_block"):
            text = token.content
        elif token.type == "inline":
            text = "".join("\n" if one.type == "softbreak" else one.content for one in token.children or ())
        else:
            continue
        yield from (line.strip() for line in text.split("\n") if line.strip())


def codes(markdown: str) -> list[str]:
    """What stands there as code within a line: only commands do."""
    return [one.content for token in parsed(markdown) for one in token.children or () if one.type == "code_inline"]
