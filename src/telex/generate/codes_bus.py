"""Codes that the bus gives: they depend on who is there, what went before and how the world is, not on a message alone.

Each is shown by a small play at a shell, in an empty folder: what was typed, what the bus said to the last of it, and
what was done then. A test types all of it and compares what it hears, so that no page can drift from the bus. A line
`# …` happens in the world; what stands below `$ cat FILE` is in that file.
"""

from typing import Literal, NamedTuple

from telex.dialects.builtin.vbw_typed import VBW_TYPED
from telex.generate.codes_examples import sent


class BusExplanation(NamedTuple):
    code: str
    title: str  # a few words
    why: str
    mend: str
    before: str  # what was typed; the bus refuses the last of it, or says something about it, and does the rest
    say: str  # what the bus says to it
    after: str  # what was typed then; the bus does all of it
    severity: Literal["refusal", "warning", "note", "error"] = "refusal"


def _play(*lines: str) -> str:
    return "\n".join(lines)


SENT = 'echo "The build is red." | telex send'
TO_LEAD = f"$ {SENT} --as dev --to lead -"  # its token is 131072.1 when it is the first in a store

# --- who is there -----------------------------------------------------------------------------------------------------

RECIPIENTS = (
    BusExplanation(
        "recipient-unknown",
        "Nobody of that name or role",
        "The address is no member of the team and no role that anybody has. A message that nobody reads is never kept"
        " as if it had been delivered.",
        "Take the name that is offered, or look who is there with `telex team`. Somebody new joins with `telex team"
        " join NAME --role ROLE`; where telex.toml declares the members, add them to it.",
        before=_play(f"$ {SENT} --as dev --to laed -"),
        say="Send it to lead: nobody here is called laed.",
        after=_play(TO_LEAD),
    ),
    BusExplanation(
        "recipient-missing",
        "Sent to nobody",
        "Neither the caller nor the message says who is to receive it. Some dialects name the recipient in the message"
        " itself; the others leave it to the caller.",
        "Say it: an agent's name, `role:qa` for one of that role, `all:qa` for each of them, or `*` for everyone else.",
        before=_play(f"$ {SENT} --as dev -"),
        say="Say who is to receive it: --to NAME, role:ROLE, all:ROLE or * for everyone.",
        after=_play(f"$ {SENT} --as dev --to role:lead -"),
    ),
    BusExplanation(
        "recipient-has-left",
        "Sent to somebody who has left",
        "The recipient was a member and has left the team. What still waited for it was taken back, and nothing new is"
        " put into an inbox that nobody reads.",
        "Send it to somebody who is here, or to a role, so that whoever has it now takes the message.",
        before=_play("$ telex team join ada --role lead", "$ telex team leave ada", f"$ {SENT} --as dev --to ada -"),
        say="Send it to somebody who is here: ada has left the team.",
        after=_play(f"$ {SENT} --as dev --to role:lead -"),
    ),
    BusExplanation(
        "nobody-to-hear",
        "A broadcast that reaches nobody",
        "`*` and `all:ROLE` reach each other member that is in the team at this moment, and there is no other. The"
        " sender itself is left out.",
        "Send it to one agent by its name, which may be a role that nobody has taken up yet: the message waits there."
        " Or wait until others have joined.",
        before=_play(f"$ {SENT} --as dev --to '*' -"),
        say="Send it to one agent by name, or wait until another of the team has joined: nobody would hear this.",
        after=_play("$ telex team join ada --role lead", f"$ {SENT} --as dev --to '*' -"),
    ),
    BusExplanation(
        "inbox-full",
        "An inbox that takes no more",
        "As many messages as an inbox may hold wait for their reader (`inbox_max` in telex.toml). It is far behind or"
        " gone, and more would only hide that. Nothing of the message was delivered, to its other recipients neither.",
        "Try again later, or send it to somebody else. `telex team` shows how long the oldest has waited and whether"
        " the reader is still there.",
        before=_play("$ cat telex.toml", "[limits]", "inbox_max = 1", TO_LEAD, TO_LEAD),
        say="Try again later, or send it to somebody else: lead has 1 message waiting and takes no more.",
        after=_play("$ telex receive --as lead --ack", TO_LEAD),
    ),
)

