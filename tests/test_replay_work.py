"""Is the work of a long log written down as the folds have it, though nothing is copied and little is read twice?"""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from telex.dialects.timestamps import parse_timestamp
from telex.model.contracts import ContractIndex, ContractTerms, Grant, Plan, PlanSummary, Revision
from telex.validation.contracts import ContractScope, judge, may_touch
from telex.work.mutable_contracts import MutablePlans, mutable_contracts
from telex.work.plan_lookup import covering
from tests.proofs import proves
from tests.replay_kit import typed
from tests.test_replay_reports import replayed

NAMES = st.sampled_from(["p", "q", "r"])
ADDRESSES = st.lists(st.sampled_from(["dev", "role:dev", "all:dev", "*", "qa"]), max_size=2).map(tuple)
LISTED = st.builds(PlanSummary, ADDRESSES, st.sampled_from(["lead", "dev"]), st.just(("t1",)), st.booleans())


@proves("replay/quick")
@given(st.lists(st.tuples(NAMES, LISTED), max_size=8))
def test_a_list_of_contracts_that_is_written_into_is_the_list_that_is_copied(
    puts: list[tuple[str, PlanSummary]],
) -> None:
    copied: dict[str, PlanSummary] = {}
    plans = MutablePlans({})
    for name, one in puts:
        copied = {**copied, name: one}
        assert plans.put(name, one) is plans
        assert list(plans.items()) == list(copied.items())
        assert list(plans.still_open.items()) == [(name, one) for name, one in copied.items() if not one.closed]
        by_copy, by_owner = ContractIndex(copied), mutable_contracts(ContractIndex(copied))
        assert by_owner == by_copy
        assert covering(by_owner, "dev", "dev") == covering(by_copy, "dev", "dev")


@proves("replay/quick")
@pytest.mark.parametrize(
    "deadline",
    [
        *("2026-03-02T12:00:00Z", "2026-03-02T12:00:00.9999999Z", "2026-03-02T12:00:00.5000006+02:00"),
        *("0001-01-01T00:00:00+05:00", "9999-12-31T23:59:59-05:00", None),
    ],
)
def test_a_deadline_is_the_moment_that_stands_in_the_text(deadline: str | None) -> None:
    tree = typed("approval_request", "ask-1", {"request_type": "plan_approval"})
    if deadline is None:
        del tree["payload"]["deadline"]
    else:
        tree["payload"]["deadline"] = deadline
    raws = [json.dumps(tree).encode()]
    quick, patient = (replayed(raws, quick=way)[1]["approval:ask-1"] for way in (True, False))
    assert quick == patient


USUAL = st.builds(
    "{:04}-{:02}-{:02}T{:02}:{:02}:{:02}Z".format,
    *(st.integers(*bounds) for bounds in ((0, 9999), (0, 13), (0, 32), (0, 25), (0, 61), (0, 61))),
)


@proves("replay/quick")
@given(USUAL)
def test_a_moment_in_its_usual_form_is_read_as_in_any_other(text: str) -> None:
    """A small t is as good, and takes the long way."""
    assert parse_timestamp(text) == parse_timestamp(text.replace("T", "t"))


@proves("replay/quick")
@pytest.mark.parametrize("text", ["2026-03-02T10+01:00Z", "2026-03-02T1:00:00:Z", "２026-03-02T10:00:00Z", "T" * 20])
def test_what_only_looks_like_a_moment_is_none(text: str) -> None:
    assert len(text) == len("2026-03-02T10:00:00Z")
    assert parse_timestamp(text).at is None


PATTERNS: Any = st.lists(st.sampled_from(["src/", "src/a/", "src/a/*.py", "*.md", "docs/"]), max_size=2).map(tuple)
PATHS = st.sampled_from(["src/a/x.py", "src/A/x.py", "src/b.md", "docs/x", "../x", ".git/config", "README.md"])


@proves("replay/quick")
@given(PATTERNS, PATTERNS, PATTERNS, PATTERNS, PATHS)
def test_whether_a_path_may_be_touched_does_not_depend_on_who_asks_why(
    allowed: Any, forbidden: Any, granted: Any, lifted: Any, path: str
) -> None:
    words = ContractTerms("1", "", (), allowed, forbidden, (), (), (), None)
    grants = tuple(
        Grant(patterns, override, "lead", "lead", 0.0, "ask-1", "dev")
        for patterns, override in ((granted, False), (lifted, True))
    )
    scope = ContractScope(Plan("p", (Revision(1, "", words, "c1", 1, "lead", 0.0, "vbw-typed"),), grants=grants))
    assert may_touch(path, scope) is (judge(path, [scope]).code is None)
