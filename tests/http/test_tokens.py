"""Access tokens: what is printed and stored, the token file, and damage to it."""

import hashlib
import json
import os
import stat
import subprocess
import time
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from telex.errors import StoreDamaged, StoreUnavailable
from telex.surfaces.cli.main import main
from telex.surfaces.cli.usage import DONE, FAILED, NOT_FOUND, REFUSED, USAGE
from telex.surfaces.http.tokens import Token, TokenFile, masked, matching, new_token, tokens_path
from tests.cli.cli_kit import COMMAND, Ran
from tests.http.auth_kit import made_token
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


# --- what is shown and what is kept -----------------------------------------------------------------------------------


@proves("hub/secret", "hub/token")
def test_a_token_is_printed_once_and_only_its_hash_is_kept(capsys: Capture, tmp_path: Path) -> None:
    ran = run(capsys, "create", "--agent", "dev")
    text = ran.out.strip()
    prefix, name, secret = text.split("_")
    assert (ran.code, prefix, len(bytes.fromhex(secret))) == (DONE, "telex", 32)
    assert secret not in ran.err
    later = [run(capsys, "list"), run(capsys, "list", "--json"), run(capsys, "revoke", "nobody")]
    assert secret not in "".join(one.out + one.err for one in later)
    holding = [file for file in tmp_path.rglob("*") if file.is_file() and secret in file.read_text(encoding="utf-8")]
    assert holding == []
    [token] = kept().tokens().values()
    assert (token.id, token.hash) == (name, hashlib.sha256(secret.encode()).hexdigest())
    assert matching(text, kept().tokens(), NOW) == token


@proves("hub/secret")
def test_no_two_tokens_are_alike() -> None:
    texts = [new_token(agent="dev", role="dev", operator=False, now=NOW)[1] for _ in range(100)]
    assert len({part for text in texts for part in text.split("_")[1:]}) == 200


@proves("hub/token-file")
def test_only_its_owner_may_read_the_file(capsys: Capture) -> None:
    before = os.umask(0)
    try:
        run(capsys, "create", "--operator")
        run(capsys, "create", "--operator")
    finally:
        os.umask(before)
    modes = {file.name: stat.S_IMODE(file.stat().st_mode) for file in Path(".telex").iterdir()}
    assert modes == dict.fromkeys((".gitignore", "tokens.json", "tokens.json-lock"), 0o600)


@proves("hub/token-file")
def test_tokens_lie_beside_their_store_and_belong_to_no_other(capsys: Capture) -> None:
    assert tokens_path("/team/.telex/telex.db") == "/team/.telex/tokens.json"
    run(capsys, "create", "--operator", "--store", "one.db")
    assert run(capsys, "list", "--store", "two.db").out == ""
    assert len(run(capsys, "list", "--store", "one.db", "--json").answers) == 1


@proves("hub/token-wrong")
def test_a_wrong_token_takes_the_same_way_as_an_unknown_one(monkeypatch: pytest.MonkeyPatch) -> None:
    token, text = new_token(agent="dev", role="dev", operator=False, now=NOW)
    compared: list[tuple[str, str]] = []

    def compare(one: str, other: str) -> bool:
        compared.append((one, other))
        return one == other

    monkeypatch.setattr("hmac.compare_digest", compare)
    for shown in (text, text[:-1], "telex_aaaaaaaa_" + "0" * 64):
        matching(shown, {token.id: token}, NOW)
    assert len(compared) == 3
    assert {len(value) for pair in compared for value in pair} == {64}


@proves("hub/token-wrong")
@given(st.text(max_size=80))
def test_no_text_but_its_own_is_a_token(text: str) -> None:
    token, own = new_token(agent="dev", role="dev", operator=False, now=NOW)
    known = {token.id: token}
    for shown in (text, f"telex_{text}", f"telex_{token.id}_{text}", own + text, text + own):
        assert (matching(shown, known, NOW) is not None) == (shown == own)


@proves("hub/secret")
@pytest.mark.parametrize("around", ["{}", "/messages/{}", "/{}/x", "a {} b", "?token={}&x=1"])
def test_a_token_in_the_wrong_place_is_masked(around: str) -> None:
    text = new_token(agent="dev", role="dev", operator=False, now=NOW)[1]
    for spelling in (text, text.upper(), text.replace("telex_", "Telex_")):
        assert masked(around.format(spelling)) == around.format("telex_…")
    escaped = masked(around.format(text.replace("telex", "%74elex")))
    assert text.rpartition("_")[2] not in escaped


