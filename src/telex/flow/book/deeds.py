"""Which chapters does the book have? The table that joins deeds, topics and the modules that know about them."""

# Where the chapters on a deed stand. They are imported when it is first done: most messages of most teams do few of
# these, and a cold start pays for each import.
CHAPTERS: dict[str, tuple[str, ...]] = {
    "contract": ("plans",),
    "progress": ("plans", "blockers"),
    "blocker": ("blockers",),
    "review": ("plans",),
    "ask": ("approvals", "plans", "tasks"),
    "answer": ("approvals", "plans", "tasks"),
    "commit": ("tasks", "plans"),
    "assign": ("tasks",),
    "status": ("tasks", "blockers"),
    "move": ("tasks",),
    "stop": ("shutdown",),
    "stopped": ("shutdown",),
    "escalate": ("escalations", "tasks"),
    "signal": ("signals", "plans"),
    "dispatch": ("signals",),
}
# By the kind of topic, which is what stands before the colon: where its fold is.
FOLDS: dict[str, str] = {
    "plan": "plans",
    "contracts": "plans",
    "approval": "approvals",
    "task": "tasks",
    "shutdown": "shutdown",
    "escalation": "escalations",
    "blocker": "blockers",
    "blockers": "blockers",
    "work": "signals",
}


# Deeds that mean nothing as long as nobody has ever said anything in these topics: a message that does one need not be
# read again to know that it may pass.
IDLE: dict[str, tuple[str, ...]] = {"progress": ("contracts", "blockers")}
