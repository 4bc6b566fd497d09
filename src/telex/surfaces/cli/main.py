"""Entry point of `telex`: `check`, `send` and `guard` go directly to their modules, all other commands to click.

Only this module turns errors into exit codes and handles broken pipes.
"""

import gc
import os
import sys

from telex.surfaces.cli.exit_codes import FAILED, INTERRUPTED, CommandError

AT_ONCE = frozenset({"check", "send", "guard"})  # run for every message, file and commit


def main(argv: list[str] | None = None) -> int:
    """Run one command and return its exit code. Without `argv`, for this process: stdout and stderr are its own."""
    args = sys.argv[1:] if argv is None else argv
    if argv is None:
        gc.disable()  # nothing is thrown away while starting, so looking for it is time lost
        _settle_streams()
    code = _code(args)
    if argv is None and args[:1] and args[0] in AT_ONCE:
        _leave_at_once(code)
    return code


def _code(args: list[str]) -> int:
    try:
        code = _run(args)
        sys.stdout.flush()
        return code
    except CommandError as error:
        return _say(error)
    except KeyboardInterrupt:
        return INTERRUPTED
    except BrokenPipeError:  # whoever read our output has seen enough
        _leave_quietly()
        return FAILED
    except OSError as error:  # our own output could not be written: a full disk, say
        _leave_quietly()
        return _say(CommandError(f"{error.strerror or error}", FAILED))


def _run(args: list[str]) -> int:
    if args[:1] == ["help"]:
        args = [*args[1:2], "--help"]
    if args[:1] == ["check"]:
        from telex.surfaces.cli import check

        return check.run(args[1:])
    if args[:1] == ["send"]:
        from telex.surfaces.cli import send

        return send.run(args[1:])
    if args[:1] == ["guard"]:
        from telex.surfaces.cli import guard

        return guard.run(args[1:])
    from telex.surfaces.cli import commands

    return commands.run(args)


def _say(error: CommandError) -> int:
    from telex.surfaces.cli.output import Screen, wrapped

    screen, name = Screen(sys.stderr), "telex: "
    for line in error.say.split("\n"):
        first, *others = wrapped(line, screen.width, len(name))
        screen.line("\n".join([name + first, *(" " * len(name) + other for other in others)]))
    return error.code


def _settle_streams() -> None:
    """What cannot be encoded is shown escaped. A stream that was closed before we began takes all and shows none."""
    for name in ("stdout", "stderr"):
        stream = getattr(sys, name)
        if stream is None:
            setattr(sys, name, open(os.devnull, "w", encoding="utf-8"))  # noqa: SIM115
        else:
            stream.reconfigure(errors="backslashreplace")


def _leave_at_once(code: int) -> None:
    """Without taking everything apart that the system takes back anyway: that takes a tenth of the whole run."""
    try:
        sys.stdout.flush()
        sys.stderr.flush()
    except OSError:
        return  # Python's own way out says what there is to say
    os._exit(code)


def _leave_quietly() -> None:
    """Python flushes stdout once more on its way out, and would complain again."""
    sys.stdout = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115
