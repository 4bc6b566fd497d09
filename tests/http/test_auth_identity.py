"""Does anybody get to act under another's name? Every verb is tried, through the whole hub."""

import asyncio
import json
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlencode

import pytest

from telex.config import Settings
from telex.connection import connect
from telex.protocol.verbs import VERBS, Verb, arguments
from telex.surfaces.http.app import build_app
from telex.surfaces.http.asgi import App
from telex.surfaces.http.auth import AuthMiddleware
from telex.surfaces.http.limits import RequestLimits
from telex.surfaces.http.tokens import TokenFile
from tests.http.auth_kit import KNOWN, STRANGER, Answered, Key, ask, bearer, made_token
from tests.proofs import proves

ACTING = {name: verb for name, verb in VERBS.items() if verb.acts is not None and verb.may == "agent"}
FOR_OPERATORS = {name: verb for name, verb in VERBS.items() if verb.may == "operator"}
WITH_ROLE = {name: verb for name, verb in ACTING.items() if "role" in arguments(name)}
MESSAGE = b"The build is green."
VALUES: dict[str, Any] = {  # what each argument may be, so that nothing but the name can be wrong
    "id": "m-1", "token": "1.1", "reason": "done", "to": "lead", "limit": 1, "paths": ["src/a.py"], "approved": True,
    "entries": [], "until": "acked", "timeout": 0.1, "wait": 0.0, "deadline": 1.0,
}  # fmt: skip
CLAIMS = ["qa", "QA", "@agent-qa", "human", "telex", "lead", " ", "dev,qa", "dev\x00", "*", "role:dev", "devé"]


def over_hub(tmp_path: Path, doing: Callable[[App, Key, Key], Awaitable[Any]]) -> Any:
    """With dev's token and an operator's, in a team with an empty record."""
    file = TokenFile(str(tmp_path / "tokens.json"))
    dev, operator = made_token(file), made_token(file, None, None, operator=True)

    async def run() -> Any:
        async with connect("memory:", settings=Settings()) as bus:
            for name in ("dev", "qa", "lead"):
                await bus.join(name, role=name)
            app = build_app(bus, Settings(), lambda app: AuthMiddleware(KNOWN, file)(RequestLimits()(app)))
            return await doing(app, dev, operator)

    return asyncio.run(run())


async def call(app: App, verb: Verb, key: Key, **claims: Any) -> Answered:
    """Call a verb with everything that it needs, and what is claimed."""
    wanted = arguments(verb.name)
    given = {name: VALUES[name] for name, one in wanted.items() if one.required and name in VALUES} | claims
    path = verb.path
    for name in list(given):
        if f"{{{name}}}" in path:
            path = path.replace(f"{{{name}}}", quote(str(given.pop(name)), safe=""))
    if "{" in path:
        path = path.replace("{agent}", "dev")  # an inbox has its owner in its address
    body = json.dumps(given).encode() if verb.body == "json" else MESSAGE
    query = "" if verb.body == "json" else "?" + urlencode(given)
    return await ask(app, path + query, method=verb.method, headers=bearer(key.text), peer=STRANGER, body=body)


@proves("hub/identity", "http/identity/bound")
@pytest.mark.parametrize("name", ACTING)
def test_the_token_of_one_agent_does_not_act_as_another(name: str, tmp_path: Path) -> None:
    verb = ACTING[name]
    assert verb.acts is not None

    async def claim(app: App, dev: Key, _: Key) -> list[Answered]:
        return [await call(app, verb, dev, **{verb.acts or "": claimed}) for claimed in CLAIMS]

    answers = over_hub(tmp_path, claim)
    assert {(answer.status, answer.code) for answer in answers} == {(403, "identity-differs")}


@proves("hub/identity")
@pytest.mark.parametrize("name", WITH_ROLE)
def test_the_token_of_one_role_claims_no_other(name: str, tmp_path: Path) -> None:
    async def claim(app: App, dev: Key, _: Key) -> list[Answered]:
        return [await call(app, WITH_ROLE[name], dev, role=role) for role in ("lead", "qa", "human", "Lead", "nobody")]

    answers = over_hub(tmp_path, claim)
    assert {(answer.status, answer.code) for answer in answers} == {(403, "role-claim-differs")}


@proves("hub/identity")
@pytest.mark.parametrize("name", ACTING)
def test_whoever_leaves_its_name_out_or_says_it_acts_as_itself(name: str, tmp_path: Path) -> None:
    verb = ACTING[name]

    async def own(app: App, dev: Key, _: Key) -> list[Answered]:
        return [await call(app, verb, dev), await call(app, verb, dev, **{verb.acts or "": "dev"})]

    for answer in over_hub(tmp_path, own):
        assert answer.code not in ("identity-differs", "role-claim-differs", "operator-only", "arguments-wrong")


@proves("hub/operator", "http/identity/operator")
@pytest.mark.parametrize("name", FOR_OPERATORS)
def test_what_is_a_persons_to_do_takes_an_operators_token(name: str, tmp_path: Path) -> None:
    async def both(app: App, dev: Key, operator: Key) -> tuple[Answered, Answered]:
        return await call(app, FOR_OPERATORS[name], dev), await call(app, FOR_OPERATORS[name], operator)

    by_dev, by_operator = over_hub(tmp_path, both)
    assert (by_dev.status, by_dev.code) == (403, "operator-only")
    assert by_operator.status != 403


