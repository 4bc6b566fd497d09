"""Authentication: which requests are let in, by peer, token, host name and origin."""

import asyncio
import json
import re
from pathlib import Path
from typing import Any

import pytest

from telex.model.limits import HUB_LIMITS
from telex.surfaces.http.asgi import REFUSALS, Receive, Scope, Send
from telex.surfaces.http.auth import AuthMiddleware, allowed_hosts
from telex.surfaces.http.tokens import TokenFile
from tests.http.auth_kit import (
    HERE,
    KNOWN,
    PORT,
    STRANGER,
    Answered,
    Headers,
    ask,
    bearer,
    connected,
    head,
    made_token,
    mirror,
    read_all,
    running,
)
from tests.proofs import proves

NOW = 10_000.0
PAGE = Path(__file__).parents[2] / "docs/hub-security.md"


@pytest.fixture
def file(tmp_path: Path) -> TokenFile:
    return TokenFile(str(tmp_path / "tokens.json"))


def asked(file: TokenFile | None, path: str = "/roster", **request: Any) -> Answered:
    """What the door says to one request; behind it, an app that tells who came in."""
    tokens_only = request.pop("tokens_only", False)
    door = AuthMiddleware(request.pop("known", KNOWN), file, tokens_only=tokens_only, now=lambda: NOW)
    return asyncio.run(ask(door(mirror), path, **request))


# --- from where -------------------------------------------------------------------------------------------------------


@proves("hub/loopback")
@pytest.mark.parametrize("peer", ["127.0.0.1", "127.0.0.2", "127.255.255.254", "::1", "::ffff:127.0.0.1"])
def test_whoever_comes_from_this_machine_names_itself(peer: str) -> None:
    assert asked(None, peer=peer).json == {"agent": None, "role": None, "operator": True, "token": None}


@proves("hub/loopback")
@pytest.mark.parametrize(
    "peer", [STRANGER, "10.0.0.1", "::ffff:10.0.0.1", "fe80::1%eth0", "0.0.0.0", "::", "127.0.0.1.evil", "", None]
)
def test_whoever_comes_from_anywhere_else_shows_a_token(peer: str | None) -> None:
    answer = asked(None, peer=peer)
    assert (answer.status, answer.code) == (401, "token-needed")
    assert answer.headers["www-authenticate"].startswith("Bearer")


@proves("hub/forwarded")
@pytest.mark.parametrize(
    "header",
    [
        "Forwarded",
        "X-Forwarded-For",
        "X-Forwarded-Host",
        "X-Forwarded-Proto",
        "X-Forwarded-Anything",
        "Via",
        "X-Real-IP",
    ],
)
@pytest.mark.parametrize("value", [STRANGER, "127.0.0.1", ""])
def test_what_a_proxy_passes_on_is_not_from_this_machine(header: str, value: str) -> None:
    assert asked(None, headers={header: value}).code == "token-needed"


@proves("hub/forwarded")
def test_no_header_brings_a_stranger_home() -> None:
    for header in ("X-Forwarded-For", "Forwarded", "X-Real-IP", "Client-IP", "X-Client-IP", "True-Client-IP"):
        assert asked(None, peer=STRANGER, headers={header: "127.0.0.1"}).code == "token-needed"


@proves("hub/tokens-only")
def test_where_everybody_shows_a_token_this_machine_does_too(file: TokenFile) -> None:
    key = made_token(file)
    assert asked(file, tokens_only=True).code == "token-needed"
    assert asked(file, tokens_only=True, headers=bearer(key.text)).json["agent"] == "dev"


@proves("hub/public", "page/hubs/route")
def test_without_a_token_a_stranger_sees_the_shell_of_the_page_and_whether_the_hub_lives() -> None:
    for path in ("/", "/healthz", "/readyz", "/static/app.js"):
        assert asked(None, path, peer=STRANGER).json["operator"] is False
    for path in (
        "/static",
        "/healthz/",
        "//",
        "/readyz/x",
        "/metrics",
        "/openapi.json",
        "/page/summary",
        "/page/replica",
        "/page/stream",
        "/mcp",
        "/%2e",
    ):
        assert asked(None, path, peer=STRANGER).code == "token-needed", path


# --- with which token -------------------------------------------------------------------------------------------------


@proves("hub/token")
@pytest.mark.parametrize("peer", [HERE, STRANGER])
def test_a_token_says_who_it_is(file: TokenFile, peer: str) -> None:
    key = made_token(file, "ada", "qa", expires_at=NOW + 1)
    answer = asked(file, peer=peer, headers=bearer(key.text))
    assert answer.json == {"agent": "ada", "role": "qa", "operator": False, "token": key.id}
    assert asked(file, peer=peer, headers={"authorization": f"bearer  {key.text} "}).json["agent"] == "ada"


