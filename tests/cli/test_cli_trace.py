"""`telex trace`: does the command find the conversation, draw it as asked, and put it where it was told to?"""

import json
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import pytest

from telex.errors import NotFound
from telex.ports.bus import MessageHistory
from telex.surfaces.cli import why
from telex.surfaces.cli.connection import explained
from telex.surfaces.cli.usage import DONE, FAILED, NOT_FOUND, USAGE, CommandError
from telex.trace.diagrams import render_mermaid, render_sequence, render_tree
from telex.trace.svg import render_svg
from telex.validation.check import CheckPolicy
from tests.proofs import proves
from tests.trace.trace_conversations import request_and_reply


class OneConversation:
    """A bus that knows release-7 and nothing else."""

    policy = CheckPolicy()

    def trace(self, correlation: str) -> list[MessageHistory]:
        if correlation != "release-7":
            raise NotFound(f"no conversation is called {correlation}")
        return request_and_reply()


@pytest.fixture(autouse=True)
def _bus(monkeypatch: pytest.MonkeyPatch) -> None:
    @contextmanager
    def opened(store: str | None) -> Iterator[OneConversation]:
        with explained():
            yield OneConversation()

    monkeypatch.setattr(why, "opened_to_look", opened)


def run(*args: str) -> object:
    return why.trace_command.main(list(args), standalone_mode=False)


@pytest.mark.parametrize("render", [render_tree, render_sequence, render_mermaid, render_svg])
def test_a_conversation_is_drawn_as_asked(
    render: Callable[[Sequence[MessageHistory]], str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert run("release-7", "--format", render.__name__.removeprefix("render_")) == DONE
    assert capsys.readouterr().out == render(request_and_reply())


def test_without_a_wish_it_is_a_tree(capsys: pytest.CaptureFixture[str]) -> None:
    run("release-7")
    assert capsys.readouterr().out == render_tree(request_and_reply())


def test_a_picture_goes_to_the_file_and_nothing_to_stdout(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "trace.svg"
    assert run("release-7", "--format", "svg", "-o", str(file)) == DONE
    assert file.read_text(encoding="utf-8") == render_svg(request_and_reply())
    assert capsys.readouterr().out == ""


@proves("page_conversations/file")
def test_a_conversation_is_written_as_a_page(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "release-7.html"
    assert run("release-7", "--format", "html", "-o", str(file)) == DONE
    text = file.read_text(encoding="utf-8")
    assert text.startswith("<!doctype html>")
    assert "task_request" in text
    assert "<svg" in text
    assert "written to" in capsys.readouterr().err


def test_a_file_that_cannot_be_written_is_said(tmp_path: Path) -> None:
    with pytest.raises(CommandError) as error:
        run("release-7", "-o", str(tmp_path / "missing" / "trace.svg"))
    assert error.value.code == FAILED


def test_for_programs_there_is_a_line_for_each_message(capsys: pytest.CaptureFixture[str]) -> None:
    run("release-7", "--json")
    lines = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [line["id"] for line in lines] == ["q1", "a1"]


def test_a_picture_cannot_be_asked_for_as_json() -> None:
    with pytest.raises(CommandError) as error:
        run("release-7", "--json", "--format", "svg")
    assert error.value.code == USAGE


def test_a_conversation_that_never_was_is_not_found() -> None:
    with pytest.raises(CommandError) as error:
        run("release-8\x1b[2J")
    assert error.value.code == NOT_FOUND
    assert error.value.say.isprintable()
