"""Which paths pass? Hostile ones, each with the right answer, through the guard of a team under a contract."""

import re
import string
import unicodedata

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from telex.validation.contracts import InvalidPath, normal, owner, real
from telex.validation.patterns import folded
from tests.bus.bus_team import OpenTeam, Team, open_team
from tests.proofs import proves
from tests.work.contract_team import contract, kept, report, send, told

__all__ = ["open_team"]

ODD, FORBIDDEN, OUTSIDE, ALLOWED = "path-not-in-project", "path-forbidden", "path-outside-contract", None
ALLOWS, FORBIDS = ["src/", "docs/*.md", "Makefile", "caf\u00e9/"], [".env", "src/secrets/", "*.pem", "src/stra\u00dfe"]

HOSTILE: dict[str, str | None] = {
    # plain ones, so that the table is not passed by refusing all
    "src/auth/reset.py": ALLOWED,
    "./src//auth/./reset.py": ALLOWED,
    "src/auth/../auth/reset.py": ALLOWED,
    "docs/intro.md": ALLOWED,
    "Makefile": ALLOWED,
    "src/a b.py": ALLOWED,
    "src/%2e%2e/x.py": ALLOWED,  # a name like any other: nobody decodes it
    "src/\u0430uth.py": ALLOWED,  # a Cyrillic letter makes it another file of the same folder
    # out of the tree
    "..": ODD,
    "../etc/passwd": ODD,
    "src/../../etc/passwd": ODD,
    "src/auth/../../../x": ODD,
    "/etc/passwd": ODD,
    "//server/share": ODD,
    "~/.ssh/id_rsa": ODD,
    "~root/.ssh": ODD,
    "C:\\Windows\\system32": ODD,
    "C:/Windows/system32": ODD,
    "C:src/auth.py": ODD,
    "\\\\server\\share\\x": ODD,
    "\\\\?\\C:\\x": ODD,
    "src\\auth\\reset.py": ODD,
    "src\\..\\..\\x": ODD,
    "file:///etc/passwd": ODD,
    "": ODD,
    "   ": ODD,
    ".": ODD,
    "./": ODD,
    "src/..": ODD,
    # unseen
    "src/auth.py\0.md": ODD,
    "src/a\nsrc/b": ODD,
    "src/a\r.py": ODD,
    "src/a\t.py": ODD,
    "src/\x1b[31m.py": ODD,
    "src/\u202egpj.py": ODD,  # reads from right to left
    "src/\u200b.py": ODD,
    ".e\u200cnv": ODD,
    "src/\ufeff.py": ODD,
    "src/\u00ad.py": ODD,
    "src/\u3164": ODD,
    "src/\ufe0f.py": ODD,
    "src/\ud800.py": ODD,  # half a character
    # read as syntax by some systems
    "src/\uff0e\uff0e/x": ODD,
    "src\uff0fauth.py": ODD,
    "src/\u2025/x": ODD,
    "src/\u2026": ODD,
    "src\uff3cx": ODD,
    "src/\ufe52env": ODD,
    "src/x.py::$DATA": ODD,
    "src/x.py:stream": ODD,
    ".env.": ODD,
    ".env ": ODD,
    "src./x.py": ODD,
    "src/secrets /k": ODD,
    "src/.../x": ODD,
    "GIT~1/config": ODD,
    "src/SECRET~1/k": ODD,
    "ENV~1": ODD,
    # devices of Windows, in every folder and with any ending
    "con": ODD,
    "src/NUL.txt": ODD,
    "src/CON .txt": ODD,
    "src/aux.py": ODD,
    "src/Aux/x.py": ODD,
    "COM1": ODD,
    "src/lpt9.tar.gz": ODD,
    "src/com\u00b9": ODD,
    "src/CONOUT$": ODD,
    "src/console.py": ALLOWED,
    "src/com10.py": ALLOWED,
    "src/my-aux.py": ALLOWED,
    # the bus's own
    ".telex/telex.db": FORBIDDEN,
    ".Telex/tokens.json": FORBIDDEN,
    "src/.telex/telex.db": FORBIDDEN,
    "telex.toml": FORBIDDEN,
    "src/TELEX.toml": FORBIDDEN,
    "src/telex.toml.md": ALLOWED,
    "src/telex/x.py": ALLOWED,
    # git's own
    ".git/hooks/pre-commit": FORBIDDEN,
    ".GIT/config": FORBIDDEN,
    "src/.git/config": FORBIDDEN,
    "src/vendor/.Git": FORBIDDEN,
    "\uff0egit/config": ODD,
    ".g\u0131t/config": OUTSIDE,  # a dotless i is another letter on every disk
    ".gitignore": OUTSIDE,
    # forbidden, however it is written
    ".env": FORBIDDEN,
    ".ENV": FORBIDDEN,
    "src/.Env": FORBIDDEN,
    "src/./.env": FORBIDDEN,
    "src/secrets/key": FORBIDDEN,
    "src/SECRETS/key": FORBIDDEN,
    "SRC/Secrets/key": FORBIDDEN,
    "src/secrets": FORBIDDEN,  # a file in the place of the folder
    "src/\uff53ecrets/key": FORBIDDEN,  # a full-width letter
    "src/key.PEM": FORBIDDEN,
    "src/STRASSE/x": FORBIDDEN,
    "src/x/../secrets/key": FORBIDDEN,
    ".env/x": FORBIDDEN,
    # not agreed on
    "SRC/auth.py": OUTSIDE,
    "srcx/auth.py": OUTSIDE,
    "src": OUTSIDE,  # the folder's own name, as a file
    "vendor/src/x.py": OUTSIDE,
    "docs/deep/intro.md": OUTSIDE,
    "docs/intro.MD": OUTSIDE,
    "makefile": OUTSIDE,
    "sub/Makefile": OUTSIDE,
    "cafe/x": OUTSIDE,
    "cafe\u0301/x": ALLOWED,  # the same word, its accent written apart
    "caf\u00e9/x": ALLOWED,
    "-rf": OUTSIDE,
    "src*": OUTSIDE,
    "$HOME/x": OUTSIDE,
}


