"""`telex worker`: runs the worker of a Python module."""

import importlib
import logging
import os
import sys

import click

from telex.handlers import LOG
from telex.surfaces.cli.options import command, store_option
from telex.surfaces.cli.output import shown, shown_block
from telex.surfaces.cli.usage import DONE, FAILED, CommandError
from telex.worker import DRAIN_SECONDS, Worker

ATTRIBUTE = "worker"  # default name in the module


@command(
    "worker",
    [
        click.argument("target", metavar="MODULE[:NAME]"),
        store_option,
        click.option(
            "--drain",
            "drain_seconds",
            metavar="SECONDS",
            type=click.FloatRange(min=0.0),
            default=DRAIN_SECONDS,
            show_default=True,
            help="How long running handlers may take after SIGTERM.",
        ),
    ],
)
def worker_command(target: str, store: str | None, drain_seconds: float) -> int:
    """Run a worker: process the messages of an agent with the functions of a Python module.

    The module is imported from the working directory. NAME is the variable that holds the telex.Worker; its default is
    worker. SIGTERM and Ctrl-C let running handlers end.
    """
    worker = _worker_in(target)
    if not logging.getLogger().handlers and not logging.getLogger("telex").handlers:  # by the module, or by -v
        _print_log()
    worker.run(store, drain_seconds=drain_seconds)
    return DONE


class _EscapingFormatter(logging.Formatter):
    """Text of messages is untrusted: a terminal must not interpret it."""

    def format(self, record: logging.LogRecord) -> str:
        return shown_block(super().format(record))


def _print_log() -> None:
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(_EscapingFormatter("%(asctime)s %(levelname)s %(message)s"))
    LOG.handlers, LOG.propagate = [handler], False
    LOG.setLevel(logging.INFO)


def _worker_in(target: str) -> Worker:
    module_name, _, name = target.partition(":")
    module_name, name = module_name.removeprefix("./").removesuffix(".py").replace("/", "."), name or ATTRIBUTE
    if not all(map(str.isidentifier, module_name.split("."))):
        raise CommandError(f"{shown(target)} is no module in the working directory: give MODULE or MODULE:NAME")
    if os.getcwd() not in sys.path:
        sys.path.insert(0, os.getcwd())
    try:
        module = importlib.import_module(module_name)
    except ModuleNotFoundError as error:
        if error.name is None or not f"{module_name}.".startswith(f"{error.name}."):
            raise CommandError(f"{shown(module_name)} needs {error.name}, which is not installed", FAILED) from error
        raise CommandError(f"no module {shown(module_name)} in the working directory or on PYTHONPATH") from error
    workers = {key: value for key, value in vars(module).items() if isinstance(value, Worker)}
    if name not in workers:
        hint = f"it has {', '.join(workers)}" if workers else "it makes no telex.Worker"
        raise CommandError(f"{shown(module_name)} has no worker {shown(name)}: {hint}")
    return workers[name]
