"""What does the markdown body of a translation say, and what has become of that of the original?"""

from typing import Any

from telex.model.json_path import join, within
from telex.translation import markdown_sections
from telex.translation.loss_report import LossReport
from telex.translation.slots import BODY


def write_body(account: LossReport) -> str | None:
    """The body of the result. None: its form has none."""
    spec = account.plan.spoken.body
    if account.plan.to.form != "front-matter":
        return None
    if spec is None:
        return ""
    headings = account.plan.becomes.sections
    # A body has one kind of line end. Fixed before it is put together, or what it is made of could not be told apart.
    said = {slot: _with_plain_ends(value) for slot, value in account.sections.items()}
    body, silent = markdown_sections.compose(spec, said, headings)
    if not markdown_sections.surely_told(spec, account.sections):
        again = markdown_sections.parse(spec, body, headings).values
        for slot, value in account.sections.items():
            if again.get(slot) != value:
                account.vague[account.sources[f"{BODY}#{slot}"]] = True
    for heading in silent:
        account.invent(
            join(BODY, heading), None, markdown_sections.SILENT, f"{account.plan.becomes.name} asks for this heading"
        )
    return body


def _with_plain_ends(value: Any) -> Any:
    if type(value) is str:
        return value.replace("\r\n", "\n").replace("\r", "\n") if "\r" in value else value
    if isinstance(value, list):
        return [_with_plain_ends(one) for one in value]
    return {name: _with_plain_ends(one) for name, one in value.items()} if isinstance(value, dict) else value


def close_body(account: LossReport, body: str) -> None:
    """What has become of the body of the original as a whole, once it is known what has of each of its sections."""
    for heading, text in account.strays.items():
        account.lose(join(BODY, heading), None, text, account.plan.no_place)
    if any(within(here, BODY) for here, _ in account.carried):
        if account.laid_out:
            account.narrow(BODY, None, body, "its sections are told, and not how they were set out")
    elif not any(within(field_change.path, BODY) for field_change in account.lost):
        account.lose(BODY, None, body, "there is nothing under its headings")
