"""What is whoever asks for something wrongly told? Where it is wrong, what would be right, and what was meant."""

import pytest

from telex.surfaces.http.verbs import FIELDS_MAX
from tests.http.http_kit import Door, hub_test, is_problem
from tests.proofs import proves


@proves("http/arguments/body")
@pytest.mark.parametrize(
    "body",
    [
        b"{", b"[]", b"7", b"null", b'"agent"', b'{"agent": NaN}', b'{"agent": "lead", "wait": 1e999}', b"\xff",
        b"[" * 100_000, b'{"agent": ' + b"[" * 900 + b"]" * 900 + b"}", b'{"agent": "\\ud800"}',
        b'{"agent": "lead", "limit": 99999999999999999999}', b'{"agent": "lead", "limit": "1"}', b'{"limit": true}',
        b'{"agent": ["lead"]}', b"{}", b"", b'{"agent": null}',
    ],
    ids=lambda body: repr(body[:24]),
)  # fmt: skip
@hub_test()
async def test_a_body_that_does_not_fit_is_told_to_be_wrong(door: Door, body: bytes) -> None:
    is_problem(await door.client.post("/receive", content=body), 400, "arguments-wrong")


@proves("http/arguments/named")
@hub_test()
async def test_whoever_misspells_an_argument_is_told_which_was_meant(door: Door) -> None:
    told = is_problem(await door.post("/receive", agnet="lead", limit="x"), 400, "arguments-wrong")
    found = {one["path"]: one for one in told["findings"]}
    assert found["$.agnet"]["nearest"] == "agent"
    assert (found["$.limit"]["expected"], found["$.limit"]["found"]) == ("a whole number", "x")
    assert "$.agent" in found
    told = is_problem(await door.client.get("/search", params={"txt": "a"}), 400, "arguments-wrong")
    assert {one["path"]: one["nearest"] for one in told["findings"]} == {"$.txt": "text", "$.text": None}


@proves("http/arguments/query")
@pytest.mark.parametrize(
    "path, wrong",
    [
        ("/search?text=a&text=b", "$.text"),
        ("/search?text=a&limit=1_000", "$.limit"),
        ("/search?text=a&limit=%D9%A1", "$.limit"),
        ("/search?text=a&limit=99999999999999999999", "$.limit"),
        ("/search?text=a&limit=" + "9" * 5000, "$.limit"),
        ("/events?since=nan", "$.since"),
        ("/events?wait=inf", "$.wait"),
        ("/events?newest_first=maybe", "$.newest_first"),
        ("/events?after=1.0", "$.after"),
        ("/messages/x?id=y&seq=1", "$.seq"),
    ],
    ids=lambda one: one[:40],
)
@hub_test()
async def test_a_query_that_does_not_fit_is_told_to_be_wrong(door: Door, path: str, wrong: str) -> None:
    told = is_problem(await door.client.get(path), 400, "arguments-wrong")
    assert wrong in [one["path"] for one in told["findings"]]


@proves("http/arguments/query")
@hub_test()
async def test_what_stands_in_the_path_is_not_overruled_by_the_query(door: Door) -> None:
    await door.send(id="a")
    [story] = (await door.client.get("/messages/a?id=b")).json()["answer"]
    assert story["message"]["id"] == "a"


@proves("http/arguments/many")
@hub_test()
async def test_a_query_of_too_many_fields_and_a_body_of_too_many_names_are_refused_shortly(door: Door) -> None:
    query = "&".join(f"a{number}=1" for number in range(FIELDS_MAX + 1))
    for headers in ({}, {"accept": "text/event-stream"}):
        answer = await door.client.get(f"/events?{query}", headers=headers)
        assert str(FIELDS_MAX) in is_problem(answer, 400, "arguments-wrong")["detail"]
    many = await door.post("/receive", **{f"a{number}": 1 for number in range(5_000)})
    assert len(is_problem(many, 400, "arguments-wrong")["findings"]) < 50


@proves("http/arguments/body")
@hub_test()
async def test_arguments_of_the_body_do_not_go_into_the_query(door: Door) -> None:
    answer = await door.client.post("/receive?agent=lead", json={})
    is_problem(answer, 400, "arguments-wrong")


@proves("http/arguments/values")
@pytest.mark.parametrize("path", ["/search?text=a&limit=0", "/dead?limit=-1", "/events?limit=0", "/inbox/dev?limit=0"])
@hub_test()
async def test_a_number_that_makes_no_sense_is_told_to_be_wrong(door: Door, path: str) -> None:
    await door.bus.join("dev")
    is_problem(await door.client.get(path), 400, "value-wrong")


@proves("http/content-type")
@pytest.mark.parametrize(
    "kind", ["", "text/plain", "application/json", "image/png", "application/x-www-form-urlencoded"]
)
@hub_test()
async def test_what_a_body_is_called_changes_nothing(door: Door, kind: str) -> None:
    headers = {"content-type": kind} if kind else {}
    params = {"sender": "dev", "to": "lead"}
    sent = await door.client.post("/send", params=params, content=b"text", headers=headers)
    assert sent.status_code == 201
    got = await door.client.post("/receive", content=b'{"agent": "lead"}', headers=headers)
    assert len(got.json()["answer"]) == 1
