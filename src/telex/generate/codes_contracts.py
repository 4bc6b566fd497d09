"""Codes about contracts: what was agreed, and what does not keep to it. Shown by plays at a shell, like the bus's."""

from collections.abc import Mapping
from typing import Any

from telex.dialects.builtin.vbw_company import VBW_COMPANY
from telex.dialects.builtin.vbw_typed import VBW_TYPED
from telex.generate.codes_bus import BusExplanation
from telex.generate.codes_examples import sent

NO_CHANGE: Mapping[str, Any] = {}


def _file(name: str, type_: str, change: Mapping[str, Any] = NO_CHANGE) -> str:
    return f"$ cat {name}\n{sent(VBW_TYPED, type_, change).rstrip()}"


def _contract(change: Mapping[str, Any] = NO_CHANGE) -> str:
    return _play(_file("contract.json", "plan_contract", change), "$ telex send --as lead --to dev contract.json")


def _report(change: Mapping[str, Any] = NO_CHANGE) -> str:
    return _play(_file("update.json", "execution_update", change), "$ telex send --as dev --to lead update.json")


def _review(cycle: int) -> str:
    text = sent(VBW_COMPANY, "code_review_result", {"cycle": cycle}).rstrip()
    return _play(f"$ cat review.json\n{text}", "$ telex send --as senior --to lead review.json")


def _play(*lines: str) -> str:
    return "\n".join(lines)


_ASK = _play(_file("ask.json", "approval_request", {"deadline": None}), "$ telex send --as dev --to lead ask.json")
_SEND_ANSWER = "$ telex send --as lead --to dev answer.json"
_WIDE = _file("answer.json", "approval_response", {"modifications": ["src/mail/"], "conditions": None})

FILES = (
    BusExplanation(
        "path-outside-contract",
        "A file that was not agreed on",
        "The plan's latest contract lists what may be touched, approved scope changes add to it, and this file is"
        " covered by neither. The guard says so before a file is written: `telex guard PATH --as NAME`.",
        "Leave the file as it was, or ask for it first: an approval widens the contract by the paths it lists."
        " `telex guard PATH --as NAME --ask` prints the request.",
        before=_play(_contract(), _report({"files_modified": ["src/mail/send.py"]})),
        say="Leave it alone, or send lead an approval_request of scope_change first: plan 1-1 allows only src/auth/,"
        " tests/test_reset.py.",
        after=_play(_ASK, _WIDE, _SEND_ANSWER, _report({"id": "update-2", "files_modified": ["src/mail/send.py"]})),
    ),
    BusExplanation(
        "path-forbidden",
        "A file that nobody may touch",
        "The contract forbids it, and what is forbidden stays so whatever else is allowed. Case and accents make no"
        " difference, since some disks do not see them. What lies in a `.git` is forbidden without a contract saying"
        " so.",
        "Leave it alone. If there is no way around it, ask for a gate_override: it is kept and shown as one for ever.",
        before=_play(_contract(), _report({"files_modified": [".ENV"]})),
        say="Leave it alone, or send lead an approval_request of gate_override first: plan 1-1 forbids .env.",
        after=_report({"id": "update-2"}),
    ),
    BusExplanation(
        "path-not-in-project",
        "A path that means no one file of the project",
        "Contracts speak of files by their path from the project's root. An absolute path, one that leads out of the"
        " tree (through `..` or a link), a backslash, a colon, a dot or blank at the end of a name, and characters that"
        " cannot be seen mean different files on different systems, or none.",
        "Name the file by its path from the root of the project, with `/` between the names.",
        before=_play(_contract(), _report({"files_modified": ["../secrets.txt"]})),
        say="Name the file by its path from the project's root: this cannot be taken, since it leads out of the"
        " project.",
        after=_report({"id": "update-2"}),
    ),
    BusExplanation(
        "pattern-covers-nothing",
        "A pattern that can cover nothing",
        "Patterns are written as in a .gitignore, from the project's root. One that leads upwards, begins on another"
        " drive or breaks off in a bracket matches no file of the project. A forbidden path would not be protected.",
        "Write it with `/`, from the root of the project: `src/auth/`, `*.md`, `docs/**/*.png`.",
        before=_contract({"forbidden_paths": ["../secrets/"]}),
        say="Write it as a path from the project's root, with / and perhaps * in it: it covers nothing, since it"
        " leads upwards.",
        after=_contract({"id": "contract-2", "forbidden_paths": ["secrets/"]}),
        severity="warning",
    ),
    BusExplanation(
        "path-allowed-for-nothing",
        "A path that is allowed for nothing",
        "Everything that lies there is forbidden by another pattern, and what is forbidden stays so. Whoever gets the"
        " contract could not touch a single file of it, which is perhaps not what was meant.",
        "Take the path out, or forbid less. To forbid a part of what is allowed is fine.",
        before=_contract({"allowed_paths": ["src/auth/"], "forbidden_paths": ["src/"]}),
        say="Take src/auth/ out, or forbid less than src/: all of it is forbidden.",
        after=_contract(
            {"id": "contract-2", "allowed_paths": ["src/auth/"], "forbidden_paths": ["src/auth/secret/"]},
        ),
        severity="warning",
    ),
)

