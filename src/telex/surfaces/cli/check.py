"""`telex check`: validate messages without a bus, and print the findings as text or JSON."""

import os
import sys
from typing import Any

from telex.model.finding import Finding, refusals
from telex.model.limits import LIMITS
from telex.model.named_tuple import NamedTuple
from telex.model.roster import ALL_OF_ROLE, AT, EVERYONE, ONE_OF_ROLE
from telex.model.text import ROOT
from telex.project import find_settings
from telex.surfaces.cli.files import file_word, files_in, has_lines, pieces
from telex.surfaces.cli.output import (
    Screen,
    blanks_in,
    finding_lines,
    fix_head,
    fix_lines,
    print_json,
    shown,
    stderr_has_its_own_reader,
    verdict,
    wire_text,
)
from telex.surfaces.cli.usage import DONE, REFUSED, CommandError, Option, ParsedOptions, parse
from telex.validation.check import CheckPolicy, CheckResult, check

OPTIONS = (
    Option("--role", "ROLE", "sender role; the message must not claim another"),
    Option("--to", "ROLE", "recipient role"),
    Option("--dialect", "NAME", "check as this dialect only; a .toml file declares your own"),
    Option("--team-dialect", "NAME", "dialect to prefer when a message fits two"),
    Option("--lenient", "", "report the findings and accept the message"),
    Option("--jsonl", "", "one message per line, whatever the file name"),
    Option("--max-bytes", "N", f"message size limit; the team's, or {LIMITS.message_bytes_max}, if not given"),
    Option("--json", "", "print the answer as JSON, one line for each message"),
    Option("--format", "vbw", 'print {"valid", "errors"} in the words of vbw\'s own validator'),
    Option("--quiet", "", "print nothing for accepted messages", "-q"),
    Option("--help", "", "show this", "-h"),
)
FORMATS = ("text", "json", "vbw")
# options that decide how a message is read; a printed command repeats them
REPEATED = ("--role", "--to", "--dialect", "--team-dialect", "--max-bytes")
USAGE_LINE = "telex check FILE…|DIR|- [options]"
HELP = f"""{USAGE_LINE}

Check messages: print every finding and how to fix it. A file is one message; a
.jsonl or .ndjson file has one per line; a folder is searched; - is stdin.

%s

Exit code: 0 all accepted, 2 any refused (findings are on stderr), 3 no such
file, 64 wrong usage, 1 anything else.
"""


class CheckCommand(NamedTuple):
    policy: CheckPolicy
    as_role: str | None
    to_role: str | None
    format: str
    lines: bool
    quiet: bool
    repeated: str  # the options `REPEATED`, as given


def run(args: list[str]) -> int:
    """Check the messages of the command line, print the findings, and return the exit code."""
    options = parse(args, OPTIONS, HELP)
    if options is None:
        return DONE
    if not options.operands:
        raise CommandError(f"nothing to check: {USAGE_LINE}")
    task = _task(options)
    files = files_in(options.operands)
    if len(files) == 1 and not os.path.isdir(options.operands[0]) and not has_lines(files[0], task.lines):
        return _one(files[0], task)
    from telex.surfaces.cli.check_batch import BatchCheck

    return BatchCheck(files, task).run()


def _task(options: ParsedOptions) -> CheckCommand:
    policy = team_policy(options.get("--max-bytes"))
    if options.has("--lenient"):
        policy = policy._replace(strict=False)
    format_ = options.get("--format") or ("json" if options.has("--json") else "text")
    if format_ not in FORMATS:
        raise CommandError(f"no format {shown(format_)}; there are {', '.join(FORMATS)}")
    return CheckCommand(
        policy=with_dialects(policy, options.get("--dialect"), options.get("--team-dialect")),
        as_role=options.get("--role"),
        to_role=role_of(options.get("--to")),
        format=format_,
        lines=options.has("--jsonl"),
        quiet=options.has("--quiet"),
        repeated=options.repeat(*REPEATED),
    )


def role_of(address: str | None) -> str | None:
    """The role in an address: dev of dev, role:dev and all:dev; None for *."""
    role = address.removeprefix(ONE_OF_ROLE).removeprefix(ALL_OF_ROLE) if address else None
    return role if role != EVERYONE else None


def team_policy(max_bytes: str | None = None) -> CheckPolicy:
    """Policy of the nearest telex.toml, with the size limit of `--max-bytes`."""
    policy = CheckPolicy()
    if find_settings(os.getcwd()) is not None:
        from telex.surfaces.cli.connection import settings_here

        policy = settings_here().policy()
    if max_bytes is None:
        return policy
    return policy._replace(limits=policy.limits._replace(message_bytes_max=_bytes_max(max_bytes)))


def _bytes_max(given: str) -> int:
    if not given.isdecimal() or not given.isascii() or len(given) > 12 or int(given) < 1:
        raise CommandError(f"--max-bytes takes a number of bytes, not {shown(given)}")
    return int(given)


def with_dialects(policy: CheckPolicy, forced: str | None, preferred: str | None) -> CheckPolicy:
    """The policy with the dialects of `--dialect` and `--team-dialect`."""
    if forced is None and preferred is None:
        return policy
    from telex.surfaces.cli.connection import dialect_from

    if forced is not None:
        dialect = dialect_from(forced, among=policy.dialects)
        policy = policy._replace(forced=dialect)
        if AT in forced:  # this version only
            others = tuple(other for other in policy.dialects if other.base != dialect.base or other is dialect)
            policy = policy._replace(dialects=others)
    if preferred is not None:
        dialect = dialect_from(preferred, among=policy.dialects)
        dialects = policy.dialects if dialect in policy.dialects else (dialect, *policy.dialects)
        policy = policy._replace(preferred=dialect.name, dialects=dialects)
    return policy


