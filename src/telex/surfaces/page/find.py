"""Recipients for the composer, and agents and conversations for the command palette."""

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

from telex.model.roster import ALL_OF_ROLE, EVERYONE, HUMAN, ONE_OF_ROLE
from telex.ports.bus import Presence
from telex.surfaces.page.history import History, PageMessage
from telex.surfaces.page.rows import recipient_label
from telex.surfaces.page.search import folded

GONE = ("left", "shut down")
RECIPIENTS_MAX = 300
FOUND_MAX = 6  # of one kind
CONVERSATIONS_SCANNED_MAX = 20_000

Facts = dict[str, Any]


def recipient_facts(roster: Sequence[Presence], sender: str = HUMAN) -> list[Facts]:
    """Possible recipients of a message, and the number of agents that it would wake: one, a role, everyone."""
    present = [
        one.member
        for one in roster
        if one.state not in GONE and one.member.name != sender and not one.member.name.startswith(ONE_OF_ROLE)
    ]
    agents = [member for member in present if member.name != HUMAN]
    roles = Counter(member.role for member in agents)
    groups = [_recipient(EVERYONE, len(present))]
    for role, count in sorted(roles.items()):
        if count > 1:
            groups += [_recipient(f"{ALL_OF_ROLE}{role}", count), _recipient(f"{ONE_OF_ROLE}{role}", 1)]
    names = [_recipient(member.name, 1) | {"role": member.role} for member in agents]
    return [*names[:RECIPIENTS_MAX], *groups]


def _recipient(to: str, wakes: int) -> Facts:
    return {"to": to, "label": recipient_label(to), "wakes": wakes, "role": None}


def found_agents(roster: Iterable[Presence], words: str) -> list[Facts]:
    """Agents whose name contains the words; those whose name begins with them first."""
    wanted = folded(words.strip())
    matches = [
        one
        for one in roster
        if not one.member.name.startswith(ONE_OF_ROLE) and wanted in folded(f"{one.member.name} {one.member.role}")
    ]
    matches.sort(key=lambda one: (not folded(one.member.name).startswith(wanted), one.state in GONE, one.member.name))
    return [{"name": one.member.name, "role": one.member.role, "state": one.state} for one in matches[:FOUND_MAX]]


def found_conversations(history: History, words: str) -> list[Facts]:
    """Conversations whose id or first message contains the words, the latest first."""
    wanted, found = folded(words.strip()), list[list[PageMessage]]()
    latest = sorted(history.conversations.values(), key=lambda messages: -messages[-1].seq)
    for messages in latest[:CONVERSATIONS_SCANNED_MAX]:
        if wanted in folded(f"{messages[0].conversation} {messages[0].gist}"):
            found.append(messages)
            if len(found) == FOUND_MAX:
                break
    return [
        {
            "id": messages[0].conversation,
            "title": messages[0].gist,
            "messages": len(messages),
            "at": messages[-1].at,
        }
        for messages in found
    ]
