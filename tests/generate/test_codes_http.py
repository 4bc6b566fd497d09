"""Does the hub say what the pages of its codes show, and does it give no code that has no page?"""

import ast
import json
import re
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx2
import pytest

import telex
from telex.generate.codes import check_explanations, code_page, explanations, http_explanations
from telex.model.finding import Finding
from telex.surfaces.http import app as http_app
from telex.surfaces.http.app import Hub
from telex.surfaces.http.asgi import REFUSALS, App
from telex.surfaces.http.auth import AuthMiddleware, allowed_hosts
from telex.surfaces.http.tokens import Caller
from tests.generate.test_codes import CODE, speaks_badly
from tests.http.http_kit import QUIET, alive, client_of, play, typed

SURFACE = Path(http_app.__file__).parent
PROTOCOL = SURFACE.parent.parent / "protocol"
CALLED = ("problem", "_refusal", "Finding")
CALLERS = {
    "$DEV_TOKEN": Caller("dev", "dev", False, "t-1"),
    "$OPERATOR_TOKEN": Caller(None, None, True, "t-2"),
    "$VIEWER_TOKEN": Caller(None, None, False, "t-3", viewer=True),
    "$GUEST_TOKEN": Caller(None, None, False, "t-4", viewer=True, conversation="1-1"),
}
EXPLANATIONS = http_explanations()
HAPPENS = tuple(code for code, one in EXPLANATIONS.items() if one.before.startswith("# "))
every_code = pytest.mark.parametrize("code", EXPLANATIONS)


class _Doorkeeper(AuthMiddleware):
    """It knows some tokens, by the names that the pages give them."""

    def _token_caller(self, values: list[bytes]) -> Any:
        text = values[0].decode().removeprefix("Bearer ")
        return CALLERS.get(text) or super()._token_caller(values)


@asynccontextmanager
async def hub() -> AsyncIterator[httpx2.AsyncClient]:
    async with telex.connect("memory:", settings=QUIET) as bus:
        app: App = _Doorkeeper(allowed_hosts(4477))(Hub(bus, QUIET))
        async with alive(app), client_of(app) as client:
            yield client


@every_code
def test_the_hub_says_what_the_page_shows_and_then_does_what_it_advises(code: str) -> None:
    one = EXPLANATIONS[code]

    async def scene() -> None:
        async with hub() as client:
            if code not in HAPPENS:
                *before, last = [await typed(client, line) for line in one.before.splitlines()]
                assert all(answer.status_code < 400 for answer in before)
                told = last.json()
                assert (last.status_code, told["code"], told["detail"]) == (one.status, code, one.say)
            for line in one.after.splitlines():
                assert (await typed(client, line)).status_code < 400

    play(scene)


@pytest.mark.parametrize("code", HAPPENS)
def test_what_cannot_be_typed_is_said_in_the_words_of_the_page(code: str) -> None:
    """By whoever keeps the door, or as a text that stands in the source."""
    one = EXPLANATIONS[code]
    told = [json.loads(answer.body) for answer in REFUSALS]
    said = [(each["status"], each["detail"]) for each in told if each["code"] == code]
    source = "".join(file.read_text(encoding="utf-8") for file in SURFACE.glob("*.py"))
    assert (one.status, one.say) in said or one.say in source


def given_in(file: Path) -> Iterator[str]:
    """Every code that this file puts into a problem or a finding."""
    tree = ast.parse(file.read_text(encoding="utf-8"))
    constants = {
        name.id: value
        for node in tree.body
        if isinstance(node, ast.Assign)
        for target in node.targets
        for name, value in _pairs(target, node.value)
    }
    for call in ast.walk(tree):
        if isinstance(call, ast.Call) and ast.unparse(call.func).rpartition(".")[2] in CALLED:
            for argument in call.args[:2]:
                value = constants.get(argument.id) if isinstance(argument, ast.Name) else argument
                if isinstance(value, ast.Constant) and isinstance(value.value, str) and CODE.match(value.value):
                    yield value.value


def _pairs(target: ast.expr, value: ast.expr) -> Iterator[tuple[ast.Name, Any]]:
    targets = target.elts if isinstance(target, ast.Tuple) else [target]
    values = value.elts if isinstance(value, ast.Tuple) and len(targets) > 1 else [value]
    for one, each in zip(targets, values, strict=False):
        if isinstance(one, ast.Name):
            yield one, each


def test_every_code_that_the_door_gives_has_a_page_and_no_other() -> None:
    found = {code for folder in (SURFACE, PROTOCOL) for file in folder.glob("*.py") for code in given_in(file)}
    assert found <= set(explanations())
    assert set(EXPLANATIONS) <= found
    assert not set(EXPLANATIONS) & set(check_explanations())


@every_code
def test_a_page_shows_the_whole_of_it(code: str) -> None:
    one, text = EXPLANATIONS[code], code_page(code)
    assert [words for words in (one.before, f"> {one.status}: {one.say}", one.after) if words not in text] == []


@every_code
def test_what_a_page_quotes_is_said_well(code: str) -> None:
    say = re.sub(r"^\$\S+: ", "", EXPLANATIONS[code].say)
    assert speaks_badly(Finding(code, "$", say)) == []
