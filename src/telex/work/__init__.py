"""Work rules and work state: contracts, approvals, tasks, blockers, escalations, shutdowns and pipelines.

The state of a *topic* (`plan:1-1`, `approval:ask-1`, `task:TASK-001`) is a fold over its messages in the log. The rules
check a message against the topics inside the write transaction that stores it.
"""
