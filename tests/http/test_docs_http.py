"""Does the hub answer what the page on HTTP shows?"""

import json
import re
from pathlib import Path
from typing import Any

import pytest

from telex.protocol.verbs import VERBS
from telex.surfaces.http.openapi import parts
from tests.http.http_kit import opened, play, typed
from tests.proofs import proves

TEXT = (Path(__file__).parents[2] / "docs/http.md").read_text(encoding="utf-8")
SHOWN = re.findall(r"^\$ (curl .*)\n(\d+) (.*)$", TEXT, re.MULTILINE)
LEFT_OUT = "…"


def fits(found: Any, shown: Any) -> bool:
    """Is it what is shown, where `…` stands for anything, and as a name for any others?"""
    if shown == LEFT_OUT:
        return True
    if isinstance(shown, dict) and isinstance(found, dict):
        named = set(shown) - {LEFT_OUT}
        rest = set(found) - named
        return named <= set(found) and (LEFT_OUT in shown or not rest) and all(fits(found[k], shown[k]) for k in named)
    if isinstance(shown, list) and isinstance(found, list):
        return len(found) == len(shown) and all(map(fits, found, shown))
    return type(found) is type(shown) and bool(found == shown)


@proves("http/docs")
def test_the_hub_answers_what_the_page_shows(tmp_path: Path) -> None:
    async def scene() -> None:
        async with opened(str(tmp_path / "telex.db")) as door:
            for line, status, shown in SHOWN:
                answer = await typed(door.client, line)
                assert answer.status_code == int(status), line
                assert fits(answer.json(), json.loads(shown)), f"{line}\n{answer.text}"

    assert len(SHOWN) == len(re.findall(r"^\$ curl", TEXT, re.MULTILINE)) > 8
    play(scene)


@proves("http/docs")
def test_the_table_of_the_page_has_every_verb() -> None:
    assert [path for path in {verb.path for verb in VERBS.values()} if f" {path}`" not in parts()["routes"]] == []


@pytest.mark.parametrize(
    "found, shown",
    [({"a": 1, "b": 2}, {"a": 1}), ({"a": 1}, {"a": 2, "…": "…"}), ([1], ["…", "…"]), (True, 1), ({}, [])],
)
def test_a_page_that_shows_something_else_is_found_out(found: Any, shown: Any) -> None:
    assert not fits(found, shown)
    assert fits({"a": 1, "b": [1]}, {"a": "…", "…": "…"})
