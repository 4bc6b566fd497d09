"""`telex migrate-store`, `telex upgrade-store` and `telex doctor nats://…`: teams on a replicated log."""

import asyncio
import os
import tempfile
from typing import TYPE_CHECKING, Any

import click

from telex import __version__
from telex.config import NATS, seen
from telex.model.named_tuple import NamedTuple
from telex.surfaces.cli.connection import explained
from telex.surfaces.cli.options import command, flag, grouped, json_option, text_option
from telex.surfaces.cli.output import shell_word, shown
from telex.surfaces.cli.render import print_one
from telex.surfaces.cli.usage import DONE, FAILED, REFUSED, CommandError

if TYPE_CHECKING:
    from telex.ports.replica import HubStatus
    from telex.stores.doctor import DoctorCheck
    from telex.stores.nats.address import HubSecrets, TeamAddress
    from telex.stores.nats.migration import MigrationSummary
    from telex.stores.nats.store import ReplicaOptions

SQLITE = "sqlite:"
NEEDS = "a replicated team needs more than the core: pip install 'telex[nats]'"


class LogOptions(NamedTuple):
    """Options of a log that is made."""

    replicas: int
    nats_monitor: str | None
    accept_weaker_durability: bool


replicas_option = click.option(
    "--replicas",
    metavar="N",
    type=click.Choice(("1", "3", "5")),
    default="3",
    callback=lambda _ctx, _param, value: int(value),
    help="Replicas of a log that is made; 3 if not given.",
)
monitor_option = text_option(
    "--nats-monitor",
    "URLS",
    "Monitoring addresses of the NATS servers, with commas between them: checks that they sync.",
)
weaker_option = flag(
    "--accept-weaker-durability", "Make a log also if an acknowledged message could be lost together with one machine."
)


def is_team(where: str | None) -> bool:
    return where is not None and where.lower().startswith(NATS)


# --- migrate-store ----------------------------------------------------------------------------------------------------


@command(
    "migrate-store",
    [
        click.argument("source", metavar="FROM"),
        click.argument("target", metavar="TO"),
        replicas_option,
        monitor_option,
        weaker_option,
        json_option,
        grouped(log=LogOptions),
    ],
)
def migrate_store_command(source: str, target: str, log: LogOptions, as_json: bool) -> int:
    """Move a team from a store file to a replicated log, or back: one of FROM and TO is sqlite:FILE, the other one
    nats://HOST:PORT/TEAM.

    Messages, leases, pending requests, dead letters, members and topics are as they were. FROM is not changed. No
    process may use the file. Tokens are in a file of their own, which is not moved.
    """
    if is_team(source) == is_team(target):
        raise CommandError("give a file and an address: telex migrate-store sqlite:FILE nats://HOST:PORT/TEAM, or back")
    if is_team(target):
        return _to_log(_file_named(source), target, log, as_json)
    return _to_file(source, _file_named(target), log, as_json)


def _to_log(path: str, target: str, log: LogOptions, as_json: bool) -> int:
    address, secrets, options = _opened_with(target, log)
    from telex.stores.nats.migration import migrate_to_log

    with explained():
        summary = asyncio.run(migrate_to_log(path, address, secrets, options))
    lines = [
        f"migrated {_counts(summary)} of {shown(seen(path))} to {address}",
        "start hubs, each with a folder of its own and the same TELEX_HUB_KEY:",
        f"  telex serve --store {shell_word(str(address))} --data FOLDER",
        "tokens are not moved: copy tokens.json from beside the file into the FOLDER of each hub, or create new ones",
        f"{shown(seen(path))} is unchanged and no longer the team's store: move it away, so that no agent uses it",
    ]
    return print_one(_facts(summary, path, address), lambda _: lines, as_json)


def _to_file(source: str, path: str, log: LogOptions, as_json: bool) -> int:
    address, secrets, options = _opened_with(source, log)
    from telex.stores.nats.migration import migrate_to_file

    with explained():
        summary = asyncio.run(migrate_to_file(address, path, secrets, options))
    lines = [
        f"migrated {_counts(summary)} of {address}, up to entry {summary.position} of its log, to {shown(seen(path))}",
        "tokens are not moved: copy tokens.json from the folder of a hub to beside the file, or create new ones",
    ]
    if summary.hubs:
        names = ", ".join(hub.url or hub.name for hub in summary.hubs)
        lines.append(f"hubs still run ({shown(names)}): what they write from now on is not in the file")
    return print_one(_facts(summary, path, address), lambda _: lines, as_json)


def _file_named(text: str) -> str:
    path = text.removeprefix(SQLITE)
    if not path or "://" in path:
        raise CommandError(f"give a file as sqlite:FILE, not {shown(text)}")
    return path


def _facts(summary: "MigrationSummary", path: str, address: "TeamAddress") -> dict[str, Any]:
    facts = {"file": path, "team": str(address), **summary._asdict()}
    return facts | {"hubs": [hub._asdict() for hub in summary.hubs]}


