"""What does it cost to read the messages of a record, and to check each of them? `python -m bench.checked LOG [--work]`

`telex check` reads messages that stand there by themselves. Those of a store or an export have to be taken out first,
by the same readers that a replay has; then each is checked by itself, as `telex check` does it. With `--work` each is
also held against the rules of the work, one after the other and as the bus does it for one message.
"""

import gc
import sys
from collections.abc import Iterable
from typing import Any

from telex.dialects.registry import BUILT_IN
from telex.flow.admission import STRICT
from telex.flow.book import pages
from telex.flow.book.chapter import Ground
from telex.flow.book.said import Said, tree_of
from telex.flow.express import Express
from telex.flow.lanes import Lanes, Pair
from telex.model.refusal import refusals
from telex.model.roster import EVERYONE
from telex.ports.store import Query
from telex.replay.lines import Told, line_reader, of_store
from telex.replay.team import Team
from telex.surfaces.cli.bus_option import opened_to_look
from telex.surfaces.cli.replay import GARBAGE_AFTER, JUDGED
from telex.surfaces.cli.sources import pieces

LINE_BYTES_MAX = 16_777_216


def checked(lines: Iterable[object]) -> int:
    check, found = Express().check, 0
    for line in lines:
        if type(line) is Told:
            found += check(line.raw).valid
    return found


def weighed(lines: Iterable[object]) -> int:
    lanes, team, book, found = Lanes(STRICT), Team(STRICT), dict[str, Any](), 0
    for line in lines:
        if type(line) is not Told:
            continue
        looked = lanes.look(line.raw, Pair())
        kind, facts = looked.kind, looked.facts
        if kind is None or kind.deed is None or looked.findings:
            found += not looked.findings
            continue
        sender, tree = line.sender or "", tree_of(line.raw, kind.dialect, kind.type)
        said = Said(
            line.number, facts.id or "", line.number, sender, sender, EVERYONE, team.everybody(), kind.dialect,
            kind.type, tree, facts.correlation, facts.reply_to,
        )  # fmt: skip
        if refusals(pages.weigh(said, book, Ground(said.at, team.roster))):
            continue
        found += 1
        for topic in pages.belongs(said, book):
            book[topic] = pages.fold(topic, book.get(topic), said)
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
