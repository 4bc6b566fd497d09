"""Tables of `docs/http.md`, generated from the verbs and the OpenAPI document: `python -m telex.surfaces.http`."""

from collections.abc import Iterable, Iterator
from pathlib import Path

from telex.generate.__main__ import filled
from telex.protocol.verbs import VERBS, Verb, arguments, summary
from telex.surfaces.http.asgi import STATUSES
from telex.surfaces.http.openapi import document

PAGE = "docs/http.md"
_BODIES = {"none": "query", "json": "JSON body", "message": "query; the body is the message"}
_MAY = {"agent": "an agent, under its own name", "reader": "any client", "operator": "a person"}
Row = tuple[str, ...]


def parts() -> dict[str, str]:
    """Generated parts of the page by name."""
    groups = dict.fromkeys(verb.group for verb in VERBS.values())
    verbs = [verb for group in groups for verb in VERBS.values() if verb.group == group]
    return {
        "routes": _table(("request", "what it does", "arguments", "in the", "who may"), map(_verb_row, verbs)),
        "beside": _table(("request", "what it does"), _other_rows()),
        "statuses": _table(("status", "what it means", "in Python"), _status_rows()),
    }


def _verb_row(verb: Verb) -> Row:
    wanted = [argument for argument in arguments(verb.name).values() if f"{{{argument.name}}}" not in verb.path]
    names = [f"**{argument.name}**" for argument in wanted if argument.required]
    names += [argument.name for argument in wanted if not argument.required]
    text = _first_sentence(summary(verb.name))
    return f"`{verb.method} {verb.path}`", text, ", ".join(names) or "none", _BODIES[verb.body], _MAY[verb.may]


def _other_rows() -> Iterator[Row]:
    verbs = {(verb.path, verb.method.lower()) for verb in VERBS.values()}
    for path, methods in document()["paths"].items():
        for method, operation in methods.items():
            if (path, method) not in verbs:
                yield f"`{method.upper()} {path}`", _first_sentence(operation["summary"])


def _status_rows() -> Iterator[Row]:
    for status, response in document()["paths"]["/send"]["post"]["responses"].items():
        errors = [f"`{kind.__name__}`" for kind, of_error in STATUSES.items() if str(of_error) == status]
        yield status, response["description"], ", ".join(errors)


def _first_sentence(text: str) -> str:
    return text.split(". ")[0].rstrip(".").replace("|", "\\|")


def _table(heading: Row, rows: Iterable[Row]) -> str:
    lines = [heading, tuple("---" for _ in heading), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


if __name__ == "__main__":
    page = Path(PAGE)
    page.write_text(filled(page.read_text(encoding="utf-8"), parts()), encoding="utf-8")
