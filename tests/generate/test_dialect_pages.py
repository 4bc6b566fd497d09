"""Is every example of the pages accepted once its placeholders are filled, and told what to choose until then?"""

import copy
import json
import re
from typing import Any

import pytest

from telex.dialects.registry import by_name
from telex.model.finding import refusals
from telex.validation.check import CheckPolicy, check
from tests.pages import Example, build_flow, signal_md, vbw_company, vbw_handoff, vbw_typed
from tests.proofs import proves
from tests.tables.notation import Steps, get, path_of, put

PAGES = (vbw_typed, vbw_handoff, vbw_company, signal_md, build_flow)
EXAMPLES = [example for page in PAGES for example in page.EXAMPLES]
WITH_PLACEHOLDERS = [example for example in EXAMPLES if example.chosen]
# The pages give these two the very same shape, so only the team, or the receiver, can tell them apart.
ALIKE = {("vbw-company", "dev_progress"), ("vbw-company", "dev_blocker")}


def name_of(example: Example) -> str:
    return f"{example.dialect} {example.type}"


def steps_of(dotted: str) -> Steps:
    return tuple(int(step) if step.isdigit() else step for step in dotted.split("."))


def as_shown(example: Example) -> bytes:
    return (example.shown if isinstance(example.shown, str) else json.dumps(example.shown)).encode()


def filled(example: Example) -> bytes:
    """The example with every placeholder replaced."""
    if isinstance(example.shown, str):
        text = example.shown
        for dotted, value in example.chosen.items():
            text = re.sub(rf"(?m)^( *{dotted.rpartition('.')[2]}:).*$", rf"\1 {value}", text, count=1)
        return text.encode()
    tree = copy.deepcopy(example.shown)
    for dotted, value in example.chosen.items():
        put(tree, steps_of(dotted), value)
    return json.dumps(tree).encode()


def choices(example: Example, dotted: str) -> list[str]:
    """The values that a placeholder lists; none for one that lists nothing."""
    if isinstance(example.shown, str):
        match = re.search(rf"(?m)^ *{dotted.rpartition('.')[2]}: (.*\|.*)$", example.shown)
        shown: Any = match[1] if match else ""
    else:
        shown = get(example.shown, steps_of(dotted))
    return [choice.strip() for choice in shown.split("|")] if isinstance(shown, str) and "|" in shown else []


@proves("common/page-examples-pass")
@pytest.mark.parametrize("example", EXAMPLES, ids=name_of)
def test_an_example_with_real_values_is_accepted_in_its_dialect(example: Example) -> None:
    dialect = by_name(example.dialect)
    told = [CheckPolicy(forced=dialect), CheckPolicy(preferred=example.dialect)]
    untold = [] if (example.dialect, example.type) in ALIKE else [CheckPolicy()]
    for policy in told + untold:
        checked = check(filled(example), policy)
        assert refusals(checked.findings) == []
        assert (checked.valid, checked.dialect, checked.type) == (True, dialect, example.type)
        assert [f.code for f in checked.findings if f.severity == "warning" or f.code == "field-unknown"] == []


@proves("common/page-placeholders-refused")
@pytest.mark.parametrize("example", WITH_PLACEHOLDERS, ids=name_of)
def test_an_example_with_placeholders_left_in_is_refused_and_each_is_offered_its_values(example: Example) -> None:
    checked = check(as_shown(example), CheckPolicy(preferred=example.dialect))
    assert not checked.valid
    assert checked.fixed is None
    found = {finding.path: finding for finding in refusals(checked.findings)}
    for dotted in example.chosen:
        for choice in choices(example, dotted):
            place = path_of(*steps_of(dotted))
            assert place in found
            assert choice in str(found[place].expected) or is_between(choice, str(found[place].expected))


@proves("common/page-placeholders-refused")
@pytest.mark.parametrize("example", [vbw_typed.ENVELOPE, signal_md.EXAMPLES[0]], ids=name_of)
def test_a_template_without_a_type_is_refused_and_offered_the_types(example: Example) -> None:
    checked = check(as_shown(example))
    [finding] = [finding for finding in refusals(checked.findings) if finding.path == "$.type"]
    assert checked.dialect is not None
    assert finding.expected == "one of " + ", ".join(checked.dialect.types)


def is_between(choice: str, expected: str) -> bool:
    """A number is offered by the range it lies in."""
    ends = re.search(r"from (\d+) to (\d+)", expected)
    return ends is not None and choice.isdigit() and int(ends[1]) <= int(choice) <= int(ends[2])


@proves("common/page-placeholders-refused")
@pytest.mark.parametrize("example", WITH_PLACEHOLDERS, ids=name_of)
def test_a_single_placeholder_left_in_is_enough_to_be_refused_there_and_only_there(example: Example) -> None:
    for dotted in example.chosen:
        if dotted in ("id", "type", "payload") or not choices(example, dotted):
            continue
        others = {name: value for name, value in example.chosen.items() if name != dotted}
        checked = check(filled(example._replace(chosen=others)), CheckPolicy(preferred=example.dialect))
        assert [finding.path for finding in refusals(checked.findings)] == [path_of(*steps_of(dotted))]


@proves("common/page-examples-pass", "build-flow/type/CODEBASE_REVIEW_REPORT/codeQuality")
def test_the_review_example_passes_although_it_leaves_code_quality_out() -> None:
    assert "codeQuality" not in build_flow.CTO_REVIEW.shown["payload"]["findings"]  # type: ignore[index]
    assert check(as_shown(build_flow.CTO_REVIEW)).findings == ()


@proves("common/page-examples-pass", "vbw-typed/envelope/id", "build-flow/base/messageId")
def test_the_examples_pass_although_their_ids_are_no_uuids() -> None:
    for example in (vbw_typed.EXAMPLES[2], build_flow.CTO_REVIEW):
        assert check(as_shown(example)).findings == ()