def guarded(open_team: OpenTeam) -> Team:
    team = open_team()
    kept(team, contract(allowed_paths=ALLOWS, forbidden_paths=FORBIDS))
    return team


@proves("contracts/paths/hostile", "guard/same-as-report")
def test_every_hostile_path_gets_its_right_answer_from_the_guard_and_in_a_report(open_team: OpenTeam) -> None:
    assert len(HOSTILE) >= 40
    team = guarded(open_team)
    assert {one.path: one.code for one in team.bus.guard(list(HOSTILE), agent="dev")} == HOSTILE
    sendable = [path for path in HOSTILE if path and not {"\ud800", "\0"} & set(path)]  # no message has those
    receipt = send(team, report(files=sendable))
    wanted = [
        (code, f"$.payload.files_modified[{index}]")
        for index, path in enumerate(sendable)
        if (code := HOSTILE[path]) is not None
    ]
    assert told(receipt.findings) == wanted


@pytest.mark.parametrize("path", ["x" * 5000, "a/" * 2000 + "b", "../" * 1000, "src/" + "é" * 4000])
def test_a_path_of_any_length_is_answered(path: str, open_team: OpenTeam) -> None:
    [verdict] = guarded(open_team).bus.guard([path], agent="dev")
    assert not verdict.allowed or path.startswith("src/")


PARTS = st.sampled_from(["src", "a", "..", ".", "", "b.py", ".env", ".git", "É", "e\u0301", " x"])
ANY_PATH = st.lists(PARTS, min_size=1, max_size=8).map("/".join) | st.text(max_size=20)


@given(ANY_PATH)
def test_a_normal_path_stays_as_it_is_and_never_leads_upwards(path: str) -> None:
    found = normal(path)
    if isinstance(found, InvalidPath):
        assert found.why
        return
    assert normal(found) == found
    parts = found.rstrip("/").split("/")
    assert ".." not in parts
    assert "." not in parts
    assert "" not in parts
    assert found == unicodedata.normalize("NFC", found)
    assert "\\" not in found
    assert found.isprintable()


@given(st.lists(st.text(string.ascii_lowercase + string.digits + "_-", min_size=1), min_size=1, max_size=6))
def test_an_ordinary_path_is_taken_as_it_is(parts: list[str]) -> None:
    assume(not any(re.fullmatch("con|prn|aux|nul|(com|lpt)[0-9]", part) for part in parts))
    assert normal("/".join(parts)) == "/".join(parts)


@given(st.text(max_size=10))
def test_what_is_folded_stays_folded(text: str) -> None:
    assert folded(folded(text)) == folded(text)


@pytest.mark.parametrize("led, wanted", [(None, InvalidPath), ("src/a", str), ("../x", InvalidPath), ("", InvalidPath)])
def test_a_path_is_where_it_leads(led: str | None, wanted: type) -> None:
    assert isinstance(real("src/link", lambda path: led), wanted)


def test_a_name_that_only_looks_like_gits_own_is_nobody_else_s() -> None:
    assert [path for path in ("x.git/a", ".gitx", "git", ".github/a", ".gitignore", ".telexx") if owner(path)] == []
