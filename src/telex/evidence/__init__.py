"""Verification of a report's claims against the local git repository.

Most messages claim nothing of that kind, so git is neither imported nor started until one does.
"""

from telex.model.finding import Severity
from telex.ports.environment import Evidence, EvidenceResult

KNOWN_MAX = 1_024  # what was found true of a commit stays true


class GitEvidence:
    """A repository, and the folder in it from which it is seen: where the store is."""

    def __init__(self, top: str, folder: str, contradicted: Severity, *, aside: bool = False) -> None:
        """`aside`: ask in a thread, so that an event loop goes on meanwhile."""
        self.contradicted = contradicted
        self._top, self._folder, self._aside = top, folder, aside
        self._known: dict[tuple[str, tuple[str, ...]], EvidenceResult] = {}

    async def of_commit(self, commit: str, files: tuple[str, ...]) -> EvidenceResult | None:
        evidence_result = self._known.get((commit, files))
        if evidence_result is not None:
            return evidence_result
        proof = await self._asked(commit, files)
        if proof is not None and proof.commit is not None and not proof.strangers:
            if len(self._known) >= KNOWN_MAX:
                self._known.clear()
            self._known[commit, files] = proof
        return proof

    async def of_files(self, files: tuple[str, ...]) -> EvidenceResult | None:
        return await self._asked(None, files)  # a work tree changes: nothing is remembered of it

    async def _asked(self, commit: str | None, files: tuple[str, ...]) -> EvidenceResult | None:
        from telex.evidence.claims import look

        if not self._aside:
            return look(self._top, self._folder, commit, files)
        import asyncio

        return await asyncio.to_thread(look, self._top, self._folder, commit, files)


def _keeps_its_word(repository: GitEvidence) -> Evidence:
    """Never called: it is here for the type checker."""
    return repository
