"""The code that work by signal gives: what a result is told that comes out of turn."""

from telex.generate.codes_bus import BusExplanation

_TRIAGE = """$ cat triage.md
---
type: triage_result
signal: triage_complete
tier: 1
research_needed: false
---
## Triage
One module, no open questions."""
_ANSWERED = "$ telex send --as architect --to orchestrator --reply-to reset triage.md"

WORK = (
    BusExplanation(
        "signal-out-of-turn",
        "A signal that changes nothing",
        "The result belongs to a work, and nothing in that work waits for it: its dispatch was answered before, was"
        " sent back meanwhile, or wants another type. A signal that comes late or twice never changes what is settled;"
        " it is kept, delivered, and listed with the work. Or it does not say which dispatch it answers, and belongs to"
        " no work at all.",
        "Answer the dispatch that is named, with `--reply-to` and its id. If none is, there is nothing left to answer:"
        " `telex work show WORK` says what the work waits for.",
        before="\n".join(
            (_TRIAGE, '$ echo "Reset of passwords." | telex work start - --id reset', _ANSWERED, _ANSWERED)
        ),
        say="Leave it at that: this signal changes nothing in reset, since reset is not waited for.",
        after="$ telex work show reset",
        severity="warning",
    ),
)
