"""Codes on what the git repository says to a report. A play on their pages happens in a repository with one commit."""

from telex.dialects.builtin.vbw_typed import VBW_TYPED
from telex.generate.codes_bus import BusExplanation
from telex.generate.codes_examples import sent

COMMITTED = "# dev commits src/auth/reset.py as 8066c02"
SEND = "$ telex send --as dev --to lead update.json"


def _update(id_: str, commit: str, file: str = "src/auth/reset.py") -> str:
    changes = {"id": id_, "commit": commit, "files_modified": [file], "concerns": None}
    return "\n".join(("$ cat update.json", sent(VBW_TYPED, "execution_update", changes).rstrip("\n"), SEND))


EVIDENCE = (
    BusExplanation(
        "evidence-contradicted",
        "The repository says otherwise",
        "A report names a commit that the git repository around the store does not have, or files that its commit did"
        " not change; a commit request names files that are neither in the work tree nor known to git. The message"
        ' passes with this warning, unless the team has `evidence = "refuse"` in telex.toml: then it is refused.'
        " A repository that holds only part of the history contradicts nobody for what it lacks.",
        "Look what was really done, with `git show --stat`, and report that. A commit that was made in another clone"
        " has to be pushed or fetched first.",
        before="\n".join((COMMITTED, _update("update-1", "abc1234"))),
        say="Name a commit that is in the repository: abc1234 is not, or has not come into it yet.",
        after=_update("update-2", "8066c02"),
        severity="warning",
    ),
    BusExplanation(
        "evidence-verified",
        "The repository bears it out",
        "The commit that a report names is in the git repository around the store, and changed every file that it"
        " names. What a commit request names is in the work tree, or was removed from it.",
        'Nothing is to be done. `telex why` shows it with the message, and `evidence = "off"` in telex.toml switches'
        " the looking off.",
        before="\n".join((COMMITTED, _update("update-1", "8066c02"))),
        say="Commit 8066c027261f is in the repository and changed the file that it names.",
        after="$ telex why update-1",
        severity="note",
    ),
)
