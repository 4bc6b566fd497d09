"""Findings on an id that the work state already knows, or knows in another spelling.

Ids of messages are unique per sender, so the store accepts both messages. But an answer names only the id, so a second
use would take the answers of the first. Tasks and plans are named by hand, and two spellings are two tasks.
"""

from telex.model.finding import Finding
from telex.model.limits import LIMITS
from telex.model.text import ROOT, path_of
from telex.work.view import WorkMessage


def id_reused(work_message: WorkMessage, why: str) -> Finding:
    wire = work_message.dialect.wire.id
    say = f"Give it an id of its own: {why} under {work_message.id}."
    path = path_of(wire) if wire else ROOT
    return Finding("id-reused", path, say, expected="an id not used before", found=work_message.id)


def id_nearly_known(work_message: WorkMessage, name: str, known: str) -> Finding:
    """`name`: the field of the action that has the id."""
    found = work_message.text(name)[: LIMITS.found_characters_max]
    say = f"Write {known}, if that is meant: {found!r} is another one, and differs by case or blanks only."
    return Finding("id-nearly-known", work_message.path(name), say, "warning", found=found, nearest=known)
