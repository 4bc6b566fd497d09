"""Replay of a log from its first line, without writing to it.

`reader` parses lines, `simulate` validates and decides each message under the settings of a team, `report` counts the
results. `time_travel` folds events to a snapshot of an earlier time, `migrate` rewrites messages in another version.
"""
