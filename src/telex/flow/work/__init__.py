"""Work by signal: what happens next is told by the signal of a result, and never by its prose.

`state` says what a work is, `machine` has the table of its moves, `due` what is to be dispatched, `letters` how that is
worded, `search` walks through every state there is, and `drawing` shows the table.
"""
