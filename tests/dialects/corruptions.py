"""Corpus of corrupted messages of all types, and what Telex makes of them.

`python -m tests.dialects.corruptions [COUNT] [SEED]` prints a table: for each kind, how often the fix that is offered
as certain is right, wrong or missing, how often the text is delivered as plain text in silence, and how often the
sender cannot fix the message in one turn from the answer alone.
"""

import random
import sys
from collections import Counter
from collections.abc import Iterable, Iterator
from copy import deepcopy
from typing import NamedTuple

from telex.dialects.registry import BUILT_IN
from telex.dialects.schema import Form, Text
from telex.dialects.write import write
from telex.model.finding import refusals
from telex.validation.check import CheckPolicy, CheckResult, check
from tests.dialects import corruption_fields as corruption_fields  # registers its kinds
from tests.dialects.corruption_kinds import KINDS, Base, is_sentence, pick
from tests.dialects.damage import filled

COUNT, SEED = 5_000, 15
HARD = (
    "It's the dev's own table", 'He said "no" to it', "See http://host/a#b // or ask", "Costs 5 %, or more: #12", "42",
    "{braces} and [brackets]", "First line\nsecond line", "C:\\new\\table", "naïve – “quoted” ’tis", "true", "null",
    "Tab\there", "x < y & y > z", "`code` and **bold**", "ends with a colon:", "a, b; c | d", 'so "a", "b": "c"',
    " blanks ", "/* no comment */ here", "ends with \\", "&quot;entity&quot; &amp; more", "😬 and \u2028 there",
    "> quoted\n> twice", "don’t",
    '{"type": "dev_progress", "task": "T9"}', "a }} or {{b}} of it", "- one\n- two", "it's 'so'",
    "---\nrule\n---", "key: value", '"', "'", "50.000", "What? No!", "type: approval",
)  # fmt: skip
TRIES = 60  # messages until a kind applies to one


class Corruption(NamedTuple):
    kind: str
    meant: Base
    text: str


def bases(form: Form, rng: random.Random) -> Iterator[Base]:
    """Valid messages of all types in turn, with texts that are hard to read, without end."""
    types = [(dialect, type_) for dialect in BUILT_IN if dialect.form == form for type_ in dialect.types.values()]
    while True:
        for dialect, type_ in types:
            base = Base(dialect, type_, deepcopy(dict(type_.example)), type_.body_example, rng.choice([None, 2]), rng)
            for _ in range(rng.randrange(3)):
                found = pick(base, Text, is_sentence)
                harder = base.having(found[0], rng.choice(HARD)) if found else base
                base = harder if harder.is_valid() else base
            yield base


def corpus(count: int = COUNT, seed: int = SEED) -> Iterator[Corruption]:
    """Corruptions of all kinds in turn, over all types."""
    rng = random.Random(seed)
    streams: dict[Form, Iterator[Base]] = {form: bases(form, rng) for form in ("json", "front-matter")}
    made = 0
    while made < count:
        for name, kind in KINDS.items():
            for _ in range(TRIES):
                base = next(streams[rng.choice(kind.forms)])
                result = kind.make(base)
                meant, text = result if isinstance(result, tuple) else (base, result)
                if text and text != meant.text and meant.is_valid():
                    made += 1
                    yield Corruption(name, meant, text)
                    break


def judge(case: Corruption) -> str:
    """`right`, `wrong`, `none` or `silent`; `stuck` for none where the sender cannot fix it in one turn."""
    checked = check(case.text)
    if checked.valid and checked.outcome == "plain":
        return "silent"
    offered = checked.fixed if checked.fixed is not None else checked.tree if checked.valid else None
    if offered is None:
        return "none" if is_fixable(checked, case.meant) else "stuck"
    same = offered == case.meant.tree and (checked.body or "").strip() == case.meant.body.strip()
    return "right" if same and KINDS[case.kind].certain != "no" else "wrong"


def is_fixable(checked: CheckResult, meant: Base) -> bool:
    """Does the message pass when a literal reader fills the blanks of what was offered?"""
    if checked.skeleton is None or checked.dialect is None:
        return False
    text = write(checked.dialect, filled(checked.skeleton, meant.tree), checked.body)
    return not refusals(check(text, CheckPolicy(forced=checked.dialect)).findings)


def counted(cases: Iterable[Corruption]) -> dict[str, "Counter[str]"]:
    counts: dict[str, Counter[str]] = {}
    for case in cases:
        counts.setdefault(case.kind, Counter())[judge(case)] += 1
    return counts


def totals(counts: dict[str, "Counter[str]"]) -> dict[str, "Counter[str]"]:
    """The counts of all kinds that are certain, of those that are so in part, and of those that are not."""
    found: dict[str, Counter[str]] = {"yes": Counter(), "some": Counter(), "no": Counter()}
    for name, outcomes in counts.items():
        found[KINDS[name].certain].update(outcomes)
    return found


def table(counts: dict[str, "Counter[str]"]) -> str:
    """Markdown: a row for each kind, and the sums."""
    head = ["| kind | certain | cases | right | wrong | none | silent | not in one turn |"]
    rows = [_row(name, KINDS[name].certain, found) for name, found in counts.items()]
    sums = [_row("**all**", certain, found) for certain, found in totals(counts).items()]
    return "\n".join([*head, "|---|---|--:|--:|--:|--:|--:|--:|", *rows, *sums])


def _row(name: str, certain: str, found: "Counter[str]") -> str:
    none = found["none"] + found["stuck"]
    numbers = (sum(found.values()), found["right"], found["wrong"], none, found["silent"], found["stuck"])
    return f"| {name.replace('|', chr(92) + '|')} | {certain} | " + " | ".join(map(str, numbers)) + " |"


if __name__ == "__main__":
    print(table(counted(corpus(*map(int, sys.argv[1:])))))