# --- making them ------------------------------------------------------------------------------------------------------


@proves("hub/token")
def test_a_token_is_bound_to_the_name_and_role_as_they_are_compared(capsys: Capture) -> None:
    assert run(capsys, "create", "--agent", "@agent-Ada", "--role", "QA", "--json").answer["agent"] == "ada"
    assert run(capsys, "create", "--agent", "Dev").code == DONE
    assert run(capsys, "create", "--operator", "--agent", "grace", "--role", "lead").code == DONE
    assert run(capsys, "create", "--agent", "zoe", "--role", "agent").code == DONE
    told = [(answer["agent"], answer["role"], answer["operator"]) for answer in run(capsys, "list", "--json").answers]
    assert told == [("ada", "qa", False), ("dev", "dev", False), ("grace", "lead", True), ("zoe", "agent", False)]


@pytest.mark.parametrize(
    "words, code, says",
    [
        ([], USAGE, "--agent NAME"),
        (["--role", "dev"], USAGE, "--agent NAME"),
        (["--operator", "--role", "dev"], USAGE, "--role goes with --agent"),
        (["--agent", "ada"], USAGE, "give the role of ada"),
        (["--agent", "ada", "--role", "qaa"], REFUSED, "did you mean qa?"),
        (["--agent", "telex", "--role", "dev"], REFUSED, "name-not-allowed"),
        (["--agent", "role:dev", "--role", "dev"], REFUSED, "name-not-allowed"),
        (["--agent", "a\x1b[31m", "--role", "dev"], REFUSED, "name-not-allowed"),
        (["--agent", "human"], REFUSED, "--operator"),
        (["--agent", "bot7", "--role", "human"], REFUSED, "--operator"),
        (["--agent", ""], USAGE, "--agent needs a value"),
        (["--agent", "dev", "--expires", "soon"], USAGE, "--expires"),
        (["--agent", "dev", "--expires", "0d"], USAGE, "in the past"),
        (["--agent", "dev", "--expires", "2001-01-01"], USAGE, "in the past"),
        (["--agent", "dev", "--store", "memory:"], USAGE, "memory"),
    ],
)
def test_what_cannot_be_made_is_told_in_a_sentence(capsys: Capture, words: list[str], code: int, says: str) -> None:
    ran = run(capsys, "create", *words)
    assert (ran.code, ran.out) == (code, "")
    assert says in " ".join(ran.err.split())
    assert "\x1b" not in ran.err
    assert not Path(".telex").exists()


def test_in_a_closed_team_tokens_are_for_those_who_are_declared(capsys: Capture) -> None:
    Path("telex.toml").write_text('[team.members.ada]\nrole = "qa"\n', encoding="utf-8")
    assert run(capsys, "create", "--agent", "ada", "--json").answer["role"] == "qa"
    assert run(capsys, "create", "--agent", "ada", "--role", "lead").code == REFUSED
    assert "did you mean ada?" in run(capsys, "create", "--agent", "adda").err
    assert run(capsys, "create", "--operator").code == DONE


@proves("hub/token-wrong")
def test_a_token_is_over_when_its_time_has_come(capsys: Capture) -> None:
    text = run(capsys, "create", "--agent", "dev", "--expires", "30d").out.strip()
    now = time.time()
    assert matching(text, kept().tokens(), now + 29.9 * DAY) is not None
    assert matching(text, kept().tokens(), now + 30.1 * DAY) is None
    file = TokenFile(".telex/tokens.json")
    over = made_token(file, expires_at=1.0)
    told = {answer["id"]: answer["valid"] for answer in run(capsys, "list", "--json").answers}
    assert told == {over.id: False, text.split("_")[1]: True}
    assert "over" in run(capsys, "list").out


def test_a_token_is_revoked_by_its_id_alone(capsys: Capture) -> None:
    text = run(capsys, "create", "--agent", "dev").out.strip()
    mistaken = run(capsys, "revoke", text)
    assert mistaken.code == USAGE
    assert text not in mistaken.err
    assert run(capsys, "revoke", text.split("_")[1]).code == DONE
    assert run(capsys, "revoke", text.split("_")[1]).code == NOT_FOUND
    assert matching(text, kept().tokens(), NOW) is None
    assert "no tokens" in run(capsys, "list").err


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