def wrong_tokens(file: TokenFile) -> dict[str, Headers]:
    key, over, gone = made_token(file), made_token(file, expires_at=NOW), made_token(file)
    other = made_token(file, "qa", "qa")
    file.revoke(gone.id)
    secret = key.text.rpartition("_")[2]
    return {
        "expired": bearer(over.text),
        "revoked": bearer(gone.text),
        "cut short": bearer(key.text[:-1]),
        "one letter more": bearer(key.text + "0"),
        "one letter other": bearer(key.text[:-1] + ("0" if key.text[-1] != "0" else "1")),
        "capitals": bearer(key.text.upper()),
        "only the id": bearer(key.id),
        "only the secret": bearer(secret),
        "no secret": bearer(f"telex_{key.id}_"),
        "no id": bearer(f"telex__{secret}"),
        "another's secret": bearer(f"telex_{key.id}_{other.text.rpartition('_')[2]}"),
        "the hash": bearer(f"telex_{key.id}_{file.tokens()[key.id].hash}"),
        "unknown id": bearer(f"telex_aaaaaaaa_{secret}"),
        "empty": bearer(""),
        "no scheme": {"Authorization": key.text},
        "another scheme": {"Authorization": f"Basic {key.text}"},
        "nothing at all": {"Authorization": ""},
        "very long": bearer("telex_" + "a" * 100_000),
        "not letters": bearer("telex_\xff\x00_é"),
        "two of them": [("Authorization", f"Bearer {key.text}"), ("Authorization", f"Bearer {other.text}")],
        "a good one and none": [("Authorization", f"Bearer {key.text}"), ("Authorization", "")],
    }


@proves("hub/token-wrong")
@pytest.mark.parametrize("peer", [HERE, STRANGER])
@pytest.mark.parametrize("path", ["/roster", "/healthz", "/"])
def test_a_token_that_is_not_valid_is_turned_away_in_the_same_words_whatever_is_wrong(
    file: TokenFile, peer: str, path: str
) -> None:
    answers = {name: asked(file, path, peer=peer, headers=headers) for name, headers in wrong_tokens(file).items()}
    assert {answer.code for answer in answers.values()} == {"token-not-valid"}
    assert len({(answer.status, answer.body, *sorted(answer.headers.items())) for answer in answers.values()}) == 1


@proves("hub/token-wrong")
def test_a_token_counts_in_no_other_place(file: TokenFile) -> None:
    key = made_token(file)
    for path in (f"/roster?token={key.text}", f"/roster?access_token={key.text}"):
        assert asked(file, path, peer=STRANGER).code == "token-needed"
    for header in ("Cookie", "X-Api-Key", "Proxy-Authorization", "X-Telex-Token"):
        assert asked(file, peer=STRANGER, headers={header: f"Bearer {key.text}"}).code == "token-needed"


@proves("hub/token-wrong")
def test_a_token_in_a_trailer_does_not_count(file: TokenFile, tmp_path: Path) -> None:
    trailer = f"0\r\nAuthorization: Bearer {made_token(file).text}\r\n\r\n".encode()
    with running(mirror, tmp_path, HUB_LIMITS) as port, connected(port) as connection:
        chunked = head(port, "POST /send HTTP/1.1", "Transfer-Encoding: chunked", "Trailer: Authorization")
        connection.sendall(chunked + trailer + head(port, "GET /roster HTTP/1.1", "Connection: close"))
        answer = read_all(connection)
    assert answer.count(b'{"agent": null, "role": null, "operator": true, "token": null}') == 2


@proves("hub/token-wrong")
def test_where_there_can_be_no_tokens_every_token_is_wrong() -> None:
    assert asked(None, headers=bearer("telex_a_b")).code == "token-not-valid"


@proves("hub/revoked-at-once")
def test_a_revocation_holds_from_the_next_request_on(file: TokenFile) -> None:
    key, door = made_token(file), AuthMiddleware(KNOWN, file, now=lambda: NOW)(mirror)

    def status() -> int:
        return asyncio.run(ask(door, "/roster", peer=STRANGER, headers=bearer(key.text))).status

    before = status()
    TokenFile(file.path).revoke(key.id)  # by another process, to this one
    assert (before, status()) == (200, 401)


@proves("hub/damaged")
@pytest.mark.parametrize("text", ["", "{", "[]", '{"tokens": {}}', '{"tokens": [{"id": "x"}]}', "\x00" * 100])
def test_a_damaged_list_of_tokens_lets_nobody_in_and_is_told_apart(file: TokenFile, text: str) -> None:
    key = made_token(file)
    Path(file.path).write_text(text, encoding="utf-8")
    answer = asked(file, peer=STRANGER, headers=bearer(key.text))
    assert (answer.status, answer.code) == (503, "tokens-unreadable")
    assert file.path not in answer.body.decode()
    assert asked(file).status == 200  # whoever comes from this machine shows none


