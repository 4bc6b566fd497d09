"""Signal pipeline: the signal of a result decides the next step, never its prose.

`state` defines a work, `machine` its transition table, `pending_dispatches` what to dispatch next, `dispatch_text` the
text of a dispatch, and `diagram` prints the table.
"""
