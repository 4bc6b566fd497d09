"""Output of receipts: the result of a send, as text or as JSON."""

import sys
from typing import TYPE_CHECKING, Any

from telex.surfaces.cli.check import stderr_has_its_own_reader
from telex.surfaces.cli.output import Screen, finding_lines, fix_head, fix_lines, shown, shown_block, wrapped

if TYPE_CHECKING:
    from telex.ports.bus import Receipt

INBOXES_SHOWN_MAX = 6


def tell(receipt: "Receipt", *, fix: str, as_json: bool, quiet: bool = False, place: str | None = None) -> None:
    """Say it: what was stored on stdout, what was refused on stderr. `fix` is the command that would fix it."""
    if receipt.accepted and quiet:
        return
    if as_json:
        from telex.surfaces.cli.check_output import json_line

        source = {} if place is None else {"source": place}
        sys.stdout.write(json_line(facts(receipt) | source) + "\n")
    if not as_json or (not receipt.accepted and stderr_has_its_own_reader()):
        screen = Screen(sys.stdout if receipt.accepted else sys.stderr)
        lines = _stored(receipt, screen) if receipt.accepted else _refused(receipt, fix, screen, place)
        screen.line("\n".join(lines))
    sys.stdout.flush()  # the next message may take a while, and this one is on disk


def facts(receipt: "Receipt") -> dict[str, Any]:
    return receipt._asdict() | {
        "to": list(receipt.to),
        "findings": [finding._asdict() for finding in receipt.findings],
    }


def _stored(receipt: "Receipt", screen: Screen) -> list[str]:
    word = "duplicate" if receipt.duplicate else "stored"
    first, *others = wrapped(f"{shown(receipt.id)} for {inboxes(receipt.to)}", screen.width, len(word) + 1)
    return [f"{screen.paint(word, 'green')} {first}", *others, *finding_lines(receipt.findings, screen)]


def inboxes(names: tuple[str, ...]) -> str:
    """`lead, qa and 12 more`; nobody at all is said as well."""
    told = [shown(name) for name in names[:INBOXES_SHOWN_MAX]]
    left = len(names) - len(told)
    return ", ".join(told) + (f" and {left} more" if left else "") if told else "nobody"


def _refused(receipt: "Receipt", fix: str, screen: Screen, place: str | None) -> list[str]:
    what = " ".join(shown(word) for word in (receipt.dialect, receipt.type) if word) or "message"
    where = f"  {screen.paint(shown(place), 'bold')}" if place else ""
    head = f"{screen.paint('refused ', 'red')}{where}  {what}"
    return [head, *finding_lines(receipt.findings, screen), *_fix_lines(receipt, fix, screen)]


def _fix_lines(receipt: "Receipt", fix: str, screen: Screen) -> list[str]:
    """How it would pass: the command for a person at a terminal, the message itself for an agent."""
    if receipt.fixed is None:
        return []
    if screen.is_terminal:
        effect = "prints it fixed" if receipt.certain else "prints it with blanks to fill"
        return fix_lines(fix, effect, screen)
    return ["", fix_head(receipt.fixed, certain=receipt.certain), _compact(receipt.fixed)]


def _compact(text: str) -> str:
    """JSON on one line, front matter as it is; either safe to look at."""
    if not text.startswith("{"):
        return shown_block(text.removesuffix("\n"))
    import json

    from telex.surfaces.cli.check_output import json_line

    return json_line(json.loads(text))
