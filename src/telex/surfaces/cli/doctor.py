"""`telex doctor`: check a store for damage, list stray stores and merge one; check an installation in a client."""

import os
import sys
import time
from collections.abc import Iterator
from typing import TYPE_CHECKING

import click

from telex.surfaces.cli.connection import explained, opened, store_in, store_path, store_there
from telex.surfaces.cli.options import BUS, command, flag, grouped, text_option
from telex.surfaces.cli.output import Screen, did_you_mean, finding_lines, print_json, shell_word, shown, wrapped
from telex.surfaces.cli.render import fields, print_one
from telex.surfaces.cli.replica import (
    TeamDoctorOptions,
    begin_log_again,
    is_team,
    monitor_option,
    replicas_option,
    team_checks,
)
from telex.surfaces.cli.usage import DONE, FAILED, NOT_FOUND, CommandError

if TYPE_CHECKING:
    from telex.bus.queries import MergeReport
    from telex.stores.doctor import DoctorCheck

MERGED = "-merged"  # suffix of a merged .telex folder
_MARKS = {True: ("ok   ", "green"), False: ("wrong", "red"), None: ("note ", "yellow")}


@command(
    "doctor",
    [
        click.argument("client", metavar="[CLIENT|TEAM]", required=False),
        text_option("--merge", "PATH", "Merge this other store of the project, then put it aside.", "other"),
        monitor_option,
        text_option("--data", "FOLDER", "With TEAM: folder of a hub's copy to check."),
        flag("--compare", "With TEAM: write a checkpoint and compare the copies of all hubs there."),
        flag("--new-log", "With TEAM: delete the log and begin a new one with the copy in --data."),
        flag("--yes", "With --new-log: do it."),
        replicas_option,
        *BUS,
        grouped(team=TeamDoctorOptions),
    ],
)
def doctor_command(
    client: str | None, other: str | None, team: TeamDoctorOptions, store: str | None, as_json: bool
) -> int:
    """Check the store: the file, the digest of every message, the disk, the clock; list stray stores of the repository.

    With CLIENT (claude, codex, gemini, opencode, qwen, copilot, cursor): check how Telex is installed in it, start its
    server, replay its hooks, and show your name and store here.

    With TEAM (nats://HOST:PORT/TEAM): check the servers, the log, the snapshots and the hubs of a replicated team.

    Changes nothing. With --merge it copies members, log and waiting messages of a stray store, which can be repeated.
    """
    if client is not None and is_team(client):
        if team.new_log:
            return begin_log_again(client, team, as_json)
        return _finish(client, team_checks(client, team), as_json)
    if team.data or team.nats_monitor or team.compare or team.new_log or team.yes:
        raise CommandError("these options need the address of a replicated team: telex doctor nats://HOST:PORT/TEAM")
    if client is not None:
        return _doctor_client(client, store, as_json)
    if other is not None:
        return _merge(other, store, as_json)
    from telex.stores.doctor import examine

    with explained():
        path = store_there(store_path(store))
        checks = [*examine(path, time.time()), *_alert_checks(path), *_strays(path)]
    return _finish(path, checks, as_json)


def _finish(title: str, checks: "list[DoctorCheck]", as_json: bool) -> int:
    if as_json:
        print_json(*(fields(check, "name ok say") for check in checks))
    else:
        _print_checks(title, checks)
    return FAILED if any(check.ok is False for check in checks) else DONE


def _doctor_client(client: str, store: str | None, as_json: bool) -> int:
    from telex.surfaces.cli.init import places, setup_here
    from telex.surfaces.clients.diagnosis import check_client, check_identity
    from telex.surfaces.clients.install import NAMES

    if client not in NAMES:
        raise CommandError(f"no client {shown(client)}; {did_you_mean(client, NAMES)}", NOT_FOUND)
    checks = list(check_client(client, places(), setup_here()))
    checks += _store_checks(store)
    checks += check_identity(client, store_path(store), os.environ)
    return _finish(client, checks, as_json)


def _store_checks(store: str | None) -> "Iterator[DoctorCheck]":
    """The store that commands use in this folder, at the top of its work tree, and in the main work tree."""
    from telex.config import load
    from telex.connection import store_path as path_of
    from telex.project import work_tree
    from telex.stores.doctor import DoctorCheck

    path, here = store_path(store), os.getcwd()
    exists = os.path.exists(path)
    yield DoctorCheck("store", True if exists else None, path if exists else f"{path}: the first message creates it")
    tree = work_tree(here) if store is None else None
    for folder in dict.fromkeys([tree.top, tree.main]) if tree is not None else ():
        os.chdir(folder)
        try:
            with explained():
                other = path_of(None, load(folder))
        finally:
            os.chdir(here)
        if os.path.realpath(other) != os.path.realpath(path):
            yield DoctorCheck("store", False, f"in {folder} it is another one: {other}")


