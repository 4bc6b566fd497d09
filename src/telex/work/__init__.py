"""The rules of the work: what was agreed, asked, answered, started and stopped, folded from the log.

A *topic* is one matter of the work: `plan:1-1`, `approval:ask-1`, `task:TASK-001`. Its state is a fold over the
messages that belong to it, and nothing else; the book is all topics. A message is weighed against the topics it
concerns before it is stored, and is stored only if none of them has changed meanwhile.
"""
