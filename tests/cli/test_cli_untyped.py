"""`untyped = "refuse"`: a team that accepts plain text from people only."""

from pathlib import Path

import pytest

from tests.cli.cli_bus_kit import BLOCKER, Telex, sent, telex
from tests.cli.cli_kit import put
from tests.proofs import proves

__all__ = ["telex"]
TEXT = "Task 2 is done."
FRAME = {"type": "idle_notification", "from": "dev", "timestamp": "2026-03-02T10:00:00Z"}


@pytest.fixture(autouse=True)
def refusing(telex: Telex, tmp_path: Path) -> None:
    (tmp_path / "telex.toml").write_text('[team]\nuntyped = "refuse"\n')


def codes(telex: Telex, *words: str, code: int) -> list[tuple[str, str, str]]:
    ran = telex(*words, "--json")
    assert ran.code == code, ran
    return [(finding["code"], finding["path"], finding["severity"]) for finding in ran.answer["findings"]]


@proves("bus/untyped")
@pytest.mark.parametrize("text", [TEXT, "# Report\n\nAll is well.", '["a", "list"]', "```\nall is well\n```"])
def test_text_of_an_agent_is_refused_by_send_and_by_check(telex: Telex, tmp_path: Path, text: str) -> None:
    file = put(tmp_path, "note.md", text)
    wanted = [("untyped-refused", "$", "refusal")]
    assert codes(telex, "send", "--as", "dev", "--to", "lead", file, code=2)[-1:] == wanted
    assert codes(telex, "check", file, code=2)[-1:] == wanted
    assert telex("inbox", "--as", "lead", "--json").answers == []


@proves("bus/untyped")
def test_typed_messages_and_frames_of_coding_tools_are_accepted(telex: Telex) -> None:
    assert sent(telex, BLOCKER)
    assert sent(telex, FRAME)


@proves("bus/untyped-people")
def test_a_person_writes_text_and_answers_with_it(telex: Telex, tmp_path: Path) -> None:
    note = put(tmp_path, "note.md", TEXT)
    assert telex("send", "--as", "human", "--to", "lead", note).code == 0
    assert telex("send", "--as", "ada", "--role", "human", "--to", "lead", note).code == 0
    id_ = sent(telex, BLOCKER)
    assert telex("answer", id_, "Use the other table.").code == 0
    assert telex("answer", id_, "Use the other table.", "--as", "lead").code == 2


@proves("bus/untyped")
def test_a_lenient_team_delivers_text_with_the_finding(telex: Telex, tmp_path: Path) -> None:
    (tmp_path / "telex.toml").write_text('[team]\nuntyped = "refuse"\nstrict = false\n')
    file = put(tmp_path, "note.md", TEXT)
    assert codes(telex, "send", "--as", "dev", "--to", "lead", file, code=0) == [("untyped-refused", "$", "refusal")]
    assert len(telex("inbox", "--as", "lead", "--json").answers) == 1


@proves("bus/untyped")
def test_a_replay_says_what_the_setting_would_refuse(telex: Telex, tmp_path: Path) -> None:
    settings = tmp_path / "telex.toml"
    strict = settings.rename(tmp_path / "strict.toml")
    sent(telex, TEXT)
    *rows, total = telex("replay", "--team", str(strict), "--json").answers
    assert [(row["code"], row["times"]) for row in rows] == [("untyped-refused", 1)]
    assert total["newly"] == 1
