"""Responses to requests that are not authorised: one row per reason.

The text tells an agent what to do. It repeats nothing of the request, least of all a token.
"""

from http import HTTPStatus

from telex.surfaces.http.problem import HttpResponse, problem

Header = tuple[bytes, bytes]
CLOSE: Header = (b"connection", b"close")  # what is left of the request is not read


def _answer(status: int, code: str, say: str, *headers: Header) -> HttpResponse:
    answer = problem(status, code, say)
    return answer._replace(headers=(*answer.headers, *headers))


_SHOW = b"www-authenticate", b'Bearer realm="telex"'
_SHOW_ANOTHER = b"www-authenticate", b'Bearer realm="telex", error="invalid_token"'

# --- who may not come in ----------------------------------------------------------------------------------------------

HOST_NOT_ALLOWED = _answer(
    403, "host-not-allowed",
    "Use a host name of the hub: the Host header of this request is not allowed. The operator of the hub adds one with"
    " telex serve --host-name NAME.",
)  # fmt: skip
ORIGIN_NOT_ALLOWED = _answer(
    403, "origin-not-allowed",
    "Use the hub's own page, or a program: requests from pages of other sites are refused.",
)  # fmt: skip
TOKEN_NEEDED = _answer(
    401, "token-needed",
    "Send a token: in TELEX_TOKEN, or as Authorization: Bearer TOKEN. The operator of the hub creates one"
    " with telex token create.",
    _SHOW,
)  # fmt: skip
TOKEN_NOT_VALID = _answer(
    401, "token-not-valid",
    "Use another token: this one is not valid. The operator of the hub lists the valid ones with telex token list.",
    _SHOW_ANOTHER,
)  # fmt: skip
TOKENS_UNREADABLE = _answer(
    503, "tokens-unreadable",
    "Notify the operator of the hub: its token file cannot be read; telex token list shows why.",
)  # fmt: skip

# --- what is too much -------------------------------------------------------------------------------------------------

BODY_TOO_LARGE = _answer(
    413, "too-large", "Send less at once: fewer messages, or a file path instead of its content.", CLOSE
)  # fmt: skip
TOO_SLOW = _answer(408, "too-slow", "Send the request without pauses, and try again.", CLOSE)
HEAD_TOO_LARGE = _answer(431, "head-too-large", "Send a shorter URL and fewer headers.", CLOSE)
NOT_HTTP = _answer(400, "not-http", "Send a valid HTTP/1.1 request.", CLOSE)
TOO_MANY_REQUESTS = _answer(
    429, "too-many-requests", "Wait until one of your requests has ended, and try again: too many are open.", CLOSE
)  # fmt: skip
TOO_MANY_CONNECTIONS = _answer(
    429, "too-many-connections", "Use one connection for many requests, or close some, and try again.", CLOSE
)  # fmt: skip
HUB_CLOSING = _answer(503, "hub-closing", "Try again in a moment: the hub is stopping or restarting.", CLOSE)

EVERY = (
    HOST_NOT_ALLOWED, ORIGIN_NOT_ALLOWED, TOKEN_NEEDED, TOKEN_NOT_VALID, TOKENS_UNREADABLE, BODY_TOO_LARGE, TOO_SLOW,
    HEAD_TOO_LARGE, NOT_HTTP, TOO_MANY_REQUESTS, TOO_MANY_CONNECTIONS, HUB_CLOSING,
)  # fmt: skip


def raw(answer: HttpResponse) -> bytes:
    """The answer as it goes over the wire, for whoever is turned away before there is a request to answer."""
    status, body, kind, headers = answer
    lines = [
        b"HTTP/1.1 %d %s" % (status, HTTPStatus(status).phrase.encode()),
        b"content-type: " + kind,
        b"content-length: %d" % len(body),
        *(name + b": " + value for name, value in headers),
    ]
    return b"\r\n".join([*lines, b"", body])
