"""`telex backup` and `telex restore`: a store and its tokens in one file, and back."""

import os
from typing import TYPE_CHECKING, Any

import click

from telex.config import seen
from telex.surfaces.cli.connection import MEMORY, explained, store_path, store_there
from telex.surfaces.cli.options import command, flag, json_option, store_option
from telex.surfaces.cli.output import shell_word, shown
from telex.surfaces.cli.render import day_time, print_one, stamp
from telex.surfaces.cli.usage import NOT_FOUND, CommandError

if TYPE_CHECKING:
    from telex.stores.sqlite.backup import BackupSummary

backup_argument = click.argument("file", metavar="FILE", type=click.Path())


@command("backup", [backup_argument, store_option, json_option])
def backup_command(file: str, store: str | None, as_json: bool) -> int:
    """Write a backup of the store to FILE while it is in use: messages, deliveries, leases, log, members and tokens.

    FILE is replaced if it is a backup. It is private to you: it has all messages.
    """
    from telex.stores.sqlite.backup import write_backup

    path = store_there(_file_of(store))
    with explained():
        summary = write_backup(path, file, _beside(path))
    return print_one(_facts(summary, file, path), f"backed up {_counts(summary)} to {shown(file)}", as_json)


@command(
    "restore",
    [
        backup_argument,
        flag("--force", "Replace the store that is there; it is backed up beside it first."),
        store_option,
        json_option,
    ],
)
def restore_command(file: str, force: bool, store: str | None, as_json: bool) -> int:
    """Restore the store from a backup.

    Everything is as it was at the time of the backup: messages acked since then are delivered again. No process may use
    the store meanwhile.
    """
    from telex.stores.sqlite.backup import restore_backup

    path = _file_of(store)
    if not os.path.exists(file):
        raise CommandError(f"no such file: {shown(file)}", NOT_FOUND)
    if os.path.exists(path) and not force:
        again = f"telex restore {shell_word(file)} --force"
        raise CommandError(f"{shown(seen(path))} exists: {again} backs it up and replaces it")
    with explained():
        summary = restore_backup(file, path, _beside(path), replace=force)
    lines = [f"restored {_counts(summary)} to {shown(seen(path))}"]
    if summary.aside is not None:
        lines.append(f"the store that was there is now {shown(seen(summary.aside))}")
    return print_one(_facts(summary, file, path), lambda screen: lines, as_json)


def _file_of(store: str | None) -> str:
    path = store_path(store)
    if path == MEMORY:
        raise CommandError("an in-memory store has no file: give one with --store")
    return path


def _beside(path: str) -> dict[str, str]:
    from telex.surfaces.http.tokens import USUAL_NAME, tokens_path

    return {USUAL_NAME: tokens_path(path)}


def _counts(summary: "BackupSummary") -> str:
    tokens = ", with its tokens" if summary.beside else ""
    at = f", as of {day_time(summary.latest_at)[:19]} UTC" if summary.latest_at else ""
    messages = f"{summary.messages:,} message{'' if summary.messages == 1 else 's'}"
    return f"{messages} ({summary.waiting:,} waiting){tokens}{at}"


def _facts(summary: "BackupSummary", file: str, store: str) -> dict[str, Any]:
    latest_at = stamp(summary.latest_at) if summary.latest_at else None
    return {"file": file, "store": store, **summary._asdict(), "latest_at": latest_at}
