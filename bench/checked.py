"""What does it cost to read the messages of a record, and to check each of them? `python -m bench.checked STORE|EXPORT`

`telex check` reads messages that stand there by themselves. Those of a store or an export have to be taken out first,
by the same readers that a replay has; then each is checked by itself, as `telex check` does it.
"""

import gc
import sys
from collections.abc import Iterable

from telex.dialects.registry import BUILT_IN
from telex.flow.express import Express
from telex.ports.store import Query
from telex.replay.lines import Told, line_reader, of_store
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


def main(log: str) -> None:
    gc.set_threshold(GARBAGE_AFTER)
    if log.endswith(".jsonl"):
        read = line_reader(BUILT_IN)
        found = checked(read(number, raw) for number, raw, _ in pieces(log, LINE_BYTES_MAX, lines=True))
    else:
        with opened_to_look(log) as bus:
            found = checked(of_store(event, message) for event, message in bus.events(Query(kinds=JUDGED)))
    sys.stdout.write(f"{found:,} pass\n")


if __name__ == "__main__":
    main(sys.argv[1])
