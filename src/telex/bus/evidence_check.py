"""Evidence check: compare the claims of a message with the git repository. The result is stored with it as findings."""

from typing import TYPE_CHECKING

from telex.model.finding import Finding

if TYPE_CHECKING:
    from telex.bus.context import BusContext
    from telex.ports.environment import Evidence, EvidenceResult
    from telex.work.view import WorkMessage

_HEX = frozenset("0123456789abcdef")
_HASH_CHARACTERS = range(4, 65)  # git takes no shorter ones; SHA-256 has 64
_SHORT = 12  # characters of a hash, in a sentence
_NAMED_MAX, _NAME_CHARACTERS_MAX = 3, 60  # files in a sentence


async def check_claims(context: "BusContext", work_message: "WorkMessage") -> tuple[Finding, ...]:
    """Nothing, where nothing is claimed, the team does not want to know, or no repository can tell."""
    evidence = context.evidence
    if evidence is None:
        return ()
    if work_message.action == "progress":
        return await _progress(evidence, work_message)
    if work_message.action == "commit" and (files := work_message.texts("files")):
        proof = await evidence.of_files(files)
        return _files(work_message, files, proof, evidence) if proof is not None else ()
    return ()


async def _progress(evidence: "Evidence", work_message: "WorkMessage") -> tuple[Finding, ...]:
    commit, files = work_message.text("commit").strip().lower(), work_message.texts("files")
    if len(commit) not in _HASH_CHARACTERS or not _HEX.issuperset(commit):
        return ()
    proof = await evidence.of_commit(commit, files)
    if proof is None:
        return ()
    if proof.commit is None:
        say = f"Name a commit that is in the repository: {commit[:_SHORT]} is not, or has not come into it yet."
        wanted = "the hash of a commit in the repository at hand"
        return (
            Finding(
                "evidence-contradicted",
                work_message.path("commit"),
                say,
                severity=evidence.contradicted,
                expected=wanted,
                found=commit,
            ),
        )
    if proof.strangers:
        changed = f"commit {proof.commit[:_SHORT]} did not change"
        say = f"List the files that the commit changed: {changed} {_named(proof.strangers)}."
        return (_stranger(work_message, proof, say, "files that the commit changed", evidence),)
    changes = f" and changed {_count(files)}" if files else ""
    say = f"Commit {proof.commit[:_SHORT]} is in the repository{changes}."
    return (Finding("evidence-verified", work_message.path("commit"), say, "note", found=proof.commit),)


def _files(
    work_message: "WorkMessage", files: tuple[str, ...], proof: "EvidenceResult", evidence: "Evidence"
) -> tuple[Finding, ...]:
    if not proof.strangers:
        say = f"The work tree has {_count(files)}."
        return (Finding("evidence-verified", work_message.path("files"), say, "note"),)
    say = f"List the files that are there to be committed: the work tree does not have {_named(proof.strangers)}."
    return (_stranger(work_message, proof, say, "files of the work tree, or removed from it", evidence),)


def _stranger(
    work_message: "WorkMessage", proof: "EvidenceResult", say: str, wanted: str, evidence: "Evidence"
) -> Finding:
    first = proof.strangers[0]
    listed = work_message.get("files")
    path = work_message.path("files", listed.index(first)) if len(proof.strangers) == 1 else work_message.path("files")
    found = first[:_NAME_CHARACTERS_MAX]
    return Finding("evidence-contradicted", path, say, severity=evidence.contradicted, expected=wanted, found=found)


def _count(files: tuple[str, ...]) -> str:
    many = len(set(files))
    files_ = {1: "the file", 2: "both files"}.get(many, f"all {many} files")
    return f"{files_} that it names"


def _named(files: tuple[str, ...]) -> str:
    names = [file if len(file) <= _NAME_CHARACTERS_MAX else file[: _NAME_CHARACTERS_MAX - 1] + "…" for file in files]
    names = [" ".join(one.split()) for one in names[:_NAMED_MAX]]
    more = len(files) - _NAMED_MAX
    if more > 0:
        return f"{', '.join(names)} and {more} more"
    return " and ".join([", ".join(names[:-1]), names[-1]] if len(names) > 1 else names)