@proves("hub/operator")
def test_an_agent_does_not_answer_for_a_person_nor_take_another_out_of_the_team(tmp_path: Path) -> None:
    async def tried(app: App, dev: Key, operator: Key) -> list[str | None]:
        approve, leave = VERBS["approve"], VERBS["leave"]
        return [
            (await call(app, approve, dev, agent="human")).code,
            (await call(app, leave, dev, name="qa")).code,
            (await call(app, leave, operator, name="qa")).code,
        ]

    assert over_hub(tmp_path, tried) == ["identity-differs", "identity-differs", None]


@proves("hub/identity")
def test_what_is_sent_is_signed_by_the_token_whatever_it_says(tmp_path: Path) -> None:
    async def sent(app: App, dev: Key, operator: Key) -> list[str]:
        own = await call(app, VERBS["send"], dev, to="lead")
        persons = await call(app, VERBS["send"], operator, to="lead")
        named = await call(app, VERBS["send"], operator, to="lead", sender="qa")
        senders = []
        for receipt in (own, persons, named):
            why = await ask(app, f"/messages/{receipt.json['id']}", headers=bearer(dev.text), peer=STRANGER)
            senders.append(why.json["answer"][0]["message"]["sender"])
        return senders

    assert over_hub(tmp_path, sent) == ["dev", "human", "qa"]


@proves("hub/identity")
def test_a_name_given_twice_is_no_way_around(tmp_path: Path) -> None:
    async def twice(app: App, dev: Key, _: Key) -> list[str | None]:
        paths = ("/send?sender=dev&sender=qa&to=lead", "/send?sender=qa&sender=dev&to=lead", "/inbox/dev?agent=qa")
        methods = ("POST", "POST", "GET")
        asked = [
            await ask(app, path, method=method, headers=bearer(dev.text), peer=STRANGER, body=MESSAGE)
            for path, method in zip(paths, methods, strict=True)
        ]
        return [answer.code if answer.code else answer.body.decode() for answer in asked]

    twice_sent, turned, inbox = over_hub(tmp_path, twice)
    assert (twice_sent, turned) == ("identity-differs", "identity-differs")
    assert inbox in ("identity-differs", "arguments-wrong", '{"answer":[]}')  # the address counts, and it is dev's


@proves("hub/identity")
def test_many_messages_at_once_are_sent_under_the_tokens_name_too(tmp_path: Path) -> None:
    async def batch(app: App, dev: Key, _: Key) -> list[Answered]:
        letters = {"messages": [{"raw": "Good morning.", "to": "lead"}]}
        bodies = [letters, letters | {"sender": "qa"}, letters | {"role": "qa"}]
        return [
            await ask(app, "/send/batch", method="POST", headers=bearer(dev.text), peer=STRANGER,
                      body=json.dumps(body).encode())
            for body in bodies
        ]  # fmt: skip

    own, anothers, role = over_hub(tmp_path, batch)
    assert own.json["answer"][0]["accepted"]
    assert (anothers.code, role.code) == ("identity-differs", "role-claim-differs")


@proves("shutdown/answer/comes-back")
def test_a_token_does_not_bring_back_its_agent_after_a_forced_shutdown(tmp_path: Path) -> None:
    async def tried(app: App, dev: Key, operator: Key) -> list[tuple[int, str | None]]:
        lead = made_token(TokenFile(str(tmp_path / "tokens.json")), "lead", "lead")
        stop, join, send = VERBS["shut_down"], VERBS["join"], VERBS["send"]
        answers = []
        for key in (operator, lead):
            forced = await call(app, stop, operator, agent="lead", reason="user_abort", force=True, deadline=0.0)
            calls = [(join, dev, {}), (join, dev, {"by": "lead"}), (send, dev, {}), (join, key, {"name": "dev"})]
            answers += [forced, *[await call(app, verb, holder, **given) for verb, holder, given in calls]]
        answers += [await call(app, send, dev, to="lead"), await call(app, join, lead, name="telex")]
        return [(answer.status, answer.code) for answer in answers]

    out = [(200, None), (422, "sender-has-shut-down"), (403, "identity-differs"), (422, "sender-has-shut-down")]
    assert over_hub(tmp_path, tried) == [*out, (200, None), *out, (200, None), (201, None), (422, "name-not-allowed")]


@proves("hub/operator")
@pytest.mark.parametrize("claims", [{"name": "bot7", "role": "human"}, {"name": "bot7", "role": "Human"}])
def test_a_leads_token_adds_no_person(claims: dict[str, str], tmp_path: Path) -> None:
    async def tried(app: App, dev: Key, operator: Key) -> list[tuple[int, str | None]]:
        lead = made_token(TokenFile(str(tmp_path / "tokens.json")), "lead", "lead")
        answers = [await call(app, VERBS["join"], key, **claims) for key in (dev, lead)]
        return [(answer.status, answer.code) for answer in answers]

    assert over_hub(tmp_path, tried) == [(403, "identity-differs"), (403, "operator-only")]