@proves("hub/secret")
def test_no_answer_repeats_what_was_shown(file: TokenFile) -> None:
    for headers in wrong_tokens(file).values():
        answer = asked(file, peer=STRANGER, headers=headers)
        assert b"telex_" not in answer.body
        assert "telex_" not in str(answer.headers)


@proves("hub/documented")
def test_every_answer_of_the_doors_is_explained_on_a_page() -> None:
    page = PAGE.read_text(encoding="utf-8")
    codes = {json.loads(answer.body)["code"]: answer.status for answer in REFUSALS}
    codes |= dict.fromkeys(("identity-differs", "operator-only", "role-claim-differs"), 403)
    codes |= dict.fromkeys(("viewer-token", "viewer-conversation"), 403)
    told = dict(re.findall(r"^\| `([a-z-]+)` \| (\d+) \|", page, flags=re.MULTILINE))
    assert told == {code: str(status) for code, status in codes.items()}


@proves("hub/documented")
def test_every_limit_is_on_the_page_as_it_is() -> None:
    page = PAGE.read_text(encoding="utf-8")
    rows = dict(re.findall(r"^\| `([a-z_]+)` \| ([\d,.]+) \|", page, flags=re.MULTILINE))
    assert rows == {
        name: f"{value:,g}" if value < 1e6 else f"{value:,}" for name, value in HUB_LIMITS._asdict().items()
    }


def test_what_is_not_http_is_not_let_in() -> None:
    sent: list[Any] = []

    async def send(event: Any) -> None:
        sent.append(event)

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        raise AssertionError("it was let in")

    async def receive() -> Any:
        return {"type": "websocket.connect"}

    async def knock() -> None:
        await AuthMiddleware(KNOWN)(app)({"type": "websocket", "headers": [], "path": "/"}, receive, send)

    asyncio.run(knock())
    assert [event["type"] for event in sent] == ["websocket.close"]


# --- by which name, and from which page -------------------------------------------------------------------------------

