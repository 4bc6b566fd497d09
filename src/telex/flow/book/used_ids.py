"""What is said to whoever sends something under an id by which a matter of the work is known already?

Ids are each sender's own, so that the store keeps the messages of both. But an answer names only the id: whoever took
that of another would take its answers too.
"""

from telex.flow.book.said import Said
from telex.model.paths import ROOT, path_of
from telex.model.refusal import Finding


def id_reused(said: Said, why: str) -> Finding:
    wire = said.dialect.wire.id
    say = f"Give it an id of its own: {why} under {said.id}."
    return Finding("id-reused", path_of(wire) if wire else ROOT, say, expected="an id not used before", found=said.id)
