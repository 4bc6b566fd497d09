"""`telex log --export` and `--import`: how does the record leave this store, and come into another?"""

import io
import sys
from collections.abc import Iterator
from typing import IO, TYPE_CHECKING

from telex.model.message import NewMessage
from telex.ports.store import Query
from telex.record.export import InvalidLine, exported, imported
from telex.surfaces.cli.check_output import json_line
from telex.surfaces.cli.exit_codes import DONE, FAILED, NOT_FOUND, CommandError
from telex.surfaces.cli.inputs import STDIN
from telex.surfaces.cli.output import shown
from telex.surfaces.cli.output_file import writing
from telex.surfaces.cli.result_output import print_one

if TYPE_CHECKING:
    from telex.client import SyncBus

STEP = 500  # messages imported together; one fsync for all of them
FLAWS_SHOWN_MAX = 20


# --- out --------------------------------------------------------------------------------------------------------------


def write_out(bus: "SyncBus", path: str, query: Query) -> int:
    """Write every event that fits, each message with its bytes, and say how many those were."""
    count = 0
    with writing(path) as target:
        for event, message in bus.events(query):
            target.write((json_line(exported(event, message)) + "\n").encode("utf-8", "backslashreplace"))
            count += 1
    sys.stderr.write(f"{count:,} {'event' if count == 1 else 'events'} written to {shown(path)}\n")
    return DONE


# --- in ---------------------------------------------------------------------------------------------------------------


def take_in(bus: "SyncBus", path: str, *, as_json: bool) -> int:
    """Take in the messages of an export. The file is read through first: if any of it is wrong, none is taken."""
    with _reading(path) as file:
        _refuse_flawed(file, path)
        file.seek(0)
        count = new = 0
        for batch in _batches(file):
            new += sum(append_result.outcome == "stored" for append_result in bus.import_messages(batch))
            count += len(batch)
    words = f"{new:,} of {count:,} messages imported" + ("" if new == count else "; the others were there already")
    return print_one({"messages": count, "new": new}, words, as_json)


def _reading(path: str) -> IO[bytes]:
    try:
        return io.BytesIO(sys.stdin.buffer.read()) if path == STDIN else open(path, "rb")
    except FileNotFoundError as error:
        raise CommandError(f"no such file: {shown(path)}", NOT_FOUND) from error
    except OSError as error:
        raise CommandError(f"cannot read {shown(path)}: {error.strerror}", FAILED) from error


def _refuse_flawed(file: IO[bytes], path: str) -> None:
    flaws = [one for one in imported(file) if isinstance(one, InvalidLine)]
    if not flaws:
        return
    told = [f"{shown(path)}:{flaw.line}: {shown(flaw.say)}" for flaw in flaws[:FLAWS_SHOWN_MAX]]
    more = [f"and {len(flaws) - FLAWS_SHOWN_MAX:,} more"] if len(flaws) > FLAWS_SHOWN_MAX else []
    raise CommandError("\n".join([*told, *more, "nothing was imported"]), FAILED)


def _batches(file: IO[bytes]) -> Iterator[list[NewMessage]]:
    batch: list[NewMessage] = []
    for one in imported(file):
        if isinstance(one, NewMessage):
            batch.append(one)
        if len(batch) == STEP:
            yield batch
            batch = []
    if batch:
        yield batch
