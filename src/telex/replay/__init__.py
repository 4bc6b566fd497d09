"""Replay of a log from its first line.

`simulate` applies the rules of a team to the messages of a log, which may be that of another team. `time_travel` folds
the events of a log up to a moment: inboxes, team and work as they were. Neither writes anything.
"""
