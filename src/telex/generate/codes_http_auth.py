"""Codes of whoever keeps the hub's door: the request was turned away before anybody looked at what it asks for."""

from telex.generate.codes_http import HUB, HttpExplanation

_HERE = f"$ curl {HUB}/roster"

DOOR = (
    HttpExplanation(
        "host-not-allowed",
        "Asked by a name that is not the hub's",
        "The header `Host` names something that is none of the hub's names. A page of another site could point its own"
        " name at this machine and read what the hub answers; so the hub only answers to the names it knows.",
        "Ask by 127.0.0.1, localhost or the address it listens on, with its port. Where it has a name of its own, say"
        " so when it is started: `telex serve --host-name NAME`.",
        403,
        f"$ curl -H 'Host: hub.example' {HUB}/roster",
        "Ask by a name of the hub: the Host of this request is none. Whoever runs the hub adds one with telex serve"
        " --host-name NAME.",
        _HERE,
    ),
    HttpExplanation(
        "origin-not-allowed",
        "Asked by the page of another site",
        "A browser says on behalf of which page it asks, and this is not the hub's own. What another site's page"
        " asks for is not done, whoever sits before it.",
        "Use the hub's own page, or a program that is no browser.",
        403,
        f"$ curl -H 'Origin: https://elsewhere.example' {HUB}/roster",
        "Use the hub's own page, or a program: what the page of another site asks for is not done.",
        _HERE,
    ),
    HttpExplanation(
        "token-needed",
        "Nobody knows who is asking",
        "The request comes from another machine, or through something that passes requests on, and shows no token. Only"
        " whoever comes from this very machine names itself.",
        "Show a token: commands and programs in Python take it from `TELEX_TOKEN`, all others send it as"
        " `Authorization: Bearer TOKEN`. Whoever runs the hub makes one with `telex token create`.",
        401,
        f"$ curl -H 'X-Forwarded-For: 192.0.2.7' {HUB}/roster",
        "Show a token: in TELEX_TOKEN, or as Authorization: Bearer TOKEN. Whoever runs the hub makes one with"
        " telex token create.",
        _HERE,
    ),
    HttpExplanation(
        "token-not-valid",
        "A token that does not count",
        "The token is none of this hub's, has run out or was revoked. Which of these it is, only whoever runs the hub"
        " is told. A token that does not count never stands for none, on this machine neither.",
        "Show another token, or ask whoever runs the hub for one: `telex token list` shows which are valid.",
        401,
        f"$ curl -H 'Authorization: Bearer telex_nonsense' {HUB}/roster",
        "Show another token: this one is not valid. Whoever runs the hub sees with telex token list which are.",
        _HERE,
    ),
    HttpExplanation(
        "tokens-unreadable",
        "The list of tokens cannot be read",
        "The file beside the store that tells whose token is whose is damaged or may not be read. Nobody with a token"
        " is let in until it can be: it is never taken for an empty list.",
        "Whoever runs the hub sees with `telex token list` what is wrong, and puts back a copy of the file.",
        503,
        "# the file with the tokens is damaged",
        "Tell whoever runs the hub: its list of tokens cannot be read; telex token list says why.",
        _HERE,
    ),
    HttpExplanation(
        "too-slow",
        "A request that takes too long to come",
        "The head or the body of the request did not come within the time that is given to it. Whoever sends slowly"
        " would keep a place that others want.",
        "Send the whole request without a pause, and try again.",
        408,
        "# somebody sends one byte a minute",
        "Send the whole request without a pause, and try again.",
        _HERE,
    ),
    HttpExplanation(
        "head-too-large",
        "An address or headers that are too long",
        "The first line and the headers of the request are longer than the hub reads.",
        "Send a shorter address and fewer headers: what is long belongs in the body.",
        431,
        "# somebody sends headers of a hundred kilobytes",
        "Send a shorter address and fewer headers.",
        _HERE,
    ),
    HttpExplanation(
        "not-http",
        "Something that is no request",
        "What came is no HTTP/1.1: TLS on a port that speaks none, for example, or another protocol.",
        "Send an HTTP/1.1 request. The hub speaks no TLS itself: put something in front of it that does.",
        400,
        "# somebody speaks TLS to it",
        "Send an HTTP/1.1 request: this is none.",
        _HERE,
    ),
    HttpExplanation(
        "too-many-requests",
        "Too many requests are open",
        "As many requests are waiting for an answer, or as many viewers are watching, as the hub bears in all or as one"
        " token may have.",
        "Wait until one has ended, and try again. One reader for each agent is enough.",
        429,
        "# so many wait already",
        "Wait until one of your requests has ended, and try again: too many are open.",
        _HERE,
    ),
    HttpExplanation(
        "too-many-connections",
        "Too many connections are open",
        "One address has as many connections to the hub as it may have, or there are as many as the hub bears in all.",
        "Use one connection for many requests, close those that nobody needs, and try again.",
        429,
        "# so many are connected already",
        "Use one connection for many requests, or close some, and try again.",
        _HERE,
    ),
    HttpExplanation(
        "hub-closing",
        "The hub is being stopped",
        "The hub was told to end while the request waited. What was kept is kept; what was only waited for goes on when"
        " it is asked for again.",
        "Ask again in a moment. A send with the same id is kept once, however often it is sent.",
        503,
        "# the hub is being stopped",
        "Ask again in a moment: the hub is being stopped or started anew.",
        _HERE,
    ),
    HttpExplanation(
        "internal-error",
        "Telex has made a mistake",
        "Something happened that should not be able to: it is a mistake in Telex and not in what was asked. What was"
        " accepted before is kept.",
        "Send what the hub wrote to stderr to whoever looks after Telex, and go on with something else meanwhile.",
        500,
        "# the hub fails in a way that nobody thought of",
        "Ask whoever runs the hub to look into its log: Telex has made a mistake, which is written there.",
        _HERE,
    ),
)
