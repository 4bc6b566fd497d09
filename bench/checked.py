"""Cost of reading the messages of a store or an export and checking each by itself: `python -m bench.checked LOG`.

`telex check` reads files of bare messages only, so this program reads with the readers of replay.
"""

import gc
import sys
from collections.abc import Iterable

from telex.dialects.registry import BUILT_IN
from telex.ports.store import Query
from telex.replay.reader import LogEntry, line_reader, of_store
from telex.surfaces.cli.connection import opened_to_look
from telex.surfaces.cli.files import pieces
from telex.surfaces.cli.replay import GARBAGE_AFTER, JUDGED
from telex.validation.compiled import FastValidator

LINE_BYTES_MAX = 16_777_216


def checked(lines: Iterable[object]) -> int:
    check, found = FastValidator().check, 0
    for line in lines:
        if type(line) is LogEntry:
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
