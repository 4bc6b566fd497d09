"""What would have become of it, and how was it then? A record gone through once more, from its first line.

`simulate` holds the messages of a log against the rules of a team that need not be the one which kept it. `time_travel`
folds the events of a log up to one of them: inboxes, team and work as they were. Neither writes anything.
"""