def _counts(summary: "MigrationSummary") -> str:
    messages = f"{summary.messages:,} message{'' if summary.messages == 1 else 's'}"
    return f"{messages} ({summary.waiting:,} waiting)"


def _opened_with(where: str, log: LogOptions) -> "tuple[TeamAddress, HubSecrets, ReplicaOptions]":
    try:
        from telex.stores.nats.address import parse_address, secrets_from
        from telex.stores.nats.durability import ask_servers
        from telex.stores.nats.store import LOG_BYTES, ReplicaOptions
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] == "telex":
            raise
        raise CommandError(NEEDS, FAILED) from error
    with explained():
        monitors = log.nats_monitor.split(",") if log.nats_monitor else ()
        options = ReplicaOptions(
            replicas=log.replicas,
            log_bytes=LOG_BYTES,
            servers=tuple(ask_servers(monitors)),
            accepts_weaker=log.accept_weaker_durability,
        )
        return parse_address(where), secrets_from(os.environ), options


# --- upgrade-store ----------------------------------------------------------------------------------------------------


@command(
    "upgrade-store",
    [
        click.argument("team", metavar="TEAM"),
        flag("--yes", "Upgrade also if a hub of another version runs: it only serves reads from then on."),
        json_option,
    ],
)
def upgrade_store_command(team: str, yes: bool, as_json: bool) -> int:
    """Bring the tables of the team at nats://HOST:PORT/TEAM to the schema of this version of Telex.

    Upgrade all hubs first. A hub that does not know the schema halts and only serves reads.
    """
    if not is_team(team):
        raise CommandError("give the address of a replicated team: telex upgrade-store nats://HOST:PORT/TEAM")
    address, secrets, options = _opened_with(team, LogOptions(3, None, True))
    from telex.stores.nats.upgrade import upgrade_team

    with explained(), tempfile.TemporaryDirectory(prefix="telex-") as folder:
        report = asyncio.run(upgrade_team(address, folder, secrets, options, version=__version__, accepts_others=yes))
    if report.is_refused:
        names = ", ".join(f"{hub.url or hub.name} has {hub.version}" for hub in report.others)
        raise CommandError(
            f"hubs of another version run ({shown(names)}): upgrade them first, or give --yes, and they "
            "only serve reads from then on",
            REFUSED,
        )
    lines = [f"hub {shown(hub.url or hub.name)}: Telex {hub.version}, entry {hub.position}" for hub in report.hubs]
    if report.before == report.after:
        lines.append(f"nothing to do: the log has schema {report.after}")
    else:
        lines.append(f"upgraded {address} from schema {report.before} to {report.after}")
    facts = {"team": str(address), "before": report.before, "after": report.after}
    return print_one(facts | {"hubs": _hub_facts(report.hubs)}, lambda _: lines, as_json)


def _hub_facts(hubs: "tuple[HubStatus, ...]") -> list[dict[str, Any]]:
    return [hub._asdict() for hub in hubs]


# --- doctor -----------------------------------------------------------------------------------------------------------


class TeamDoctorOptions(NamedTuple):
    """Options of `telex doctor nats://…`."""

    nats_monitor: str | None
    data: str | None
    compare: bool
    new_log: bool
    yes: bool
    replicas: int


def team_checks(team: str, given: TeamDoctorOptions) -> "list[DoctorCheck]":
    """Checks of a replicated team."""
    address, secrets, options = _opened_with(team, LogOptions(3, None, True))
    from telex.stores.nats.doctor import examine_team

    monitors = given.nats_monitor.split(",") if given.nats_monitor else []
    with explained():
        return asyncio.run(
            examine_team(
                address,
                secrets,
                options,
                version=__version__,
                monitors=monitors,
                data=given.data,
                compares=given.compare,
            )
        )


def begin_log_again(team: str, given: TeamDoctorOptions, as_json: bool) -> int:
    """Replace a log that has lost entries by one that begins with a hub's copy."""
    if given.data is None:
        raise CommandError("--new-log needs the folder of the copy that has the most: --data FOLDER")
    address, secrets, options = _opened_with(team, LogOptions(given.replicas, given.nats_monitor, True))
    if not given.yes:
        raise CommandError(
            f"this deletes the log and the snapshots of {address} and begins a new log with the copy in "
            f"{shown(given.data)}: stop all hubs, and give --yes too",
            REFUSED,
        )
    from telex.stores.nats.migration import begin_new_log

    with explained():
        summary = asyncio.run(begin_new_log(address, given.data, secrets, options))
    lines = [
        f"began a new log of {address} with {_counts(summary)}",
        f"the copy it was made of is now {shown(summary.aside or '')}; remove the copies of the other hubs",
        "start the hubs: each begins with the snapshot",
    ]
    print_one(_facts(summary, given.data, address), lambda _: lines, as_json)
    return DONE