SENDERS = (
    BusExplanation(
        "sender-unknown",
        "Acting under a name nobody knows",
        "The name is no member of the team, and no role either. What somebody may send is decided by its role, so the"
        " role must be known first.",
        "Say the role once, with the first thing you do; it is remembered. Where telex.toml declares the members, only"
        " those may act. Who has left comes back by saying its role again.",
        before=_play(f"$ {SENT} --as ada --to lead -"),
        say="Say which role ada has, this first time: --role ROLE.",
        after=_play(f"$ {SENT} --as ada --role dev --to lead -", f"$ {SENT} --as ada --to lead -"),
    ),
    BusExplanation(
        "dialect-unknown",
        "A dialect that there is not",
        "Somebody joins and says which dialects it reads, and one of them is neither built in nor declared by the"
        " team.",
        "Take the one that is offered, or look which there are with `telex dialects`. A dialect of your own is named in"
        " telex.toml.",
        before=_play("$ telex team join ada --role qa --reads vbw-typd"),
        say="Take vbw-typed: there is no dialect vbw-typd.",
        after=_play("$ telex team join ada --role qa --reads vbw-typed"),
    ),
    BusExplanation(
        "role-unknown",
        "A role that no dialect has",
        "Roles come from the dialects of the team: each says what its roles may send and receive. This role is in none"
        " of them.",
        "Take a role that is offered. A role of your own comes with a dialect of your own, which telex.toml names.",
        before=_play("$ telex team join ada --role architekt"),
        say="Take the role architect: no dialect of the team has a role architekt.",
        after=_play("$ telex team join ada --role architect"),
    ),
    BusExplanation(
        "role-differs",
        "Another role than the roster says",
        "The roster says which role a name has, and a claim does not change it: otherwise anybody could give itself"
        " the right to send a verdict.",
        "Leave the role out, or act under a name that has it. A member changes its role by leaving and joining again"
        " (`telex team leave`, `telex team join`), or in telex.toml where it is declared.",
        before=_play("$ telex team join ada --role dev", "$ telex receive --as ada --role qa"),
        say="Leave out --role, or act under another name: ada is dev here.",
        after=_play("$ telex receive --as ada"),
    ),
    BusExplanation(
        "reads-differ",
        "A declared member says that it reads something else",
        "Where telex.toml says what a member reads, that holds for as long as it stands there. Who joins by another"
        " word would be told one thing and given another.",
        "Leave out --reads, or change what the member reads in telex.toml (`dialects`); a member that is declared"
        " without dialects reads what it says when it joins, or anything if it says nothing.",
        before=_play(
            "$ cat telex.toml",
            "[team.members.ada]",
            'role = "qa"',
            'dialects = ["vbw-typed"]',
            "$ telex team join ada --reads build-flow",
        ),
        say="Leave out --reads, or change dialects of ada in telex.toml: what it reads stands there, vbw-typed.",
        after=_play("$ telex team join ada"),
    ),
    BusExplanation(
        "name-not-allowed",
        "A name that nobody may have",
        "A name is typed on command lines and read in logs, and `role:qa`, `all:qa` and `*` are addresses. So a name"
        " has no colon, begins with no hyphen and holds nothing that cannot be seen. `telex` is the bus itself.",
        "Choose a plain word.",
        before=_play("$ telex team join telex --role dev"),
        say="Choose another name: telex is the bus itself.",
        after=_play("$ telex team join tess --role dev"),
    ),
)

# --- what went before -------------------------------------------------------------------------------------------------

