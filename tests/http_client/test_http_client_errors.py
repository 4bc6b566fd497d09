"""What does somebody see of a hub: in errors, with a token, at the guard, on the command line?"""

import json
import os
import re
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import pytest

import telex
from telex.errors import NotAMember, NotFound, OutcomeUnknown, StoreError, StoreUnavailable, TelexError
from telex.http_client.bus import error_in
from telex.surfaces.cli.main import main
from tests.proofs import proves
from tests.surfaces.surfaces_kit import Hub, hub
from tests.work.contract_team import contract

__all__ = ["hub"]  # a fixture

TELEX = str(Path(sys.executable).parent / "telex")
NOTE = "The build is red."


# --- what is said when it cannot be ----------------------------------------------------------------------------------


@proves("http_client/odd-answers")
@pytest.mark.parametrize(
    "status, body, kind",
    [
        (500, b"<html>oops</html>", StoreError),
        (502, b"", StoreUnavailable),
        (503, b'{"code": "store-full", "detail": "no room"}', telex.errors.StoreFull),
        (404, b"[]", StoreError),
        (401, b'{"code": "token-wrong", "detail": "Show a token."}', NotAMember),
        (400, b'{"code": "arguments-wrong", "detail": "Give limit."}', telex.errors.InvalidValue),
        (409, b'{"code": "lease-lost", "detail": "drop the work"}', telex.errors.LeaseLost),
        (424, b'{"code": "request-failed", "detail": "x", "id": "q-1"}', telex.errors.RequestFailed),
        (503, b'{"code": "outcome-unknown", "detail": "x", "id": "q-1"}', OutcomeUnknown),
    ],
)
def test_an_answer_of_any_kind_is_one_of_our_errors(status: int, body: bytes, kind: type[TelexError]) -> None:
    error = error_in(status, body)
    assert type(error) is kind
    assert error.say
    if b"q-1" in body:
        assert getattr(error, "id", None) == "q-1"


@pytest.mark.parametrize("where", ["http://", "http://:4477", "http://u:p@127.0.0.1", "http://127.0.0.1/?token=x"])
def test_an_address_that_is_none_is_refused(where: str) -> None:
    with pytest.raises(StoreUnavailable) as wrong, telex.connect(where) as bus:
        bus.roster()
    assert "http://HOST:PORT" in wrong.value.say


def test_a_token_with_a_line_break_is_refused_and_not_repeated() -> None:
    with pytest.raises(StoreUnavailable) as wrong, telex.connect("http://127.0.0.1:1", token="sec\nret"):
        pass
    assert "sec" not in wrong.value.say