OWN = f"http://127.0.0.1:{PORT}"
BY_WRONG_NAMES: dict[str, Headers] = {
    "rebound to our port": {"Host": f"evil.example:{PORT}"},
    "rebound without a port": {"Host": "evil.example"},
    "begins like ours": {"Host": f"127.0.0.1.evil.example:{PORT}"},
    "ends like ours": {"Host": f"evil-localhost:{PORT}"},
    "localhost of a domain": {"Host": f"localhost.evil.example:{PORT}"},
    "our name at another port": {"Host": "127.0.0.1:80"},
    "our name without a port": {"Host": "127.0.0.1"},
    "the number as one number": {"Host": f"2130706433:{PORT}"},
    "the number in short": {"Host": f"127.1:{PORT}"},
    "every address": {"Host": f"0.0.0.0:{PORT}"},
    "another loopback address": {"Host": f"127.0.0.2:{PORT}"},
    "a name with a dot behind it": {"Host": f"localhost.:{PORT}"},
    "somebody at our name": {"Host": f"evil@localhost:{PORT}"},
    "two names in one": {"Host": f"localhost:{PORT}, evil.example"},
    "two headers": [("Host", f"localhost:{PORT}"), ("Host", "evil.example")],
    "the same header twice": [("Host", f"localhost:{PORT}"), ("Host", f"localhost:{PORT}")],
    "an empty one": {"Host": ""},
    "a forwarded name beside": {"Host": "evil.example", "X-Forwarded-Host": f"localhost:{PORT}"},
    "a name of ours at a proxy's other port": {"Host": "proxied.example.org:443"},
    "another name of the same domain": {"Host": "other.example.org"},
    "letters that look alike": {"Host": f"loc\xe0lhost:{PORT}"},
}
FROM_WRONG_PAGES: dict[str, tuple[str, str, Headers]] = {
    "another site": ("POST", "/send", {"Origin": "http://evil.example"}),
    "another site, reading": ("GET", "/roster", {"Origin": "http://evil.example"}),
    "another site at our port": ("POST", "/send", {"Origin": f"http://evil.example:{PORT}"}),
    "a page without a site": ("POST", "/send", {"Origin": "null"}),
    "our name at another port": ("POST", "/send", {"Origin": "http://127.0.0.1:3000"}),
    "our name without a port": ("POST", "/send", {"Origin": "http://127.0.0.1"}),
    "another of our names": ("POST", "/send", {"Origin": f"http://localhost:{PORT}"}),
    "TLS, which we do not speak": ("POST", "/send", {"Origin": f"https://127.0.0.1:{PORT}"}),
    "begins like ours": ("POST", "/send", {"Origin": f"{OWN}.evil.example"}),
    "a file": ("POST", "/send", {"Origin": "file://"}),
    "an extension": ("POST", "/send", {"Origin": "chrome-extension://abcdefghijklmnop"}),
    "ours and another": ("POST", "/send", [("Origin", OWN), ("Origin", "http://evil.example")]),
    "a form, in a browser that says only this": ("POST", "/send", {"Sec-Fetch-Site": "cross-site"}),
    "a neighbour's form": ("POST", "/send", {"Sec-Fetch-Site": "same-site"}),
    "a script tag": ("GET", "/static/app.js", {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "no-cors"}),
    "a picture": ("GET", "/trace/x/picture", {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Dest": "image"}),
    "a link to data": ("GET", "/roster", {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate"}),
    "a frame": (
        "GET", "/",
        {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate", "Sec-Fetch-Dest": "iframe"},
    ),
    "a form to the page": (
        "POST", "/",
        {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate", "Sec-Fetch-Dest": "document"},
    ),
    "a live stream": ("GET", "/events", {"Sec-Fetch-Site": "same-site", "Accept": "text/event-stream"}),
    "a question before asking": ("OPTIONS", "/send", {"Origin": "http://evil.example"}),
    "whether we are there": ("GET", "/healthz", {"Sec-Fetch-Site": "cross-site"}),
}  # fmt: skip


@proves("hub/host")
@pytest.mark.parametrize("headers", BY_WRONG_NAMES.values(), ids=BY_WRONG_NAMES)
@pytest.mark.parametrize("path", ["/roster", "/", "/healthz", "/static/app.js"])
def test_whoever_asks_by_another_name_is_turned_away(headers: Headers, path: str) -> None:
    answer = asked(None, path, headers=headers)
    assert (answer.status, answer.code) == (403, "host-not-allowed")


@proves("hub/host")
def test_whoever_asks_by_no_name_is_turned_away() -> None:
    assert asked(None, host=None).code == "host-not-allowed"


@proves("hub/origin")
@pytest.mark.parametrize("method, path, headers", FROM_WRONG_PAGES.values(), ids=FROM_WRONG_PAGES)
def test_what_another_sites_page_asks_for_is_not_done(method: str, path: str, headers: Headers) -> None:
    answer = asked(None, path, method=method, headers=headers)
    assert (answer.status, answer.code) == (403, "origin-not-allowed")
    assert not [name for name in answer.headers if name.startswith("access-control")]


@proves("hub/origin", "hub/host")
@pytest.mark.parametrize(
    "path, headers",
    [
        ("/roster", {"Host": f"localhost:{PORT}"}),
        ("/roster", {"Host": f"LOCALHOST:{PORT}"}),
        ("/roster", {"Host": f"[::1]:{PORT}"}),
        ("/roster", {"Host": "hub.example.org"}),
        ("/roster", {"Host": f"Hub.Example.org:{PORT}"}),
        ("/roster", {"Host": "proxied.example.org:8443"}),
        ("/send", {"Origin": OWN, "Sec-Fetch-Site": "same-origin"}),
        ("/send", {"Host": f"localhost:{PORT}", "Origin": f"http://localhost:{PORT}"}),
        ("/send", {"Host": "hub.example.org", "Origin": "https://hub.example.org"}),
        ("/roster", {"Sec-Fetch-Site": "none"}),
        ("/", {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate", "Sec-Fetch-Dest": "document"}),
    ],
)
def test_the_hub_answers_to_its_own_names_and_to_its_own_page(path: str, headers: Headers) -> None:
    assert asked(None, path, headers=headers).status == 200


@proves("hub/host")
def test_a_hub_on_another_address_answers_to_that_one() -> None:
    known = allowed_hosts(PORT, address="127.0.0.2")
    assert asked(None, known=known, headers={"Host": f"127.0.0.2:{PORT}"}).status == 200
    known = allowed_hosts(PORT, address="0.0.0.0")
    assert asked(None, known=known, headers={"Host": f"0.0.0.0:{PORT}"}).code == "host-not-allowed"


@proves("hub/host", "hub/origin")
def test_a_hub_answers_to_the_very_number_that_it_was_reached_by() -> None:
    own = {"Host": f"192.0.2.7:{PORT}"}
    assert asked(None, headers=own, server=("192.0.2.7", PORT)).status == 200
    assert asked(None, headers=own, server=("192.0.2.8", PORT)).code == "host-not-allowed"
    assert asked(None, headers={"Host": f"[2001:db8::7]:{PORT}"}, server=("2001:db8::7", PORT)).status == 200
    for origin, code in ((f"http://192.0.2.7:{PORT}", None), (OWN, "origin-not-allowed")):
        assert asked(None, headers=own | {"Origin": origin}, server=("192.0.2.7", PORT)).code == code
