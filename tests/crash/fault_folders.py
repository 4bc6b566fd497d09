"""Where can a fault be had? Small disks, and folders that may not be written, as far as this machine lets us."""

import os
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent.parent


@contextmanager
def small_disk(folder: Path, size: str, unchecked: str) -> Iterator[Path]:
    """A disk of its own in that folder. Where none can be mounted, the test says what was not checked."""
    folder.mkdir()
    mounted = os.geteuid() == 0 and _mounts("-t", "tmpfs", "-o", f"size={size}", "tmpfs", str(folder))
    if not mounted:
        pytest.skip(f"NOT CHECKED: {unchecked}; needs a root user who may mount a tmpfs")
    try:
        yield folder
    finally:
        subprocess.run(["umount", "--lazy", str(folder)], check=True)


@contextmanager
def read_only(folder: Path, prepare: Callable[[Path], object]) -> Iterator[Path]:
    """A folder that nobody here may write, after `prepare` did. Permissions do not bind root, but a mount does."""
    if os.geteuid() != 0:
        folder.mkdir()
        prepare(folder)
        folder.chmod(0o500)
        yield folder
        folder.chmod(0o700)
        return
    with small_disk(folder, "16m", "a read-only folder"):
        prepare(folder)
        assert _mounts("-o", "remount,ro", str(folder))
        yield folder


def _mounts(*words: str) -> bool:
    try:
        return subprocess.run(["mount", *words], capture_output=True, check=False).returncode == 0
    except FileNotFoundError:
        return False
