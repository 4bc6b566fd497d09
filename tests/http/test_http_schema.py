"""Does the hub do what its OpenAPI document says, whatever it is asked? Schemathesis asks, over a real history."""

import asyncio
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import jsonschema
import pytest
import schemathesis
from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis import strategies as st
from schemathesis import GenerationMode
from schemathesis import checks as checked
from schemathesis.specs.openapi.definitions import OPENAPI_31
from starlette.routing import Route

import telex
from telex.demo.story import playing
from telex.protocol.verbs import VERBS, work_state_kinds
from telex.surfaces.http.app import Hub, build_app
from telex.surfaces.http.openapi import document
from tests.http.http_kit import QUIET
from tests.proofs import proves

EXAMPLES = (
    12 if os.environ.get("TELEX_PROFILE") == "long" else 6
)  # for each operation, of what fits and of what does not
SLOW_TO_MAKE = {"import_messages": 2}  # a whole record of messages takes long to think of
WAITING = ("wait", "timeout", "deadline")
WAIT_SECONDS_MAX = 0.01
# Any text is a message, so that none is against the document.
TAKES_ANYTHING = ("send", "request", "check")
LAST = ("leave", "shut_down")  # after these there is nobody left to ask anything of
# What is there beside: the page has its own, which change with it; MCP tells itself what it can do.
NOT_DESCRIBED, BELOW = ("/", "/mcp"), ("/page/", "/static/", "/answer/")
OPERATIONS = {
    one["operationId"]: (path, method)
    for path, methods in document()["paths"].items()
    for method, one in methods.items()
}


class Asked(NamedTuple):
    """A hub over the record of a whole story, and what stands in that record."""

    address: str
    known: dict[str, list[Any]]  # by the argument that it would be given as


def known_in(store: Path) -> dict[str, list[Any]]:
    with telex.connect(store, settings=QUIET) as bus:
        happened = list(bus.events())
        messages = [message for _, message in happened if message is not None]
        names = sorted({one.member.name for one in bus.roster()})
    ids = sorted({one.id for one in messages})
    leases = [event for event, _ in happened if event.kind == "leased"]
    return {
        "id": ids,
        "correlation": sorted({one.correlation for one in messages if one.correlation}),
        **dict.fromkeys(("agent", "sender", "to", "name"), names),
        "kind": sorted(work_state_kinds()),
        "seq": [one.seq for one in messages],
        "after": [event.seq for event, _ in happened],
        "token": [f"{lease.delivery}.1" for lease in leases],
        "text": ["plan", "review"],
        "type": sorted({one.type for one in messages if one.type}),
        "until": ["acked", "read", "leased"],
        "raw": ["The build is red."],
    }


@pytest.fixture(scope="module")
def asked(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Asked]:
    store = tmp_path_factory.mktemp("history") / "demo" / "telex.db"
    with playing(str(store)) as play:
        list(play.story)
    command = [sys.executable, "-m", "telex", "serve", "--port", "0", "--json", "--store", str(store)]
    with subprocess.Popen(command, cwd=store.parent, stdout=subprocess.PIPE, text=True) as hub:
        assert hub.stdout is not None
        try:
            yield Asked(json.loads(hub.stdout.readline())["url"].rstrip("/"), known_in(store))
        finally:
            hub.terminate()
            assert hub.wait(30) == 0


@pytest.fixture(scope="module")
def operations() -> dict[str, Any]:
    results: Any = schemathesis.openapi.from_dict(document()).get_all_operations()
    found = (result.ok() for result in results)
    return {one.definition.raw["operationId"]: one for one in found}


CHECKS = [
    checked.not_a_server_error,
    checked.status_code_conformance,
    checked.content_type_conformance,
    checked.response_schema_conformance,
]


@pytest.mark.slow
@proves("http/openapi/conforms")
@pytest.mark.parametrize("mode", GenerationMode, ids=lambda mode: mode.name.lower())
@pytest.mark.parametrize("name", sorted(OPERATIONS, key=lambda name: (name in LAST, name)))
def test_every_answer_is_one_that_the_document_promises(
    name: str, mode: GenerationMode, asked: Asked, operations: dict[str, Any]
) -> None:
    operation = operations[name]
    wrong = mode == GenerationMode.NEGATIVE
    if wrong and not operation.body and not operation.query:
        return  # every path fits: there is nothing that would not
    wanted = [checked.negative_data_rejection] if wrong and name not in TAKES_ANYTHING else []

    @seed(1)
    @settings(
        max_examples=SLOW_TO_MAKE.get(name, EXAMPLES),
        database=None,
        deadline=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(operation.as_strategy(generation_mode=mode), st.data())
    def ask(case: Any, data: st.DataObject) -> None:
        for part in ("path_parameters", "query", "body"):
            given_ = getattr(case, part)
            if isinstance(given_, dict):
                setattr(case, part, hurried(given_ if wrong else likely(given_, asked.known, data)))
        answer = case.call(base_url=asked.address, timeout=20)
        case.validate_response(answer, checks=[*CHECKS, *wanted])

    ask()


def likely(given_: dict[str, Any], known: dict[str, list[Any]], data: st.DataObject) -> dict[str, Any]:
    """With something that is there in the place of every other name."""
    return {
        name: data.draw(st.one_of(st.just(value), st.sampled_from(known[name]))) if known.get(name) else value
        for name, value in given_.items()
    }


def hurried(given_: dict[str, Any]) -> dict[str, Any]:
    """Nobody waits for ever here."""
    return {
        name: WAIT_SECONDS_MAX
        if name in WAITING and type(value) in (int, float) and value > WAIT_SECONDS_MAX
        else value
        for name, value in given_.items()
    }


@proves("http/openapi/valid")
def test_the_document_is_an_openapi_document() -> None:
    told = document()
    assert list(jsonschema.Draft202012Validator(OPENAPI_31).iter_errors(told)) == []
    for schema in told["components"]["schemas"].values():
        jsonschema.Draft202012Validator.check_schema(schema)


@proves("http/openapi/complete")
def test_everything_that_the_hub_answers_to_is_described_and_nothing_else(monkeypatch: pytest.MonkeyPatch) -> None:
    hubs: list[Hub] = []

    class NotedHub(Hub):
        def __init__(self, *given: Any) -> None:
            super().__init__(*given)
            hubs.append(self)

    async def put() -> None:
        async with telex.connect("memory:", settings=QUIET) as bus:
            build_app(bus, QUIET, lambda app: app)

    monkeypatch.setattr("telex.surfaces.http.app.Hub", NotedHub)
    asyncio.run(put())
    [hub] = hubs
    verbs = {(verb.path, verb.method) for verb in VERBS.values()}
    others = {
        (route.path.replace(":path}", "}"), method)
        for route in hub.starlette.routes
        if isinstance(route, Route) and route.path not in NOT_DESCRIBED and not route.path.startswith(BELOW)
        for method in (route.methods or set()) - {"HEAD"}
    }
    described = {(path, method.upper()) for path, methods in document()["paths"].items() for method in methods}
    assert described == verbs | others
    assert {"/", "/metrics", "/mcp"} <= {getattr(route, "path", "") for route in hub.starlette.routes}
