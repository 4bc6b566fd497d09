"""Isolation of the lab: no network but loopback, and no process that outlives the run.

The run is started again inside its own network and process namespaces, where the system permits it. Without them the
clients are configured to stay on loopback all the same, and processes are found by a variable in their environment.
"""

import fcntl
import os
import shutil
import signal
import socket
import struct
import subprocess
import sys

MARK = "TELEX_LAB_RUN"
IFF_UP, SIOCSIFFLAGS = 1, 0x8914


def isolate(module: str) -> bool:
    """Run `python -m module` again inside namespaces and exit with its code. False: not possible here."""
    if os.environ.get(MARK):
        if os.environ.get(f"{MARK}_ISOLATED"):
            start_loopback()
            return True
        return False
    os.environ[MARK] = str(os.getpid())
    command = ["unshare", "--net", "--pid", "--fork", "--kill-child", "--mount-proc"]
    if os.geteuid() != 0:
        command += ["--user", "--map-root-user"]
    if shutil.which("unshare") is None or subprocess.run([*command, "true"], capture_output=True).returncode != 0:
        print("!! no namespaces here: the clients are NOT cut off from the network", file=sys.stderr)
        return False
    # The shell is process 1 of the namespace: it reaps the orphans of the clients while it waits.
    words = [*command, "sh", "-c", '"$@"; exit $?', "sh", sys.executable, "-m", module, *sys.argv[1:]]
    raise SystemExit(subprocess.run(words, env={**os.environ, f"{MARK}_ISOLATED": "1"}).returncode)


def start_loopback() -> None:
    with socket.socket() as any_socket:
        fcntl.ioctl(any_socket, SIOCSIFFLAGS, struct.pack("16sH14x", b"lo", IFF_UP))


def end_processes(mark: str) -> int:
    """Kill every process that has the mark of this run in its environment, but this one. Returns how many."""
    wanted, count = f"{MARK}={mark}".encode(), 0
    for name in filter(str.isdigit, os.listdir("/proc")):
        if int(name) == os.getpid():
            continue
        try:
            with open(f"/proc/{name}/environ", "rb") as file:
                if f"{MARK}_CLIENT=1".encode() not in (found := file.read().split(b"\0")) or wanted not in found:
                    continue
            os.kill(int(name), signal.SIGKILL)
            count += 1
        except OSError:
            continue  # it has ended, or belongs to somebody else
    return count


def marks() -> dict[str, str]:
    """Variables of every process that the lab starts for a client."""
    return {MARK: os.environ.get(MARK, "0"), f"{MARK}_CLIENT": "1"}
