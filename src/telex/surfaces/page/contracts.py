"""Contracts of plans: terms, progress, and how each revision and each grant changed them."""

import re
from collections.abc import Iterable
from typing import Any

from telex.model.contracts import ContractTerms, Grant, Plan, Revision

CHANGES_MAX = 20  # of one plan, the latest
TASKS_MAX = 100
LISTS = {
    "tasks": "tasks",
    "allowed": "allowed paths",
    "forbidden": "forbidden paths",
    "must_haves": "must have",
    "checks": "checks",
    "depends_on": "depends on",
}
TEXTS = {"phase": "phase", "objective": "objective", "budget": "tokens"}
_NUMBER = re.compile(r"(\d+)")

Facts = dict[str, Any]


def sorted_plans(plans: Iterable[Plan]) -> list[Plan]:
    """Plans with a contract: open ones first, then by id in natural order, 2-1 before 10-1."""
    return sorted(
        (plan for plan in plans if plan.revisions),
        key=lambda plan: (not plan.is_open, natural_key(plan.id)),
    )


def natural_key(text: str) -> list[tuple[bool, int, str]]:
    parts = (part for part in _NUMBER.split(text) if part)
    return [(True, int(part), "") if part.isdecimal() else (False, 0, part) for part in parts]


def plan_facts(plan: Plan) -> Facts:
    last = plan.revisions[-1]
    tasks = last.words.tasks
    changes = _changes(plan)
    return {
        **last.words._asdict(),
        **{name: getattr(plan, name) for name in ("id", "to", "closed", "spent", "granted", "lifted")},
        **{name: getattr(last, name) for name in ("by", "at", "seq")},
        "revision": last.number,
        "open": plan.is_open,
        "complete": plan.is_complete,
        "tasks": [{"name": task, "done": plan.done.get(task)} for task in tasks[:TASKS_MAX]],
        "tasks_all": len(tasks),
        "tasks_done": sum(task in plan.done for task in tasks),
        "asks": len(plan.asks),
        "approved": plan.approved,
        "changes": changes[:CHANGES_MAX],
        "changes_all": len(changes),
    }


def _changes(plan: Plan) -> list[Facts]:
    """Every revision after the first and every grant, newest first, each with what it added and removed."""
    revisions = [
        _revision_change(before, after) for before, after in zip(plan.revisions, plan.revisions[1:], strict=False)
    ]
    changes = [*revisions, *map(_grant_change, plan.grants)]
    return sorted(changes, key=lambda change: -change["at"])


def _revision_change(before: Revision, after: Revision) -> Facts:
    return {
        "kind": "revision",
        "number": after.number,
        "at": after.at,
        "by": after.by,
        "seq": after.seq,
        "fields": terms_diff(before.words, after.words),
    }


def _grant_change(grant: Grant) -> Facts:
    name = "forbidden paths, overridden" if grant.override else "allowed paths"
    return {
        "kind": "grant",
        "at": grant.at,
        "by": grant.by,
        "asked_by": grant.asked_by,
        "request": grant.request,
        "conditions": grant.conditions,
        "fields": [{"name": name, "added": grant.patterns, "removed": ()}] if grant.patterns else [],
    }


def terms_diff(before: ContractTerms, after: ContractTerms) -> list[Facts]:
    """Terms that differ, each with what was added and what was removed."""
    texts = ((label, _texts(getattr(before, name)), _texts(getattr(after, name))) for name, label in TEXTS.items())
    lists = ((label, getattr(before, name), getattr(after, name)) for name, label in LISTS.items())
    return [
        {
            "name": label,
            "added": [value for value in new if value not in old],
            "removed": [value for value in old if value not in new],
        }
        for label, old, new in (*texts, *lists)
        if set(old) != set(new)
    ]


def _texts(value: str | int | None) -> tuple[str, ...]:
    return () if value in (None, "") else (f"{value:,}" if isinstance(value, int) else str(value),)
