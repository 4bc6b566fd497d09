"""What does it cost to read the messages of a record, and to check each of them? `python -m bench.checked LOG [--work]`

`telex check` reads messages that stand there by themselves. Those of a store or an export have to be taken out first,
by the same readers that a replay has; then each is checked by itself, as `telex check` does it. With `--work` each is
also held against the rules of the work, one after the other and as the bus does it for one message.
"""

import gc
import sys
from collections.abc import Iterable
from typing import Any

from telex.delivery.validator_cache import Participants, ValidatorCache
from telex.dialects.registry import BUILT_IN
from telex.model.finding import refusals
from telex.model.roster import EVERYONE
from telex.ports.store import Query
from telex.replay.reader import LogEntry, line_reader, of_store
from telex.replay.team import ReplayTeam
from telex.surfaces.cli.bus_connection import opened_to_look
from telex.surfaces.cli.inputs import pieces
from telex.surfaces.cli.replay import GARBAGE_AFTER, JUDGED
from telex.validation.check import STRICT
from telex.validation.fast_validator import FastValidator
from telex.work import reducer
from telex.work.rule_set import RuleContext
from telex.work.view import WorkMessage, parse_tree

LINE_BYTES_MAX = 16_777_216


def checked(lines: Iterable[object]) -> int:
    check, found = FastValidator().check, 0
    for line in lines:
        if type(line) is LogEntry:
            found += check(line.raw).valid
    return found


def weighed(lines: Iterable[object]) -> int:
    lanes, team, book, found = ValidatorCache(STRICT), ReplayTeam(STRICT), dict[str, Any](), 0
    for line in lines:
        if type(line) is not LogEntry:
            continue
        looked = lanes.check(line.raw, Participants())
        kind, facts = looked.traits, looked.envelope
        if kind is None or kind.action is None or looked.findings:
            found += not looked.findings
            continue
        sender, tree = line.sender or "", parse_tree(line.raw, kind.dialect, kind.type)
        said = WorkMessage(
            line.number, facts.id or "", line.number, sender, sender, EVERYONE, team.everybody(), kind.dialect,
            kind.type, tree, facts.correlation, facts.reply_to,
        )  # fmt: skip
        if refusals(reducer.check_rules(said, book, RuleContext(said.at, team.roster))):
            continue
        found += 1
        for topic in reducer.topics_changed(said, book):
            book[topic] = reducer.fold(topic, book.get(topic), said)
    return found


def main(log: str, *how: str) -> None:
    gc.set_threshold(GARBAGE_AFTER)
    asked = weighed if "--work" in how else checked
    if log.endswith(".jsonl"):
        read = line_reader(BUILT_IN)
        found = asked(read(number, raw) for number, raw, _ in pieces(log, LINE_BYTES_MAX, lines=True))
    else:
        with opened_to_look(log) as bus:
            found = asked(of_store(event, message) for event, message in bus.events(Query(kinds=JUDGED)))
    sys.stdout.write(f"{found:,} pass\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
