"""What is said to whoever sends something under an id by which a matter of the work is known already?

Ids are each sender's own, so that the store keeps the messages of both. But an answer names only the id: whoever took
that of another would take its answers too.
"""

from telex.model.finding import Finding
from telex.model.json_path import ROOT, path_of
from telex.work.view import WorkMessage


def id_reused(work_message: WorkMessage, why: str) -> Finding:
    wire = work_message.dialect.wire.id
    say = f"Give it an id of its own: {why} under {work_message.id}."
    path = path_of(wire) if wire else ROOT
    return Finding("id-reused", path, say, expected="an id not used before", found=work_message.id)
