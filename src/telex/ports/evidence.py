"""Evidence port: whether the local repository confirms or contradicts a report's claim."""

from typing import NamedTuple, Protocol

from telex.model.finding import Severity


class EvidenceResult(NamedTuple):
    """What the repository says to a claim."""

    commit: str | None = None  # its whole hash; None where it is not there, or none was named
    strangers: tuple[str, ...] = ()  # of the files that were named: those it knows nothing of


class Evidence(Protocol):
    """Both answer None where nothing can be told: there is no repository, or it does not answer."""

    contradicted: Severity  # what it is to this team when the repository says otherwise

    async def of_commit(self, commit: str, files: tuple[str, ...]) -> EvidenceResult | None:
        """Is there such a commit, and did it change these files?"""

    async def of_files(self, files: tuple[str, ...]) -> EvidenceResult | None:
        """Are these files there to be committed, or to be removed by a commit?"""
