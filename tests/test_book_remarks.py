"""Are the words of a remark those it would have had at once, when they are asked for later and in another order?

Whatever reaches the book is weighed twice here: in words, and as remarks that are told when all of them are known.
"""

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from telex.bus.local import LocalBus
from telex.client import SyncBus
from telex.generate.codes import bus_explanations
from telex.model.finding import Finding
from telex.stores.memory import MemoryStore
from telex.testing import FakeClock
from telex.validation.check import CheckPolicy
from telex.validation.contracts import ContractScope, judge
from telex.work import reducer
from telex.work.plan_checks import KNOWN_CHARACTERS_MAX, KNOWN_PATHS_MAX, PathDecisionCache
from telex.work.rule_set import Book, RuleContext
from telex.work.view import WorkMessage
from tests.bus_team import Team, codes, open_team, team
from tests.contract_team import ask, contract, kept, report, send
from tests.plays import Stage
from tests.proofs import proves
from tests.test_book import messages
from tests.test_codes import FILES, literals

__all__ = ["open_team", "team"]

SOURCES = [
    file
    for file in FILES
    if (file.parent.name == "work" and file.stem != "user_dialect_requests") or file.match("validation/contracts.py")
]
CODES = {code for file in SOURCES for code in literals(file.read_text(encoding="utf-8"))}
OWN_ID = "id-reused"  # its page is about an id of one's own, which is found without the book


class Twice:
    """Stands in for `pages.weigh`."""

    def __init__(self) -> None:
        self.weigh, self.codes = reducer.check_rules, set[str]()

    def __call__(self, said: WorkMessage, book: Book, ground: RuleContext) -> tuple[Finding, ...]:
        remarks, at_once = reducer.lazy_findings(said, book, ground), self.weigh(said, book, ground)
        later = [remark.finding() for remark in reversed(remarks)][::-1]
        assert later == list(at_once)
        assert [(remark.code, remark.severity) for remark in remarks] == [(one.code, one.severity) for one in at_once]
        assert len(set(later)) == len(later), "one remark has the words of another"
        self.codes.update(remark.code for remark in remarks)
        return at_once


@pytest.fixture
def twice(monkeypatch: pytest.MonkeyPatch) -> Twice:
    twice = Twice()
    monkeypatch.setattr(reducer, "check_rules", twice)
    return twice


@proves("book/words-later")
@pytest.mark.parametrize("code", sorted(CODES - {OWN_ID}))
def test_every_finding_of_the_book_is_told_later_as_it_is_told_at_once(
    code: str, twice: Twice, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    Stage(tmp_path, monkeypatch, capsys).play(bus_explanations()[code].before)
    assert code in twice.codes


@proves("book/words-later")
def test_so_is_that_an_id_is_known_by_what_another_has_asked(twice: Twice, team: Team) -> None:
    kept(team, ask(id="q-1"))
    other = team.bus.send(ask(id="q-1"), sender="ada", role="dev", to="lead")
    assert codes(other.findings) == [OWN_ID]
    assert twice.codes == {OWN_ID}


@proves("book/words-later")
@given(st.lists(messages(), max_size=20), st.booleans())
def test_whatever_a_team_says_is_told_later_as_it_is_told_at_once(said: list[dict[str, Any]], strict: bool) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(reducer, "check_rules", Twice())
        bus = SyncBus(LocalBus(MemoryStore(), FakeClock(), desk=CheckPolicy(strict=strict)))
        for one in said:
            bus.send(**one)


@proves("book/words-later")
def test_of_many_remarks_on_one_message_each_has_words_of_its_own(twice: Twice, team: Team) -> None:
    odd: dict[str, Any] = {"allowed_paths": ["../a", "../b", "c/1", "c/2"], "forbidden_paths": ["../d", "../e", "c/"]}
    drawn = kept(team, contract(**odd)).findings
    assert [(one.code, one.path, one.found) for one in drawn] == [
        ("pattern-covers-nothing", "$.payload.allowed_paths[0]", "../a"),
        ("pattern-covers-nothing", "$.payload.allowed_paths[1]", "../b"),
        ("pattern-covers-nothing", "$.payload.forbidden_paths[0]", "../d"),
        ("pattern-covers-nothing", "$.payload.forbidden_paths[1]", "../e"),
        ("path-allowed-for-nothing", "$.payload.allowed_paths[2]", "c/1"),
        ("path-allowed-for-nothing", "$.payload.allowed_paths[3]", "c/2"),
    ]
    kept(team, contract("Q", depends_on=["X", "P", "Y"]))
    refused = send(team, report("Q", files=["src/a", "lib/b", ".env", "src/c", "lib/d"])).findings
    assert [(one.code, one.path, one.found) for one in refused] == [
        ("dependency-not-complete", "$.payload.plan_id", "plan X: no contract for it yet"),
        ("dependency-not-complete", "$.payload.plan_id", "plan P: T1, T2 not done"),
        ("dependency-not-complete", "$.payload.plan_id", "plan Y: no contract for it yet"),
        ("path-outside-contract", "$.payload.files_modified[1]", "lib/b"),
        ("path-forbidden", "$.payload.files_modified[2]", ".env"),
        ("path-outside-contract", "$.payload.files_modified[4]", "lib/d"),
    ]


@proves("book/words-later")
def test_what_a_contract_has_answered_is_remembered_of_few_paths_and_changes_nothing(team: Team) -> None:
    kept(team, contract())
    scope = ContractScope(team.bus.work_state("plan")["plan:P"])
    answers, long = PathDecisionCache(scope), "src/" + "x" * KNOWN_CHARACTERS_MAX
    paths = [f"{folder}/{number}" for number in range(KNOWN_PATHS_MAX) for folder in ("src", "lib", "..")]
    for path in (*paths, long, ".env", *reversed(paths), long, ".env"):
        assert answers.judge(path) == judge(path, (scope,))
    known = vars(answers)["_known"]
    assert 0 < len(known) <= KNOWN_PATHS_MAX
    assert long not in known
