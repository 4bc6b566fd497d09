"""Does the guard say the same of many paths as of each alone? What is told of all at once must be true of each."""

import os
from pathlib import Path
from tempfile import TemporaryDirectory

from hypothesis import example, given
from hypothesis import strategies as st

from telex.model.contracts import ContractTerms, Grant, Plan, Revision
from telex.surfaces.cli.guard_disk import LinkResolver
from telex.validation.contracts import ContractScope, judge, judge_all
from tests.proofs import proves
from tests.test_patterns import PATHS, PATTERNS

ODD = st.sampled_from(
    ["", "/a", "a/", "a.", "a./b", "a //b", "a /b", "~", "a:b", "\\", "é/a", "a\n", ".git/a", "a" * 4097]
)
SOME = st.lists(PATHS | PATHS | ODD, min_size=1, max_size=6)


def plan(allowed: list[str], forbidden: list[str], granted: list[str], lifted: list[str]) -> Plan:
    words = ContractTerms("1", "x", (), tuple(allowed), tuple(forbidden), (), (), (), None)
    grants = [
        Grant(tuple(each), over, "lead", "lead", 0.0, "R", "dev") for each, over in ((granted, False), (lifted, True))
    ]
    return Plan("P", (Revision(1, "d", words, "m", 1, "lead", 0.0, "vbw-typed"),), grants=tuple(grants))


FEW = st.lists(PATTERNS, max_size=3)
PLANS = st.builds(plan, FEW, FEW, st.just([]) | FEW, st.just([]) | FEW)


@proves("guard/many")
@given(st.lists(PLANS, max_size=2), SOME, st.booleans())
@example([plan(["**"], ["secrets/", "[ab]"], [], [])], ["a/SECRETS/b", "b", "B", "c"], False)
@example([plan(["**"], ["x"], [], [])], ["a", "link", "b"], True)
def test_many_paths_are_judged_as_each_alone(plans: list[Plan], paths: list[str], linked: bool) -> None:
    scopes = [ContractScope(plan) for plan in plans]
    resolve = {"link": "x", "a": None}.get if linked else None
    leads = (lambda path: resolve(path, path)) if resolve is not None else None
    assert judge_all(paths, scopes, leads) == [judge(path, scopes, leads) for path in paths]


@proves("guard/links")
@given(st.integers(0, 40), st.sets(st.integers(0, 40), max_size=2), st.booleans())
@example(40, set(), True)
@example(40, {39}, False)
def test_one_link_among_many_files_is_followed(files: int, links: set[int], folder_too: bool) -> None:
    with TemporaryDirectory() as folder:
        root = Path(folder)
        (root / "real").mkdir()
        os.symlink("real", root / "led") if folder_too else (root / "led").mkdir()
        for number in range(files):
            name = root / "led" / f"{number}"
            os.symlink("../elsewhere", name) if number in links else name.touch()
        disk = LinkResolver(folder)
        for number in range(files + 2):
            beside = "real" if folder_too else "led"
            wanted = "elsewhere" if number in links and number < files else f"{beside}/{number}"
            assert disk.leads_to(f"led/{number}") == wanted
