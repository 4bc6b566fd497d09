"""Codes of the HTTP door: they say nothing about a message, but about the request that would have done something.

Each is shown by requests as they are typed with curl, to a hub in an empty folder. A test puts them to a hub and hears
what it says, so that no page can drift from it. `$DEV_TOKEN` is a token of the agent dev, and `$OPERATOR_TOKEN` a
person's. A line `# …` happens in the world, and cannot be typed: then only the words are compared.
"""

from typing import NamedTuple

HUB = "http://127.0.0.1:4477"
_AS_DEV = '-H "Authorization: Bearer $DEV_TOKEN"'
_AS_OPERATOR = '-H "Authorization: Bearer $OPERATOR_TOKEN"'


class HttpExplanation(NamedTuple):
    code: str
    title: str  # a few words
    why: str
    mend: str
    status: int
    before: str  # what was asked; the last of it is answered with this
    say: str  # what the hub says, as `detail`
    after: str  # what was asked then, and is done
    severity: str = "error"


def _play(*lines: str) -> str:
    return "\n".join(lines)


VERBS = (
    HttpExplanation(
        "arguments-wrong",
        "Arguments that do not fit",
        "An argument has a name that the verb does not know, is of another kind, is missing, or the body is no JSON"
        " object. Nothing was done. `findings` has one entry for each, with its place, what was expected, what was"
        " found and, where a name was misspelt, the one that comes nearest.",
        "Mend what `findings` tells. `/openapi.json` has every verb with its arguments.",
        400,
        _play(f'$ curl -d \'{{"agnet": "lead"}}\' {HUB}/receive'),
        "$.agnet: Write agent instead.",
        _play(f'$ curl -d \'{{"agent": "lead"}}\' {HUB}/receive'),
    ),
    HttpExplanation(
        "identity-differs",
        "Acting under another's name",
        "Whoever has an agent's token acts under the name that it is bound to, whatever the request says. This one"
        " names somebody else.",
        "Leave the name out, or say your own. Whoever is to act as another needs that one's token, or a person's.",
        403,
        _play(f"$ curl {_AS_DEV} -d 'The build is red.' '{HUB}/send?sender=lead&to=qa'"),
        "Act as dev, or leave sender out: the token is bound to that name.",
        _play(f"$ curl {_AS_DEV} -d 'The build is red.' '{HUB}/send?to=qa'"),
    ),
    HttpExplanation(
        "operator-only",
        "What is a person's to do",
        "Shutting a team down, dealing with dead letters, importing a record and tidying up are for people. An agent's"
        " token does not do.",
        "Ask a person, who has an operator's token (`telex token create --operator`).",
        403,
        _play(f"$ curl {_AS_DEV} -X POST {HUB}/sweep"),
        "Ask a person: this needs an operator's token.",
        _play(f"$ curl {_AS_OPERATOR} -X POST {HUB}/sweep"),
    ),
    HttpExplanation(
        "method-not-allowed",
        "Another method is meant",
        "There is something at this path, and it is asked for by another method. Verbs that change something are"
        " POST, and those that only look are GET.",
        "Use what the header `Allow` names.",
        405,
        _play(f"$ curl '{HUB}/receive?agent=lead'"),
        "Use POST here.",
        _play(f'$ curl -d \'{{"agent": "lead"}}\' {HUB}/receive'),
    ),
    HttpExplanation(
        "not-ready",
        "The hub is starting or ending",
        "Only `/readyz` says so: the hub is up, and does not tell what happens yet, or does not any more.",
        "Ask again in a moment. Where it stays so, look at what the hub has written, and start it anew.",
        503,
        "# the hub is being stopped",
        "Try again in a moment: the hub is starting or ending.",
        _play(f"$ curl {HUB}/readyz"),
    ),
)