PLANS = (
    BusExplanation(
        "plan-unknown",
        "A report on a plan without a contract",
        "The team works under contracts, and nobody has sent one for this plan. The files of the report are held to"
        " the contracts of whoever sends it, so that another plan's name is no way around them.",
        "Name the plan that the work belongs to, or have its contract sent. `telex contract list` shows the plans.",
        before=_play(_contract(), _report({"plan_id": "9-9"})),
        say="Name a plan that has a contract, such as 1-1: nobody has sent one for this.",
        after=_report({"id": "update-2"}),
        severity="warning",
    ),
    BusExplanation(
        "task-not-in-plan",
        "A task that the plan does not have",
        "The latest contract of the plan lists its tasks, and the one reported on is not among them.",
        "Name the task as the contract spells it, or have it added by a new contract. `telex contract show PLAN` lists"
        " the tasks.",
        before=_play(_contract(), _report({"task_id": "1-1-T9"})),
        say="Name a task of plan 1-1, one of 1-1-T1, 1-1-T2: 1-1-T9 is none of them.",
        after=_report({"id": "update-2"}),
    ),
    BusExplanation(
        "dependency-not-complete",
        "Begun before its time",
        "The plan depends on another one, and that is complete only when every task of its latest contract was"
        " reported complete. A plan that nobody has sent a contract for is not complete.",
        "Wait for it, or ask for a contract without that dependency.",
        before=_play(_contract({"depends_on": ["1-0"]}), _report()),
        say="Leave it until plan 1-0 is complete: plan 1-1 depends on it, and there is no contract for it yet.",
        after=_play(_contract({"id": "contract-2"}), _report({"id": "update-2"})),
    ),
    BusExplanation(
        "token-budget-spent",
        "More tokens than agreed",
        "The contract gives the plan a budget, and the reports on it, this one included, have spent more.",
        "Stop and say where the work stands. A new contract with a larger budget lets it go on.",
        before=_play(_contract(), _report({"tokens_used": 60000})),
        say="Stop, and ask lead for a contract with a larger budget: plan 1-1 may spend 50,000 tokens, and this makes"
        " 60,000.",
        after=_play(
            _contract({"id": "contract-2", "token_budget": 90000}), _report({"id": "update-2", "tokens_used": 60000})
        ),
    ),
    BusExplanation(
        "cycle-out-of-order",
        "A review that skips a cycle",
        "Reviews of a plan are counted, and this one does not follow the last. Perhaps one was lost, or one was sent"
        " twice.",
        "Count on from the last review; after an approval the count may begin again.",
        before=_play(_review(1), _review(3)),
        say="Say cycle 2: the last review of plan 01-01 was cycle 1.",
        after=_review(4),
        severity="warning",
    ),
)

WIDENING = (
    BusExplanation(
        "plan-not-clear",
        "A request that fits no plan",
        "A scope change widens one plan: the one that has the task of the request, or the only open one of whoever"
        " asks. Here there is neither, so an approval could widen nothing.",
        "Give the request the task that needs it.",
        before=_play(
            _contract({"tasks": ["1-1-T1"]}),
            _report(),
            _file("ask.json", "approval_request", {"task": "elsewhere", "deadline": None}),
            "$ telex send --as dev --to lead ask.json",
        ),
        say="Name a task of the plan that is to be widened (1-1): an approval would widen none as it is.",
        after=_play(
            _file("ask.json", "approval_request", {"id": "ask-2", "deadline": None}),
            "$ telex send --as dev --to lead ask.json",
        ),
        severity="warning",
    ),
    BusExplanation(
        "approval-widens-nothing",
        "An approval without a path",
        "A scope change or an override was approved, and the approval does not say for which paths. Nothing can be"
        " touched that could not be before.",
        "List the paths in the approval, as patterns: what was asked for is an offer, what the approval lists holds.",
        before=_play(
            _contract(),
            _ASK,
            _file("answer.json", "approval_response", {"modifications": None, "conditions": None}),
            _SEND_ANSWER,
        ),
        say="List the paths that dev may touch from now on: as it is, the approval widens nothing.",
        after=_play(
            _file("ask.json", "approval_request", {"id": "ask-2", "deadline": None}),
            "$ telex send --as dev --to lead ask.json",
            _WIDE.replace('"ask-1"', '"ask-2"').replace('"answer-1"', '"answer-2"'),
            _SEND_ANSWER,
        ),
        severity="warning",
    ),
    BusExplanation(
        "approval-conditions",
        "Conditions that still hold",
        "The contract was widened under conditions. They are shown with everything that is checked against it from"
        " then on.",
        "Keep to them; there is nothing to mend in the message.",
        before=_play(
            _contract(),
            _ASK,
            _file("answer.json", "approval_response", {"modifications": ["src/mail/"], "conditions": ["Tests first"]}),
            _SEND_ANSWER,
            _report(),
        ),
        say="Keep to what plan 1-1 was widened under: Tests first.",
        after=_report({"id": "update-2", "status": "partial"}),
        severity="note",
    ),
)

CONTRACTS = (*FILES, *PLANS, *WIDENING)
