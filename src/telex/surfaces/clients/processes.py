"""Processes of clients: whether one runs, when it began, and the client process that a command was started from."""

import os

from telex.surfaces.clients.table import CLIENTS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

ANCESTORS_MAX = 32
_SHELLS = frozenset({"sh", "bash", "dash", "zsh", "fish", "ksh", "ash", "busybox", "env", "timeout", "nice", "telex"})


def is_process(pid: int) -> bool:
    if pid <= 0:
        return False
    try:
        os.kill(pid, 0)
    except PermissionError:
        return True
    except (OSError, OverflowError):
        return False
    return True


def client_process(client: str, environ: "Mapping[str, str]") -> int:
    """Process of the client: as it names itself, or the nearest ancestor that is no shell; 0: unknown."""
    variable = CLIENTS[client].pid_variable if client in CLIENTS else ""
    named = environ.get(variable, "") if variable else ""
    if named.isdecimal() and len(named) < 10 and is_process(int(named)):
        return int(named)
    return next((pid for pid, name in ancestors() if name not in _SHELLS), 0)


def ancestors() -> "Iterator[tuple[int, str]]":
    """Process ids and names from the parent of this process upwards; only the parent where there is no /proc."""
    pid = os.getppid()
    for _ in range(ANCESTORS_MAX):
        if pid <= 1:
            return
        status = process_status(pid)
        if status is None:
            yield pid, ""
            return
        yield pid, status[0]
        pid = int(status[1])


def process_status(pid: int) -> tuple[str, str, str] | None:
    """Name, parent and start of a process, in ticks since the boot; None: not Linux, or it has ended."""
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            text = file.read().decode("utf-8", "replace")
    except OSError:
        return None
    name, fields = text[text.index("(") + 1 : text.rindex(")")], text[text.rindex(")") + 2 :].split()
    return name, fields[1], fields[19]


def began_at(pid: int) -> float | None:
    """Start time of a process, in seconds since 1970; None: unknown."""
    status = process_status(pid)
    if status is None:
        return None
    try:
        with open("/proc/stat", "rb") as file:
            boot = next(line for line in file if line.startswith(b"btime "))
    except (OSError, StopIteration):
        return None
    return int(boot.split()[1]) + int(status[2]) / os.sysconf("SC_CLK_TCK")
