"""`telex worker`: runs the worker of a Python module."""

import importlib
import os
import sys

import click

from telex.surfaces.cli.options import command, store_option, text_option
from telex.surfaces.cli.output import shown
from telex.surfaces.cli.usage import DONE, FAILED, CommandError
from telex.worker import DRAIN_SECONDS, Worker

ATTRIBUTE = "worker"  # default name in the module


@command(
    "worker",
    [
        click.argument("target", metavar="MODULE[:NAME]"),
        text_option("--as", "NAME", "Agent name; that of the telex.Worker if not given.", "agent"),
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
def worker_command(target: str, agent: str | None, store: str | None, drain_seconds: float) -> int:
    """Run a worker: process the messages of an agent with the functions of a Python module.

    The module is imported from the working directory. NAME is the variable that holds the telex.Worker; its default is
    worker. SIGTERM and Ctrl-C let running handlers end. To share the work of a role, start the module several times,
    each with another --as.
    """
    worker = _worker_in(target)
    worker.name = agent or worker.name
    worker.run(store, drain_seconds=drain_seconds)
    return DONE


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
