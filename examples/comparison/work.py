"""The work of one task, the same for every worker: it takes TASK_SECONDS and notes the attempt in ATTEMPTS_FILE."""

import asyncio
import os
import time
from pathlib import Path

_SECONDS = float(os.environ.get("TASK_SECONDS", "0"))
_ATTEMPTS = os.environ.get("ATTEMPTS_FILE")


async def do(description: str) -> str:
    _note(description)
    await asyncio.sleep(_SECONDS)
    return f"done: {description}"


def do_blocking(description: str) -> str:
    _note(description)
    time.sleep(_SECONDS)
    return f"done: {description}"


def _note(description: str) -> None:
    """One line per attempt; the file is opened for appending, so lines of several processes do not mix."""
    if _ATTEMPTS:
        with Path(_ATTEMPTS).open("a", encoding="utf-8") as file:
            file.write(f"{description}\n")
