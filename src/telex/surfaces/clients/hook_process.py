"""Process of a hook: payload on stdin, response on stdout, timeout and log.

A failing hook must not stop a client: after any failure it prints nothing, exits with 0 and appends a line to
`hook.log`.
"""

import os
import sys

from telex.surfaces.clients import table
from telex.surfaces.clients.answers import DONE, NOTHING, HookAnswer
from telex.surfaces.clients.calls import read_call
from telex.surfaces.clients.hook import HookRun, find_store, is_guarded
from telex.surfaces.clients.json_text import parse

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

PAYLOAD_BYTES_MAX = 4 * 1_048_576
DEADLINE_SECONDS = 1.5
LOG, LOG_BYTES_MAX, LOG_LINE_CHARACTERS_MAX = "hook.log", 65_536, 400


def run(client: str, event: str, *, is_process: bool) -> int:
    """Run one hook: parse the payload on stdin, write the response to stdout. `is_process`: it ends with the exit code
    returned."""
    watch = _Watchdog(client, event) if is_process and event != table.WAKE else None
    state = _HookState()
    try:
        answer = _answer(client, event, state, is_process=is_process)
    except Exception as error:
        log(state.log_folder, f"{client} {event}: {type(error).__name__}: {error}")
        return DONE
    if watch is not None:
        watch.stop()
    _write(sys.stdout, answer.out)
    _write(sys.stderr, answer.err)
    return answer.code


class _HookState:
    """Facts about a run that are logged when it fails."""

    log_folder: str | None = None


def _answer(client: str, event: str, state: _HookState, *, is_process: bool) -> HookAnswer:
    payload = read_payload()
    call = read_call(client, event, payload, os.environ)
    if call is None or (call.moment == table.BEFORE_TOOL and not is_guarded(call)):
        return NOTHING
    from time import time

    store = find_store(call.cwd, os.environ)
    if store is None:
        return NOTHING
    state.log_folder = _Watchdog.log_folder = os.path.dirname(store)
    hook = HookRun(call, os.environ, time())
    hook.keeps_store_open = is_process
    return hook.answer()


def read_payload() -> "Any":
    """Parse the JSON on stdin; None: it is invalid or too long."""
    stream = getattr(sys.stdin, "buffer", None)
    return parse_payload(stream.read(PAYLOAD_BYTES_MAX + 1) if stream is not None else b"")


def parse_payload(raw: bytes) -> "Any":
    if len(raw) > PAYLOAD_BYTES_MAX:
        return None
    try:
        return parse(raw.decode("utf-8"))
    except ValueError:
        return None


def _write(stream: "Any", text: str) -> None:
    if text:
        try:
            stream.write(text + "\n")
            stream.flush()
        except OSError:
            pass  # the client does not wait for the answer any more


class _Watchdog:
    """Ends the process without output after the timeout, also while the store waits for a lock."""

    log_folder: str | None = None

    def __init__(self, client: str, event: str) -> None:
        import _thread

        self._what = f"{client} {event}: no answer within {DEADLINE_SECONDS} s"
        self._lock = _thread.allocate_lock()
        self._lock.acquire()
        _thread.start_new_thread(self._wait, ())

    def _wait(self) -> None:
        if not self._lock.acquire(timeout=DEADLINE_SECONDS):
            log(self.log_folder, self._what)
            os._exit(DONE)

    def stop(self) -> None:
        self._lock.release()


def log(folder: str | None, text: str) -> None:
    """Append a line to hook.log beside the store. The file stays small and private, and is never a link."""
    if folder is None:
        return
    from time import gmtime, strftime

    words = " ".join(text.split())[:LOG_LINE_CHARACTERS_MAX]
    line = f"{strftime('%Y-%m-%dT%H:%M:%SZ', gmtime())} {words}\n".encode("ascii", "backslashreplace")
    flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
    try:
        descriptor = os.open(os.path.join(folder, LOG), flags, 0o600)
        try:
            if os.fstat(descriptor).st_size > LOG_BYTES_MAX:
                os.ftruncate(descriptor, 0)
            os.write(descriptor, line)
        finally:
            os.close(descriptor)
    except OSError:
        pass  # a hook has no other place to report a failure
