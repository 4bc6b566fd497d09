"""Safe calls of git: neither a message nor a hostile repository can make it run other programs.

Only plumbing commands that read objects and lists are used: they run no hook, filter, text converter, pager or
credential helper. Options that could still start a program (file-system monitor, fetch of missing objects) are off.
Git's own ownership check stays: an untrusted repository gives no answer.
"""

import os
import shutil
import subprocess
import time
from collections.abc import Sequence

ANSWER_SECONDS = 3.0  # for all that one message makes us ask
SULKING_SECONDS = 60.0  # git did not answer: it is left alone for so long

_SETTINGS = (
    "core.fsmonitor=false",
    f"core.hooksPath={os.devnull}",
    "core.quotePath=false",
    "safe.bareRepository=explicit",
)
# In place of whatever a hook, or whoever started us, has set for git: that was meant for another question.
_ENVIRONMENT = {
    "GIT_ALLOW_PROTOCOL": "none",  # nothing is fetched, by no protocol
    "GIT_NO_LAZY_FETCH": "1",
    "GIT_NO_REPLACE_OBJECTS": "1",  # an object is what its hash says
    "GIT_OPTIONAL_LOCKS": "0",
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_PAGER": "cat",
    "LC_ALL": "C",
}

_silent_until = float("-inf")  # by the monotonic clock


class GitUnavailable(Exception):
    """Git is not there, takes too long, or does not want to: nothing is claimed then."""


class GitCommand:
    """The git of one repository, for as long as one message may take."""

    def __init__(self, top: str) -> None:
        program = shutil.which("git")
        if program is None or time.monotonic() < _silent_until:
            raise GitUnavailable
        self._deadline = time.monotonic() + ANSWER_SECONDS
        options = [word for setting in _SETTINGS for word in ("-c", setting)]
        self._command = [program, "--no-pager", "--literal-pathspecs", *options]
        self._top = top
        kept = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
        self._environment = kept | _ENVIRONMENT | {"GIT_CEILING_DIRECTORIES": os.path.dirname(top)}

    def ask(self, words: Sequence[str], given: bytes = b"") -> bytes:
        """What git prints.

        Raises:
            NoAnswer: nothing, or nothing in time.
        """
        global _silent_until
        try:
            asked = subprocess.run(
                [*self._command, *words],
                cwd=self._top,
                env=self._environment,
                input=given,
                capture_output=True,
                timeout=max(self._deadline - time.monotonic(), 0.001),
                check=False,
            )
        except subprocess.TimeoutExpired as error:
            _silent_until = time.monotonic() + SULKING_SECONDS
            raise GitUnavailable from error
        except (OSError, ValueError) as error:
            raise GitUnavailable from error
        if asked.returncode != 0:
            raise GitUnavailable
        return asked.stdout
