"""MCP resources: what a role may send, and whole conversations."""

from typing import NamedTuple
from urllib.parse import unquote

from telex.dialects.registry import by_name, one_of_each
from telex.dialects.schema import Dialect
from telex.errors import NotFound
from telex.generate.prompt import CHARACTERS_PER_TOKEN, prompt
from telex.generate.roles import participants
from telex.surfaces.cli.message_text import text_of
from telex.surfaces.mcp.context import CallContext
from telex.surfaces.mcp.text import DATA, fitting, head_of, marked
from telex.trace.diagrams import render_tree
from telex.validation.authorization import normalised

SCHEME = "telex://"
PROMPT, THREAD = "prompt", "thread/"
THREAD_TOKENS = 8_000  # what a conversation may take of its reader's attention


class ResourceInfo(NamedTuple):
    uri: str
    name: str
    says: str

    @property
    def is_template(self) -> bool:
        return "{" in self.uri


OFFERED = (
    ResourceInfo(f"{SCHEME}{PROMPT}", "prompt", "Every message that your role may send, in short form"),
    ResourceInfo(f"{SCHEME}{PROMPT}/{{dialect}}", "prompt of a dialect", "The same for one dialect"),
    ResourceInfo(f"{SCHEME}{THREAD}{{correlation}}", "thread", "A conversation: its messages and their states"),
)


async def read(context: CallContext, uri: str) -> str:
    """The text of a resource.

    Raises:
        NotFound: there is none of that address.
    """
    path = unquote(uri.removeprefix(SCHEME)) if uri.startswith(SCHEME) else ""
    if path == PROMPT or path.startswith(f"{PROMPT}/"):
        return await _prompt(context, path.removeprefix(PROMPT).removeprefix("/"))
    if path.startswith(THREAD) and path != THREAD:
        return await _thread(context, path.removeprefix(THREAD))
    there_are = ", ".join(resource_info.uri for resource_info in OFFERED)
    raise NotFound(f"no resource {uri[:128]}: there are {there_are}.")


async def _prompt(context: CallContext, name: str) -> str:
    who = context.who()
    known = (
        presence.member for presence in await context.bus.roster() if presence.member.name == normalised(who.agent)
    )
    member = next(known, None)
    role = member.role if member is not None else normalised(who.role or who.agent)
    spoken = _spoken(context, role, name)
    if not spoken:
        return f"No dialect has a role {role}: send any text.\n"
    return "\n".join(prompt(dialect, role) for dialect in spoken)


def _spoken(context: CallContext, role: str, name: str) -> list[Dialect]:
    """The dialect asked for; else the team's own where the role speaks it; else all in which there is such a role."""
    dialects = context.dialects
    if name:
        named = by_name(name, tuple(dialects.values()))
        if named is None:
            raise NotFound(f"no dialect {name[:128]}: there are {', '.join(dialects)}.")
        return [named]
    having = [dialect for dialect in dialects.values() if role in participants(dialect)]
    preferred = [dialect for dialect in having if dialect.name == context.settings.dialect]
    return preferred or one_of_each(having)


async def _thread(context: CallContext, correlation: str) -> str:
    stories = await context.bus.trace(correlation)
    drawn = render_tree(stories)
    heads = [head_of(story.message, None) for story in stories]
    drawn = marked(drawn)  # there are reasons in it, which others have written
    room = THREAD_TOKENS * CHARACTERS_PER_TOKEN - len(drawn) - sum(map(len, heads))
    share = max(room // max(len(stories), 1) - len(MORE), 0)
    lines = [DATA, drawn]
    for story, head in zip(stories, heads, strict=True):
        part, left_out = fitting(text_of(story.message), share)
        lines += [head, marked(part), *([MORE.format(left_out)] if left_out else [])]
    return "\n".join(lines) + "\n"


MORE = "cut: {:,} characters left out; inbox with this id shows them"
