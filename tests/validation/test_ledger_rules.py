"""Does every hard rule speak when it is broken, and stay silent up to the very edge?

The cases stand in `tests/tables`: each changes a sample message and says which finding that brings, if any.
"""

from typing import Any

import pytest

from telex.validation.check import check
from tests.proofs import proves
from tests.tables import RULES
from tests.tables.notation import Steps, Table, get, message, put
from tests.tables.rules import ABSENT, Rule


def every_case() -> list:
    return [
        pytest.param(
            table,
            rule,
            changes,
            broken,
            marks=proves(f"{table.name.replace('@', '/')}/rule/{rule.code}"),
            id=f"{table.name} {rule.type} {rule.code} {'broken' if broken else 'kept'} by {changes}",
        )
        for table, rules in RULES
        for rule in rules
        for broken, cases in ((True, rule.broken), (False, rule.kept))
        for changes in cases
    ]


def changed(table: Table, rule: Rule, changes: dict[str, Any]) -> dict:
    row = table.row(rule.type)
    tree = message(table, row)
    for name, value in changes.items():
        steps: Steps = tuple(name.split("."))
        own = {field.removesuffix("?") for field in row.fields}
        if table.payload and steps[0] in own:
            steps = (table.payload, *steps)
        if value is not ABSENT:
            put(tree, steps, value)
        else:
            get(tree, steps[:-1]).pop(steps[-1], None)
    return tree


@pytest.mark.parametrize("table, rules", RULES, ids=lambda value: value.name if isinstance(value, Table) else "")
def test_no_rule_speaks_that_the_ledger_does_not_know(table: Table, rules: list[Rule]) -> None:
    earlier = table.before.dialect.types if table.before is not None else {}
    known = {(type_.name, rule) for type_ in earlier.values() for rule in type_.rules}
    spoken = {
        (type_.name, rule.code)
        for type_ in table.dialect.types.values()
        for rule in type_.rules
        if (type_.name, rule) not in known
    }
    of_all = {rule.code for rule in table.dialect.rules}
    assert spoken == {(rule.type, rule.code) for rule in rules if rule.code not in of_all}
    assert of_all <= {rule.code for rule in rules}


@pytest.mark.parametrize("table, rule, changes, broken", every_case())
def test_a_hard_rule_speaks_when_it_is_broken_and_only_then(
    table: Table, rule: Rule, changes: dict[str, Any], broken: bool
) -> None:
    checked = check(table.wire(changed(table, rule, changes)), table.policy)
    found = [(finding.path, finding.severity) for finding in checked.findings if finding.code == rule.code]
    assert found == ([(rule.path, rule.severity)] if broken else [])
    assert checked.valid is not (broken and rule.severity == "refusal")