@proves("http_client/token")
def test_the_token_is_shown_and_a_wrong_one_is_told_in_a_sentence(hub: Hub, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TELEX_TOKEN", "telex_nobody_gave_this")
    with telex.connect(hub.url) as bus, pytest.raises(NotAMember) as turned_away:
        bus.roster()
    assert "telex_nobody" not in turned_away.value.say


@proves("http_client/token-bound")
def test_with_a_token_one_acts_under_its_name_and_no_other(hub: Hub) -> None:
    with telex.connect(hub.url, token=hub.token("ada", "dev")) as bus:
        assert bus.send(NOTE, sender="ada", to="lead", id="n-1").accepted
        for act in (
            lambda: bus.send(NOTE, sender="lead", to="dev"),
            lambda: bus.receive("lead"),
            lambda: bus.retry("n-1"),
        ):
            with pytest.raises(NotAMember) as refused:
                act()
            assert refused.value.code in ("identity-differs", "operator-only")
        assert [one.message.sender for one in bus.why("n-1")] == ["ada"]
    with telex.connect(hub.url, token=hub.token()) as bus, pytest.raises(NotFound):
        bus.retry("n-1")


@proves("http_client/token-bound-exit")
def test_every_command_under_another_name_than_the_tokens_exits_with_2(
    hub: Hub, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("TELEX_STORE", hub.url)
    monkeypatch.setenv("TELEX_TOKEN", hub.token("ada", "dev"))
    (tmp_path / "note.txt").write_text(NOTE)
    sends = ["send", "--to", "dev", str(tmp_path / "note.txt")]
    assert [main([*words, "--as", "lead"]) for words in (["inbox"], ["receive"], sends)] == [2, 2, 2]


@proves("http_client/bad-address")
@pytest.mark.parametrize("port", ["99999", "0", "x"])
def test_a_port_that_there_cannot_be_is_said_at_once(port: str) -> None:
    with (
        pytest.raises(StoreUnavailable, match="http://HOST:PORT"),
        telex.connect(f"http://127.0.0.1:{port}") as bus,
    ):
        bus.roster()


@proves("http_client/extra")
def test_without_the_extra_it_is_said_which_one_is_needed(tmp_path: Path) -> None:
    (tmp_path / "httpx2.py").write_text("raise ImportError('not here')\n", encoding="utf-8")
    environment = os.environ | {"PYTHONPATH": str(tmp_path), "TELEX_STORE": "http://127.0.0.1:1"}
    words = [TELEX, "inbox", "--as", "lead"]
    done = subprocess.run(words, capture_output=True, text=True, env=environment, cwd=tmp_path, check=False)
    assert done.returncode == 1
    assert "pip install 'telex[client]'" in done.stderr
    assert "Traceback" not in done.stderr


@proves("http_client/odd-ids")
@pytest.mark.parametrize("id_", ["a/b", "..", ".", "%2e", "a?b#c", "ä ö", "a+b&c=d", "//", "{id}"])
def test_a_message_of_any_id_is_found_by_it(hub: Hub, id_: str) -> None:
    with telex.connect(hub.url) as bus:
        assert bus.send(NOTE, sender="dev", to="lead", id=id_, correlation=id_).id == id_
        assert [story.message.id for story in bus.why(id_)] == [id_]
        assert [story.message.id for story in bus.trace(id_)] == [id_]


def test_what_is_too_large_is_refused_and_not_tried_again(hub: Hub) -> None:
    with telex.connect(hub.url) as bus:
        receipt = bus.send(b"x" * 5_000_000, sender="dev", to="lead", id="n-1", check=False)
    assert (receipt.accepted, receipt.id, [finding.code for finding in receipt.findings]) == (
        False,
        "n-1",
        ["too-large"],
    )


# --- the guard ------------------------------------------------------------------------------------------------------


@proves("http_client/guard-links")
@pytest.mark.parametrize("place", ["hub", "at hand"])
def test_links_are_followed_on_the_disk_of_whoever_asks(hub: Hub, tmp_path: Path, place: str) -> None:
    leads = {
        "src/in": "src/a.py",
        "src/out": None,
        "src/odd": "docs/a.md",
        "src/git": ".git/config",
        "docs/in": "src/b",
    }
    with telex.connect(hub.url if place == "hub" else tmp_path / "hub.db") as bus:
        assert bus.send(json.dumps(contract()), sender="lead", to="dev").accepted
        found = bus.guard([*leads, "src/a.py"], agent="dev", resolve=lambda path: leads.get(path, path))
    assert [(one.path, one.code) for one in found] == [
        ("src/in", None),
        ("src/out", "path-not-in-project"),
        ("src/odd", "path-outside-contract"),
        ("src/git", "path-forbidden"),
        ("docs/in", "path-outside-contract"),
        ("src/a.py", None),
    ]
    assert "docs/a.md" in found[2].reason


# --- in the docs ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("number", [0, 1])
def test_what_the_page_shows_is_what_happens(hub: Hub, number: int) -> None:
    page = (Path(__file__).parents[2] / "docs/hub.md").read_text(encoding="utf-8")
    block = re.findall(r"^```py\n(.*?)^```$", page, flags=re.DOTALL | re.MULTILINE)[number]
    assert "http://127.0.0.1:4477" in block
    exec(compile(block.replace("http://127.0.0.1:4477", hub.url), "hub.md", "exec"), {"__name__": "docs"})


# --- on the command line ---------------------------------------------------------------------------------------------


@pytest.fixture
def command(hub: Hub, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Callable[..., Any]:
    monkeypatch.setenv("TELEX_STORE", hub.url)

    def run(*words: str) -> tuple[int, str, str]:
        return (main(list(words)), *capsys.readouterr())

    return run


@proves("http_client/cli")
def test_the_commands_work_with_a_hub_in_the_place_of_a_store(command: Callable[..., Any], tmp_path: Path) -> None:
    (tmp_path / "note.txt").write_text(NOTE, encoding="utf-8")
    code, out, err = command("send", "--as", "dev", "--to", "lead", "--id", "n-1", "note.txt")
    assert (code, "n-1" in out) == (0, True), err
    code, out, err = command("send", "--as", "dev", "--to", "laed", "note.txt")
    assert (code, "recipient-unknown" in err) == (2, True)
    assert "n-1" in command("inbox", "--as", "lead")[1]
    leased = json.loads(command("receive", "--as", "lead", "--json")[1])
    assert command("ack", "--as", "lead", leased["token"])[0] == 0
    looks = ("why n-1", "events", "search build", "team", "dead", "stall", "log", "guard --as dev a.py", "approvals")
    for words in (*looks, "escalations", "contract list", "trace n-1", "team join ada --role dev", "team leave ada"):
        code, out, err = command(*words.split())
        assert code == 0, (words, err)
    assert command("why", "no-such")[0] == 3


@pytest.fixture
def stranger() -> Iterator[tuple[str, list[str | None]]]:
    """A server that is no hub: its address, and what it was sent as a token."""
    shown: list[str | None] = []

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            shown.append(self.headers["authorization"])
            self.send_error(404)

        def log_message(self, *_: object) -> None: ...

    with HTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}", shown
        server.shutdown()
        thread.join()


@proves("http_client/token-named-hub")
@pytest.mark.parametrize("words", ["team", "inbox --as dev", "guard --as dev a.py", "why n-1"])
def test_a_hub_that_only_the_project_names_gets_neither_token_nor_question(
    stranger: tuple[str, list[str | None]],
    words: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    url, shown = stranger
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("TELEX_TOKEN", "telex_abc_def")
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    (tmp_path / "telex.toml").write_text(f'[store]\npath = "{url}"\n', encoding="utf-8")
    assert main(words.split()) == 1
    assert (f"TELEX_STORE={url}" in capsys.readouterr().err, shown) == (True, [])
    (tmp_path / "telex").mkdir()
    (tmp_path / "telex/hubs").write_text(f"{url}/\n")  # now the user trusts it
    main(words.split())
    (tmp_path / "telex/hubs").unlink()
    monkeypatch.setenv("TELEX_STORE", url)  # or names it
    main(words.split())
    assert shown == (["Bearer telex_abc_def"] * 2 if "guard" not in words else [])  # which it asks with a POST


@proves("http_client/token-named-hub")
def test_a_hub_elsewhere_that_only_the_project_names_gets_no_message(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "telex.toml").write_text('[store]\npath = "https://hub.example"\n', encoding="utf-8")
    with pytest.raises(StoreUnavailable, match=r"TELEX_STORE=https://hub\.example"), telex.connect() as bus:
        bus.roster()


@proves("http_client/token-plain-http")
def test_a_token_is_not_sent_over_plain_http_to_another_machine() -> None:
    with pytest.raises(StoreUnavailable, match="https://"), telex.connect("http://hub.example", token="telex_a_b"):
        pass


@proves("http_client/token")
def test_a_token_read_from_a_file_may_end_in_a_line_break(hub: Hub) -> None:
    with telex.connect(hub.url, token=hub.token("ada", "dev") + "\n") as bus:
        assert bus.send(NOTE, sender="ada", to="lead").accepted


@proves("http_client/token-needs-no-name")
def test_a_token_that_is_bound_to_a_name_needs_no_other(
    hub: Hub, command: Callable[..., Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "note.txt").write_text(NOTE, encoding="utf-8")
    assert command("inbox")[0] == 64  # on this machine without a token one names oneself
    monkeypatch.setenv("TELEX_TOKEN", hub.token("ada", "dev"))
    assert command("send", "--to", "ada", "--id", "n-1", "note.txt")[0] == 0
    assert "n-1" in command("inbox")[1]
    assert json.loads(command("receive", "--json")[1])["from"] == "ada"
    assert command("ack", "n-1")[0] == 0
    assert command("guard", "a.py")[0] == 0
    monkeypatch.setenv("TELEX_TOKEN", hub.token())
    assert command("send", "--to", "ada", "--id", "n-2", "note.txt")[0] == 0
    assert json.loads(command("show", "n-2", "--json")[1])["from"] == "human"


def test_the_settings_of_a_team_may_name_a_hub(hub: Hub, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "telex.toml").write_text(f'[store]\npath = "{hub.url}"\n', encoding="utf-8")
    (tmp_path / "note.txt").write_text(NOTE, encoding="utf-8")
    assert main(["send", "--as", "dev", "--to", "lead", "note.txt"]) == 0
    with telex.connect(tmp_path / "hub.db") as bus:
        assert [message.raw for _, message in bus.inbox("lead")] == [NOTE.encode()]
    assert not (tmp_path / ".telex").exists()


@proves("http_client/cli-store-only")
def test_what_needs_the_store_itself_says_so(command: Callable[..., Any]) -> None:
    code, _, err = command("doctor")
    assert (code, "the store file" in err) == (1, True), err
