"""What is said to whoever sends something under an id by which a matter of the work is known already?

Ids are each sender's own, so that the store keeps the messages of both. But an answer names only the id: whoever took
that of another would take its answers too.
"""

from functools import partial

from telex.model.json_path import ROOT, path_of
from telex.work.rule_set import FindingText, LazyFinding
from telex.work.view import WorkMessage


def id_reused(work_message: WorkMessage, why: str) -> LazyFinding:
    return LazyFinding("id-reused", partial(_of_its_own, work_message, why))


def _of_its_own(work_message: WorkMessage, why: str) -> FindingText:
    wire = work_message.dialect.wire.id
    say = f"Give it an id of its own: {why} under {work_message.id}."
    return FindingText(path_of(wire) if wire else ROOT, say, "an id not used before", work_message.id)
