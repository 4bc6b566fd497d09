"""Codes about what a member reads. Shown by plays, like the bus's."""

from telex.generate.codes_bus import BusExplanation

READS = (
    BusExplanation(
        "version-unknown",
        "A version that nobody speaks",
        "Somebody joins and says which version of a dialect it reads, and there is none of that number here. Every"
        " message reaches a member in a form that it reads, so what it reads has to be known exactly.",
        "Take a version that is offered, or leave the version out: `telex dialects` lists what there is. Versions 1.0"
        " and 2.0 of vbw go by names of their own, vbw-handoff and vbw-typed; vbw@1.0 and vbw@2.0 are understood too."
        " Behind a + stands a field's later name, where the dialect has one.",
        before="$ telex team join ada --role qa --reads vbw-typed@1.0",
        say="Take vbw-handoff@1.0: nobody here speaks version 1.0 of vbw-typed.",
        after="$ telex team join ada --role qa --reads vbw-handoff@1.0",
    ),
)
