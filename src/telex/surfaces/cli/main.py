"""Entry point of `telex`: the commands in `FAST` go directly to their modules, all others to click.

Only this module turns errors into exit codes and handles broken pipes. It imports nothing at the start: a hook runs for
every tool call of a coding agent, and mostly has nothing to do.
"""

import gc
import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from telex.surfaces.cli.usage import CommandError

FAST = ("check", "send", "guard", "hook", "mcp")  # run for every message, file, commit, tool call and session

ENVIRONMENT = "environment"  # topic of `telex help` beside the commands


def main(argv: list[str] | None = None) -> int:
    """Run one command and return its exit code. Without `argv`: for this process, whose streams it may change."""
    args = sys.argv[1:] if argv is None else argv
    if argv is None:
        gc.disable()  # nothing becomes garbage during the start, so collecting costs time for nothing
        _prepare_streams()
    code = _code(args, is_process=argv is None)
    if argv is None and args[:1] and args[0] in FAST:
        _exit_at_once(code)
    return code


def _code(args: list[str], *, is_process: bool) -> int:
    if len(args) == 3 and args[0] == "hook" and not any(word.startswith("-") for word in args):
        from telex.surfaces.clients.hook_process import run

        return run(args[1], args[2], is_process=is_process)
    from telex.surfaces.cli.usage import FAILED, INTERRUPTED, CommandError, diagnose

    diagnose(0)
    try:
        code = _run(args)
        sys.stdout.flush()
        return code
    except CommandError as error:
        return _report(error)
    except KeyboardInterrupt:
        return INTERRUPTED
    except BrokenPipeError:  # the reader of our output has closed it
        _discard_stdout()
        return FAILED
    except OSError as error:  # our output could not be written: a full disk, for example
        _discard_stdout()
        return _report(CommandError(f"{error.strerror or error}", FAILED))


def _run(args: list[str]) -> int:
    while args[:1] and args[0] in ("-v", "--verbose", "--debug"):
        from telex.surfaces.cli.usage import DEBUG, VERBOSE, diagnose

        diagnose(DEBUG if args[0] == "--debug" else VERBOSE)
        args = args[1:]
    if args[:1] == ["help"] and not {ENVIRONMENT, "--help", "-h"}.intersection(args[1:2]):
        args = [*args[1:], "--help"]
    from importlib import import_module

    is_fast = bool(args) and args[0] in FAST
    module = import_module(f"telex.surfaces.cli.{args[0] if is_fast else 'commands'}")
    code: int = module.run(args[1:] if is_fast else args)
    return code


def _report(error: "CommandError") -> int:
    from telex.surfaces.cli.output import Screen, wrapped
    from telex.surfaces.cli.usage import DEBUG, Diagnostics

    if Diagnostics.level == DEBUG:
        import traceback

        traceback.print_exception(error)
    screen, name = Screen(sys.stderr), "telex: "
    for line in error.say.split("\n"):
        first, *others = wrapped(line, screen.width, len(name))
        screen.line(name + first, *(" " * len(name) + other for other in others))
    return error.code


def _prepare_streams() -> None:
    """Escape what a stream cannot encode. A stream that is closed is replaced by /dev/null."""
    for name in ("stdout", "stderr"):
        stream = getattr(sys, name)
        if stream is None:
            setattr(sys, name, open(os.devnull, "w", encoding="utf-8"))  # noqa: SIM115
        else:
            stream.reconfigure(errors="backslashreplace")


def _exit_at_once(code: int) -> None:
    """Skip the interpreter's teardown, which takes a tenth of the run."""
    try:
        sys.stdout.flush()
        sys.stderr.flush()
    except OSError:
        return  # the interpreter reports it on its usual way out
    os._exit(code)


def _discard_stdout() -> None:
    """The interpreter flushes stdout once more at exit and would fail again."""
    sys.stdout = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115