IDS = (
    BusExplanation(
        "id-not-allowed",
        "An id that cannot be used",
        "An id is shown, typed and looked for. The one that the caller gave is empty, too long, or has characters that"
        " cannot be seen.",
        "Give another, or none: Telex then makes one.",
        before=_play(f"$ {SENT} --as dev --to lead --id {'build-' * 22}1 -"),
        say="Choose an id of 1 to 128 characters that can all be seen, or leave out --id.",
        after=_play(TO_LEAD),
    ),
    BusExplanation(
        "id-differs",
        "Two ids for one message",
        "The message has an id of its own, and the caller gave another. A receipt could then be asked for under one"
        " and answered under the other.",
        "Leave out the one of the caller.",
        before=_play(
            "$ cat stop.json",
            sent(VBW_TYPED, "shutdown_request").rstrip("\n"),
            "$ telex send --as lead --to dev --id stop-2 stop.json",
        ),
        say="Leave out --id: the message has one of its own, stop-1.",
        after=_play("$ telex send --as lead --to dev stop.json"),
    ),
    BusExplanation(
        "id-reused",
        "An id that was another message's",
        "The same sender has used this id for something else within the last hour (`dedup_window_seconds` in"
        " telex.toml). The same message under the same id is taken for a repetition and kept once; another message"
        " under it would be lost as one.",
        "Give the new message an id of its own, or leave the id to the bus. To repeat the earlier one, send the very"
        " same bytes.",
        before=_play(
            f"$ {SENT} --as dev --to lead --id n-1 -",
            '$ echo "It is green again." | telex send --as dev --to lead --id n-1 -',
        ),
        say="Give it an id of its own: n-1 was sent before, with other words.",
        after=_play('$ echo "It is green again." | telex send --as dev --to lead --id n-2 -'),
    ),
)

WORK = (
    BusExplanation(
        "lease-lost",
        "The message is no longer yours",
        "A message is leased for a while (`lease_seconds` in telex.toml). When the lease runs out without a word, its"
        " reader is taken for gone and the message is offered again, so that a late ack would speak for somebody"
        " else's work. Another agent's lease cannot be acked either.",
        "Drop the work, and receive again. Where work takes longer than the lease, say `telex extend` in time, or ask"
        " for a longer one with `telex receive --lease`.",
        before=_play(TO_LEAD, "$ telex receive --as lead", "$ sleep 61", "$ telex ack 131072.1 --as lead"),
        say="drop the work: the lease has run out, and the message is offered again.",
        after=_play("$ telex receive --as lead --wait 5", "$ telex ack 131072.2 --as lead"),
        severity="error",
    ),
    BusExplanation(
        "not-found",
        "Nothing of that name",
        "No message, conversation, member or dead letter has that name, or no lease has that token. It was mistyped,"
        " is in another store, or is older than what is kept (`retention_seconds` in telex.toml).",
        "Look for it: `telex search WORDS` finds messages, `telex team` members and `telex dead` dead letters. A token"
        " comes with each message that is received.",
        before=_play(f"$ {SENT} --as dev --to lead --id n-1 -", "$ telex why n-11"),
        say="no message has the id n-11: it was never sent here or is no longer stored; look for it with telex search.",
        after=_play("$ telex search build", "$ telex why n-1"),
        severity="error",
    ),
    BusExplanation(
        "request-failed",
        "No answer will come",
        "Whoever was asked gave the request back until its attempts were used up, was silent for as long, or has left"
        " the team. The request is a dead letter, or was taken back.",
        "Look what happened with `telex why`, and ask somebody else, or mend what stood in the way and try the dead"
        " letter again.",
        before=_play(
            "$ telex team join ada --role qa",
            '$ echo "Ship it?" | telex send --as dev --to ada --id q-1 -',
            "$ telex team leave ada",
            '$ echo "Ship it?" | telex request --as dev --to ada --timeout 60 --id q-1 -',
        ),
        say="nobody will answer q-1: it was given up. See why with telex why q-1, and ask somebody else.",
        after=_play("$ telex why q-1", '$ echo "Ship it?" | telex send --as dev --to lead --id q-2 -'),
        severity="error",
    ),
    BusExplanation(
        "request-timed-out",
        "No answer in time",
        "The request was kept, and no answer to it came for as long as the caller wanted to wait. The request goes on:"
        " it waits in its inbox, or somebody works on it.",
        "Do not ask again: look where it is with `telex why`. An answer that comes later is put into your inbox.",
        before=_play('$ echo "Ship it?" | telex request --as dev --to lead --timeout 5 --id q-1 -'),
        say="no answer to q-1 within 5 s: look where it is with telex why q-1; a late answer comes to your inbox.",
        after=_play('$ echo "Yes." | telex send --as lead --to dev -', "$ telex receive --as dev --wait 60"),
        severity="error",
    ),
)

# --- the store --------------------------------------------------------------------------------------------------------

