"""Work by signal: what happens next is told by the signal of a result, and never by its prose.

`state` says what a work is, `machine` has the table of its moves, `pending_dispatches` what is to be dispatched,
`dispatch_text` how that is worded, `model_check` walks through every state there is, and `diagram` shows the table.
"""