def _print_checks(path: str, checks: "list[DoctorCheck]") -> None:
    screen, widest = Screen(sys.stdout), max((len(check.name) for check in checks), default=0)
    screen.line(screen.paint(shown(path), "bold"))
    for check in checks:
        word, colour = _MARKS[check.ok]
        first, *others = wrapped(shown(check.say), screen.width, widest + 11)
        screen.line(f"  {screen.paint(word, colour)}  {check.name:<{widest}}  {first}")
        for line in others:
            screen.line(" " * (widest + 11) + line)


def _alert_checks(path: str) -> "Iterator[DoctorCheck]":
    """Settings of alerts, and the last error of each target."""
    from telex.config import seen
    from telex.config.notify import load_notify
    from telex.errors import SettingsError, StoreError
    from telex.stores.doctor import DoctorCheck, alert_events

    try:
        settings = load_notify()
        if settings is None:
            return
        from telex.surfaces.alerts.state import AlertState
        from telex.surfaces.alerts.targets import targets_of

        known = AlertState().fold(alert_events(path))
    except ModuleNotFoundError:  # without the packages of the hub
        return
    except (SettingsError, StoreError) as error:
        yield DoctorCheck("alerts", False, error.say)
        return
    for target in targets_of(settings):
        problem = target.problem() or known.errors.get(target.id)
        waiting = known.pending(target.id)
        say = problem or f"{seen(settings.source or '')}; {f'{waiting} not delivered yet' if waiting else 'no failure'}"
        yield DoctorCheck("alerts", problem is None, f"{target.name}: {say}")


def _strays(path: str) -> "Iterator[DoctorCheck]":
    """Other stores of the same repository, if `path` is the one that commands use."""
    from telex.config import seen
    from telex.connection import FILE
    from telex.project import stray_stores
    from telex.stores.doctor import DoctorCheck, examine

    if os.path.realpath(path) != os.path.realpath(store_path(None)):
        return
    for stray in stray_stores(os.getcwd(), FILE):
        contents = next((check.say for check in examine(stray, time.time()) if check.name == "contents"), "unreadable")
        merge = f"telex doctor --merge {shell_word(seen(os.path.dirname(stray)))}"
        yield DoctorCheck("stray store", None, f"{seen(stray)}: {contents}; no command uses it. Merge it with {merge}")


# --- merge ------------------------------------------------------------------------------------------------------------
def _merge(other: str, store: str | None, as_json: bool) -> int:
    path = store_in(other) if os.path.isdir(other) else other
    if not os.path.exists(path):
        raise CommandError(f"no store at {shown(path)}", NOT_FOUND)
    target = store_path(store)
    if os.path.exists(target) and os.path.samefile(path, target):
        raise CommandError(f"{shown(path)} is the store that commands use here: give the other one")
    report = _copied(path, store)
    aside = _put_aside(path)
    if aside is not None:
        late = _copied(
            os.path.join(aside, os.path.basename(path)), store
        )  # messages that a running process wrote meanwhile
        report = report._replace(messages=report.messages + late.messages, waiting=report.waiting + late.waiting)
    facts = report._asdict() | {"refused": [finding._asdict() for finding in report.refused], "aside": aside}
    print_one(facts, lambda screen: _lines(report, path, aside, screen), as_json)
    return DONE


def _copied(path: str, store: str | None) -> "MergeReport":
    from telex.bus import run_sync
    from telex.bus.local import LocalBus
    from telex.bus.queries import merge

    with opened(store) as this, opened(f"sqlite:{path}") as other:
        target, source = this.awaitable, other.awaitable
        assert isinstance(target, LocalBus)
        assert isinstance(source, LocalBus)
        return run_sync(merge(source, target, time.time()))


def _put_aside(path: str) -> str | None:
    """Rename the .telex folder of a merged store, so that no command uses it."""
    from telex.project import STORE_FOLDER

    folder = os.path.dirname(os.path.abspath(path))
    if os.path.basename(folder) != STORE_FOLDER:
        return None
    aside, number = folder + MERGED, 1
    while os.path.lexists(aside):
        number += 1
        aside = f"{folder}{MERGED}-{number}"
    os.rename(folder, aside)
    return aside


def _lines(report: "MergeReport", path: str, aside: str | None, screen: Screen) -> list[str]:
    from telex.config import seen

    waiting = f", {report.waiting:,} of them waiting for their recipients" if report.waiting else ""
    members = f"; joined: {', '.join(map(shown, report.members))}" if report.members else ""
    lines = [f"merged {report.messages:,} messages of {shown(seen(path))}{waiting}{members}"]
    lines += finding_lines(report.refused, screen)
    return [*lines, f"it is now {shown(seen(aside))}, which can be deleted"] if aside is not None else lines
