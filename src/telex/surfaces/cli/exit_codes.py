"""Exit codes of the commands, and the error that ends a command with one."""

DONE, FAILED, REFUSED, NOT_FOUND, TIMED_OUT, USAGE, INTERRUPTED = 0, 1, 2, 3, 4, 64, 130


class CommandError(Exception):
    """What is wrong with what was asked, and the code to leave with. What is wrong with a message is a finding."""

    def __init__(self, say: str, code: int = USAGE) -> None:
        super().__init__(say)
        self.say, self.code = say, code
