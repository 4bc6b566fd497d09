"""Is the list of tokens kept so that nothing is lost, and harm to it lets nobody in?"""

import json
import os
import subprocess
from pathlib import Path
from typing import Any

import msgspec
import pytest

from telex.errors import StoreDamaged, StoreUnavailable
from telex.surfaces.cli.exit_codes import FAILED
from telex.surfaces.cli.main import main
from telex.surfaces.http.tokens import Token, TokenFile, matching, new_token
from tests.auth_kit import made_token
from tests.cli_kit import COMMAND, Ran
from tests.proofs import proves

Capture = pytest.CaptureFixture[str]
NOW = 10_000.0
DAY = 86_400.0


@pytest.fixture(autouse=True)
def _elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("TELEX_STORE", "TELEX_CONFIG"):
        monkeypatch.delenv(name, raising=False)


def run(capsys: Capture, *words: str) -> Ran:
    return Ran(main(["token", *words]), *capsys.readouterr())


def kept() -> TokenFile:
    return TokenFile(".telex/tokens.json")


# --- the file ---------------------------------------------------------------------------------------------------------


@proves("hub/token-file")
def test_two_who_make_tokens_at_once_lose_none(tmp_path: Path) -> None:
    words = [*COMMAND, "token", "create", "--operator"]
    makers = [subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) for _ in range(8)]
    texts = [maker.communicate(timeout=60)[0].decode().strip() for maker in makers]
    assert all(matching(text, kept().tokens(), NOW) for text in texts)
    assert len(kept().tokens()) == 8


DAMAGED = {
    "empty": b"",
    "cut short": b'{"tokens": [{"id": "abc", "ha',
    "not UTF-8": b'{"tokens": ["\xff"]}',
    "something else": b"Dear diary,",
    "a list": b"[]",
    "no tokens in it": b"{}",
    "more than tokens": b'{"tokens": [], "more": 1}',
    "tokens by name": b'{"tokens": {}}',
    "nested beyond reason": b'{"tokens": ' + b"[" * 200_000,
    "null": b"null",
    "half an entry": b'{"tokens": [{"id": "abc"}]}',
}


@proves("hub/damaged")
@pytest.mark.parametrize("raw", DAMAGED.values(), ids=DAMAGED)
def test_a_damaged_file_is_an_error_at_every_door_and_is_left_as_it_is(capsys: Capture, raw: bytes) -> None:
    Path(".telex").mkdir()
    Path(".telex/tokens.json").write_bytes(raw)
    with pytest.raises(StoreDamaged):
        kept().tokens()
    for words in (["list"], ["create", "--operator"], ["revoke", "abc"]):
        ran = run(capsys, *words)
        assert (ran.code, ran.out) == (FAILED, "")
        assert "is not a token file" in ran.err
    assert Path(".telex/tokens.json").read_bytes() == raw


GOOD = msgspec.to_builtins(new_token(agent="dev", role="dev", operator=False, now=NOW)[0])


@proves("hub/damaged")
@pytest.mark.parametrize(
    "field, value",
    [
        ("id", ""), ("id", 7), ("hash", "abc"), ("hash", None), ("hash", "G" * 64), ("agent", 7), ("agent", ""),
        ("agent", None), ("role", None), ("role", []), ("operator", 1), ("operator", None), ("operator", "no"),
        ("made_at", "now"), ("made_at", True), ("expires_at", "never"), ("expires_at", -1), ("expires_at", False),
    ],
)  # fmt: skip
def test_an_entry_with_a_value_that_no_token_has_is_damage_too(field: str, value: Any) -> None:
    msgspec.convert(GOOD, Token)
    with pytest.raises(msgspec.ValidationError):
        msgspec.convert(GOOD | {field: value}, Token)


@proves("hub/damaged")
def test_two_tokens_of_one_id_are_damage() -> None:
    Path("tokens.json").write_text(json.dumps({"tokens": [GOOD, GOOD]}), encoding="utf-8")
    with pytest.raises(StoreDamaged, match="one id"):
        TokenFile("tokens.json").tokens()


@proves("hub/damaged")
def test_a_damaged_file_stays_an_error_however_often_it_is_asked_and_heals_when_it_is_fixed() -> None:
    file = TokenFile("tokens.json")
    made_token(file)
    good = Path("tokens.json").read_bytes()
    Path("tokens.json").write_bytes(good[:-20])
    for _ in range(3):
        with pytest.raises(StoreDamaged):
            file.tokens()
    Path("tokens.json").write_bytes(good)
    assert len(file.tokens()) == 1


def test_a_place_that_cannot_be_used_is_told(capsys: Capture) -> None:
    Path("taken").write_text("a file", encoding="utf-8")
    with pytest.raises(StoreUnavailable):
        TokenFile("taken/tokens.json").tokens()
    Path("tokens.json").mkdir()
    with pytest.raises(StoreUnavailable):
        TokenFile("tokens.json").tokens()


@proves("hub/token-file")
def test_what_a_killed_process_left_half_written_is_not_taken_for_the_file() -> None:
    file = TokenFile("tokens.json")
    key = made_token(file)
    Path("tokens.json-new").write_text('{"tokens": [', encoding="utf-8")
    other = made_token(file)
    assert set(TokenFile("tokens.json").tokens()) == {key.id, other.id}
    assert not Path("tokens.json-new").exists()


@proves("hub/token-file")
def test_a_write_that_fails_leaves_the_tokens_as_they_were(monkeypatch: pytest.MonkeyPatch) -> None:
    file = TokenFile("tokens.json")
    key = made_token(file)

    def full(_: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(StoreUnavailable):
        made_token(file)
    assert set(TokenFile("tokens.json").tokens()) == {key.id}
    assert not Path("tokens.json-new").exists()