# --- one message ------------------------------------------------------------------------------------------------------
def _one(path: str, task: CheckCommand) -> int:
    bytes_max = task.policy.limits.message_bytes_max
    [(_, raw, size)] = pieces(path, bytes_max, lines=False)
    checked = sized(checked_by(task, raw), size, bytes_max)
    _print(checked, task, f"telex fix {file_word(path)}{task.repeated}")
    return DONE if checked.valid else REFUSED


def checked_by(task: CheckCommand, raw: bytes) -> CheckResult:
    """Result of the check. In vbw's format plain text is refused, as by vbw's own validator."""
    checked = check(raw, task.policy, as_role=task.as_role, to_role=task.to_role)
    if task.format != "vbw" or checked.outcome != "plain" or not checked.valid:
        return checked
    finding = Finding("not-json", ROOT, "Send one JSON object with a type.", expected="a JSON object")
    return checked._replace(valid=not task.policy.strict, findings=(*checked.findings, finding))


def sized(checked: CheckResult, size: int, bytes_max: int) -> CheckResult:
    """Put the real size into the finding of a message that is too large, of which only the beginning was read."""
    if size <= bytes_max:
        return checked
    found = f"{size:,} bytes" if size > bytes_max + 1 else f"more than {bytes_max:,} bytes"
    findings = [item._replace(found=found) if item.code == "too-large" else item for item in checked.findings]
    return checked._replace(findings=tuple(findings))


def _print(checked: CheckResult, task: CheckCommand, fix: str) -> None:
    if checked.valid and task.quiet:
        return
    if task.format != "text":
        print_json(result_facts(checked, task.format))
    if task.format == "text" or (not checked.valid and stderr_has_its_own_reader()):
        screen = Screen(sys.stdout if checked.valid else sys.stderr)
        screen.line(verdict(checked, screen), *finding_lines(checked.findings, screen), *_fix(checked, fix, screen))


def _fix(checked: CheckResult, command: str, screen: Screen) -> list[str]:
    """The command that fixes the message, for a person at a terminal; the fixed message itself for an agent."""
    tree = checked.fixed or checked.skeleton
    if checked.valid or tree is None or checked.dialect is None:
        return []
    if checked.fixed is None and checked.skeleton == checked.tree and not any(blanks_in(tree)):
        return []  # only the sender can change what the findings name
    if screen.is_terminal:
        return fix_lines(command, screen, certain=checked.fixed is not None)
    text = wire_text(checked.dialect, tree, checked.body, compact=True).removesuffix("\n")
    return ["", fix_head(text, certain=checked.fixed is not None), text]


# --- JSON -------------------------------------------------------------------------------------------------------------
def answer_of(checked: CheckResult) -> dict[str, Any]:
    return {
        "valid": checked.valid,
        "dialect": checked.dialect.name if checked.dialect else None,
        "type": checked.type,
        "findings": [finding._asdict() for finding in checked.findings],
        "fixed": checked.fixed,
        "skeleton": checked.skeleton,
        "body": checked.body,
    }


def result_facts(checked: CheckResult, format_: str) -> dict[str, Any]:
    """The result as JSON, or in the shape of vbw's own validator, so that Telex can replace it."""
    if format_ != "vbw":
        return answer_of(checked)
    return {"valid": checked.valid, "errors": [_vbw_line(finding, checked) for finding in refusals(checked.findings)]}


# Beginnings of the lines of vbw's validator, by code; scripts search for them.
VBW_WORDS = {
    "empty-message": "empty message",
    "not-json": "not valid JSON",
    "type-missing": "missing type field",
    "type-unknown": "unknown message type: {found}",
    "field-missing": "missing {place} field: {field}",
    "role-may-not-send": "role {found} not authorized for {type}",
    "role-may-not-receive": "target role {found} cannot receive {type}",
    "checks-contradict-detail": "{type} {field} does not match checks_detail {counted} count",
}
VBW_DETAIL = "$.payload.checks_detail"
VBW_DETAIL_WORDS = {
    True: "{type} checks_detail must be an array or null",
    False: "{type} checks_detail entries require non-empty string id and status in PASS|FAIL|WARN",
}
_COUNTED = {"checks.failed": "FAIL", "checks.passed": "PASS"}


def _vbw_line(finding: Finding, checked: CheckResult) -> str:
    words = VBW_WORDS.get(finding.code)
    if finding.path.startswith(VBW_DETAIL):
        words = VBW_DETAIL_WORDS[finding.path == VBW_DETAIL]
    if words is None:
        return f"{finding.path}: {finding.say}"
    payload = checked.dialect.payload if checked.dialect else None
    first, _, rest = finding.path.removeprefix("$.").partition(".")
    place, field = ("envelope", first) if payload and first != payload else ("payload", rest or first)
    if field == payload:
        place = "envelope"
    counted = _COUNTED.get(field, "entry")
    begins = words.format(found=finding.found, place=place, field=field, type=checked.type, counted=counted)
    return f"{begins}. {finding.say}"
