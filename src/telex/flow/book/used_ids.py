"""What is said to whoever sends something under an id by which a matter of the work is known already?

Ids are each sender's own, so that the store keeps the messages of both. But an answer names only the id: whoever took
that of another would take its answers too.
"""

from functools import partial

from telex.flow.book.chapter import Remark, Words
from telex.flow.book.said import Said
from telex.model.paths import ROOT, path_of


def id_reused(said: Said, why: str) -> Remark:
    return Remark("id-reused", partial(_of_its_own, said, why))


def _of_its_own(said: Said, why: str) -> Words:
    wire = said.dialect.wire.id
    say = f"Give it an id of its own: {why} under {said.id}."
    return Words(path_of(wire) if wire else ROOT, say, "an id not used before", said.id)
