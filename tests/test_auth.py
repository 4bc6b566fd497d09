"""Who comes in, and who does not? Every request that is turned away is turned away before anything is done."""

import asyncio
import json
import re
from pathlib import Path
from typing import Any

import pytest

from telex.model.limits import HUB_LIMITS
from telex.surfaces.http.asgi import Receive, Scope, Send
from telex.surfaces.http.auth import AuthMiddleware
from telex.surfaces.http.auth_errors import EVERY
from telex.surfaces.http.token_file import TokenFile
from tests.auth_kit import (
    HERE,
    KNOWN,
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
PAGE = Path(__file__).parent.parent / "docs/hub-security.md"


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


@proves("hub/public")
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
    codes = {json.loads(answer.body)["code"]: answer.status for answer in EVERY}
    codes |= {"identity-differs": 403, "operator-only": 403, "role-claim-differs": 403}
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