JOINED = "$ telex team join dev --store team.db"
KEPT = f"$ {SENT} --as dev --to lead --store team.db --id n-1 -"
WORLD = (
    BusExplanation(
        "outcome-unknown",
        "Kept or not kept: it cannot be told",
        "The disk failed in the very moment in which the message was made durable. It may be there after the next"
        " start or not, and to say either would be a guess.",
        "Do it again, and send with the same id: if it was kept, it is recognised and kept once. Then look after the"
        " disk.",
        before=_play(JOINED, "# the disk fails at the end of the next write", KEPT),
        say="outcome unknown (team.db: disk I/O error): send again with the same id.",
        after=_play("# the disk is well again", KEPT),
        severity="error",
    ),
    BusExplanation(
        "store-full",
        "No room on the disk",
        "The disk has no room for the message, and nothing of it was kept. What was kept before is safe, and can still"
        " be acked: the store holds some room back for that.",
        "Free some space and send again.",
        before=_play(JOINED, "# the disk is full", KEPT),
        say="no room on the disk for team.db: nothing of this was stored; free some space.",
        after=_play("# the disk has room again", KEPT),
        severity="error",
    ),
    BusExplanation(
        "store-unavailable",
        "The store cannot be reached now",
        "Another program holds the file for longer than anybody waits, or the file or its folder may not be read or"
        " written. Nothing was changed.",
        "Try again; if it stays so, mend the place: its permissions, its folder, the program that holds it."
        " `telex doctor` looks at all of that.",
        before=_play(JOINED, "# another program holds team.db", KEPT),
        say="team.db is held by another program: try again when it has let go.",
        after=_play("# the other program lets go", KEPT),
        severity="error",
    ),
    BusExplanation(
        "store-damaged",
        "Not a Telex store, or a harmed one",
        "The file is something else, or parts of it are missing or overwritten. It was left as it is.",
        "Check the path. If it is the right one, `telex doctor` says what is harmed: restore the file from a copy, or"
        " move it away to begin anew.",
        before=_play("$ cat diary.txt", "Dear diary,", "$ telex inbox --as lead --store diary.txt"),
        say="diary.txt is not a Telex store: it is no database. Nothing was changed.",
        after=_play("$ telex inbox --as lead --store team.db"),
        severity="error",
    ),
    BusExplanation(
        "store-too-new",
        "Written by a later Telex",
        "A later version has written this store in a form that this one does not know. It was left as it is, since"
        " reading half of it would be worse than reading nothing.",
        "Upgrade Telex wherever the store is used.",
        before=_play(KEPT, "# a later Telex has written team.db", "$ telex inbox --as lead --store team.db"),
        say="team.db was written by a later Telex (file version 99; this one knows 3): upgrade Telex to open it."
        " Nothing was changed.",
        after=_play("# Telex is upgraded", "$ telex inbox --as lead --store team.db"),
        severity="error",
    ),
    BusExplanation(
        "value-wrong",
        "A number that makes no sense",
        "A lease, a wait or a delay was asked for that is no span of time between its least and a year, or a number of"
        " messages below one. A lease that is over before it is given would only use up attempts.",
        "Give a number that makes sense, or leave it out: there is a default for each.",
        before=_play(TO_LEAD, "$ telex receive --as lead --lease 0"),
        say="give lease a span from 0.001 seconds to a year, not 0.0.",
        after=_play("$ telex receive --as lead"),
        severity="error",
    ),
    BusExplanation(
        "settings-wrong",
        "Settings that cannot be",
        "The settings have a mistake: a key that does not exist, a value of the wrong kind, a number out of its"
        " bounds. Nothing is done with settings that are half understood.",
        "Mend every line that is named; all mistakes are named at once. `telex team --example` prints a file to begin"
        " with.",
        before=_play("$ cat telex.toml", "[team]", 'strict = "yes"', "$ telex inbox --as lead"),
        say="telex.toml:2: team.strict: expected true or false, found 'yes'",
        after=_play("$ cat telex.toml", "[team]", "strict = true", "$ telex inbox --as lead"),
        severity="error",
    ),
)

BUS = (*RECIPIENTS, *SENDERS, *IDS, *WORK, *WORLD)
