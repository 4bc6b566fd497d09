"""Finding on an id that the work state already knows.

Ids are unique per sender, so the store accepts both messages. But an answer names only the id, so a second use would
take the answers of the first.
"""

from telex.model.finding import Finding
from telex.model.json_path import ROOT, path_of
from telex.work.view import WorkMessage


def id_reused(work_message: WorkMessage, why: str) -> Finding:
    wire = work_message.dialect.wire.id
    say = f"Give it an id of its own: {why} under {work_message.id}."
    path = path_of(wire) if wire else ROOT
    return Finding("id-reused", path, say, expected="an id not used before", found=work_message.id)
