"""By which names does the hub answer, and to which pages? A table of attacks, and one of friends."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

from telex.surfaces.http.auth import AuthMiddleware, allowed_hosts
from telex.surfaces.http.tokens import TokenFile
from tests.auth_kit import KNOWN, PORT, Answered, Headers, ask, mirror
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
