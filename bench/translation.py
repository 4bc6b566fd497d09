"""Translation of a message into another dialect, beside parsing and serialising it."""

import statistics
from collections.abc import Callable
from typing import Any, NamedTuple

from bench.measure import UNPROMISED, Line, interleaved, micro, ratio
from bench.samples import messages
from telex.dialects.parse.reader import read
from telex.dialects.registry import BUILT_IN
from telex.dialects.schema import Dialect, MessageType, Tree
from telex.dialects.write import write
from telex.translation.translate import MessageHeader, Translation, header_of, translate
from telex.work.view import parse_tree

ROUNDS = 51


class Job(NamedTuple):
    raw: bytes
    type: MessageType
    tree: Tree
    body: str | None
    to: Dialect
    header: MessageHeader
    told: Translation


def lines() -> list[Line]:
    return [_line(dialect) for dialect in BUILT_IN]


def _line(dialect: Dialect) -> Line:
    """Every message of the dialect into every other that has a counterpart."""
    jobs = [job for raw in messages(dialect) for job in _jobs(dialect, raw)]

    def both(job: Job) -> None:
        parse_tree(job.raw, dialect, job.type)
        write(job.to, job.told.tree, job.told.body)

    work = {
        "translate": _each(lambda job: translate(job.tree, dialect, job.type, job.to, job.header, job.body), jobs),
        "decode and encode": _each(both, jobs),
    }
    seconds = interleaved(work, ROUNDS)
    times = ratio(seconds, "translate", "decode and encode")
    ours = micro(statistics.median(seconds["translate"]) / len(jobs))
    what = f"{dialect.name}: a message translated to another dialect, with a report of every field"
    against = "reading the message and writing the translation"
    return Line(what, ours, against, times, UNPROMISED, True)


def _jobs(dialect: Dialect, raw: bytes) -> list[Job]:
    reading = read(raw, (dialect,), forced=dialect)
    type_ = reading.detection.type
    assert type_ is not None
    tree = parse_tree(raw, dialect, type_)
    header = header_of(tree, dialect, type_, id="01-id", at=1_790_000_000.0, sender="somebody")
    found = []
    for to in BUILT_IN:
        for role in (header.sender_role, *to.roles) if to is not dialect else ():
            sent = header._replace(sender_role=role)
            told = translate(tree, dialect, type_, to, sent, reading.body)
            if isinstance(told, Translation):
                found.append(Job(raw, type_, tree, reading.body, to, sent, told))
                break  # the first sender that may send it there
    return found


def _each(run: Callable[[Job], Any], jobs: list[Job]) -> Callable[[], None]:
    def work() -> None:
        for job in jobs:
            run(job)

    return work
