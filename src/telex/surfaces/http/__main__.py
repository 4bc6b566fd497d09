"""Tables of `docs/http.md`: routes, and the status of each failure.

They are generated from the table of verbs and the OpenAPI document.
"""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from telex.generate.page_parts import filled
from telex.protocol.verbs import VERBS, Verb, arguments, summary
from telex.surfaces.http.asgi import STATUSES
from telex.surfaces.http.openapi import document

PAGE = "docs/http.md"
_BODIES = {"none": "query", "json": "JSON body", "message": "query; the body is the message"}
_MAY = {"agent": "an agent, under its own name", "reader": "any client", "operator": "a person"}


def parts() -> dict[str, str]:
    """What stands between the marks, by the name of the part."""
    return {"routes": routes_table(), "beside": beside_table(), "statuses": statuses_table()}


def routes_table() -> str:
    """Every verb, in groups."""
    groups = dict.fromkeys(verb.group for verb in VERBS.values())
    rows = [_row(verb) for group in groups for verb in _of(group)]
    return _table([("request", "what it does", "arguments", "in the", "who may"), *rows])


def _of(group: str) -> Iterator[Verb]:
    return (verb for verb in VERBS.values() if verb.group == group)


def _row(verb: Verb) -> tuple[str, ...]:
    return (
        f"`{verb.method} {verb.path}`",
        _first_sentence(summary(verb.name)),
        _arguments(verb),
        _BODIES[verb.body],
        _MAY[verb.may],
    )


def _first_sentence(text: str) -> str:
    return text.split(". ")[0].rstrip(".").replace("|", "\\|")


def _arguments(verb: Verb) -> str:
    """Those that must be given first; who acts may be left to the token."""
    wanted = [argument for argument in arguments(verb.name).values() if f"{{{argument.name}}}" not in verb.path]
    words = [f"**{argument.name}**" for argument in wanted if argument.required]
    return ", ".join(words + [argument.name for argument in wanted if not argument.required]) or "none"


def beside_table() -> str:
    """What is there beside the verbs."""
    verbs = {(verb.path, verb.method.lower()) for verb in VERBS.values()}
    rows = [("request", "what it does")]
    for path, methods in document()["paths"].items():
        rows += [
            (f"`{method.upper()} {path}`", _first_sentence(one["summary"]))
            for method, one in methods.items()
            if (path, method) not in verbs
        ]
    return _table(rows)


def statuses_table() -> str:
    responses: dict[str, Any] = document()["paths"]["/send"]["post"]["responses"]
    raised: dict[str, list[str]] = {str(status): [] for status in STATUSES.values()}
    for kind, status in STATUSES.items():
        raised[str(status)].append(f"`{kind.__name__}`")
    rows = [("status", "what it means", "in Python")]
    rows += [(status, one["description"], ", ".join(raised.get(status, ()))) for status, one in responses.items()]
    return _table(rows)


def _table(rows: Sequence[tuple[str, ...]]) -> str:
    heading, *others = rows
    lines = [heading, tuple("---" for _ in heading), *others]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


if __name__ == "__main__":
    page = Path(PAGE)
    page.write_text(filled(page.read_text(encoding="utf-8"), parts()), encoding="utf-8")
