"""Tests of what a caller of the Python API gets for a refused message, request, answer or join."""

import copy
import json
import pickle
from typing import Any

import pytest

from telex.errors import NotAMember, Refused, TelexError
from tests.bus.bus_team import NOTE, Team, speech_of
from tests.proofs import proves
from tests.work.contract_team import ask


@pytest.fixture
def broken() -> dict[str, Any]:
    """A verdict with a misspelt word and without its task."""
    tree = speech_of("vbw-typed", "qa_verdict", "v-1").tree | {"confidence": "hihg"}
    del tree["task"]
    return tree


@proves("bus/refused/raised")
def test_a_refused_message_is_raised_with_its_findings_and_the_suggested_fix(
    team: Team, broken: dict[str, Any]
) -> None:
    with pytest.raises(Refused) as raised:
        team.bus.send(broken, sender="qa", to="lead")
    error = raised.value
    assert isinstance(error, TelexError)
    assert (error.code, error.receipt.id, error.receipt.state) == ("refused", "v-1", "refused")
    assert error.findings == error.receipt.findings
    assert error.fixed is not None
    assert (json.loads(error.fixed)["confidence"], error.certain) == ("high", False)
    assert team.story("v-1").state == "refused"


@proves("bus/refused/text")
def test_its_text_has_the_type_and_each_refusal_and_it_explains_their_codes(team: Team, broken: dict[str, Any]) -> None:
    with pytest.raises(Refused) as raised:
        team.bus.send(broken, sender="qa", to="lead")
    head, *lines = str(raised.value).splitlines()
    assert "qa_verdict" in head
    assert [line.split()[:2] for line in lines] == [
        [finding.code, f"{finding.path}:"] for finding in raised.value.findings if finding.severity == "refusal"
    ]
    pages = [line for line in raised.value.explain().splitlines() if line.startswith("# ")]
    assert sorted(pages) == ["# field-missing", "# not-one-of"]
    for twin in (copy.copy(raised.value), pickle.loads(pickle.dumps(raised.value))):
        assert (str(twin), twin.receipt) == (str(raised.value), raised.value.receipt)


@proves("bus/refused/check")
def test_without_check_the_receipt_is_returned(team: Team, broken: dict[str, Any]) -> None:
    receipt = team.bus.send(broken, sender="qa", to="lead", check=False)
    with pytest.raises(Refused) as raised:
        team.bus.send(broken, sender="qa", to="lead")
    assert (receipt.accepted, receipt.findings) == (False, raised.value.findings)


@proves("bus/refused/approve")
def test_a_refused_answer_to_an_approval_request_is_raised_unless_check_is_off(team: Team) -> None:
    team.bus.send(ask("plan_approval", "T1", id="ask-1"), sender="dev", to="lead")
    receipt = team.bus.approve("ask-1", approved=True, reason="fine", agent="qa", check=False)
    with pytest.raises(Refused) as raised:
        team.bus.approve("ask-1", approved=True, reason="fine", agent="qa")
    assert [finding.code for finding in receipt.findings] == [finding.code for finding in raised.value.findings]
    assert team.bus.approve("ask-1", approved=True, reason="fine", agent="lead").accepted


@proves("bus/refused/join")
def test_a_refused_join_is_raised_with_its_finding(team: Team) -> None:
    with pytest.raises(NotAMember) as raised:
        team.bus.join("ada", role="architekt")
    assert raised.value.finding is not None
    assert (raised.value.code, raised.value.finding.nearest) == ("role-unknown", "architect")
    with pytest.raises(NotAMember) as raised:
        team.bus.receive("ada", role="architekt")
    assert (raised.value.finding is not None, raised.value.code) == (True, "role-unknown")


@proves("bus/refused/raised")
def test_an_accepted_message_with_findings_is_not_raised(team: Team) -> None:
    receipt = team.bus.send(NOTE, sender="ada", to="lead")
    assert (receipt.accepted, [finding.severity for finding in receipt.findings]) == (True, ["note"])
