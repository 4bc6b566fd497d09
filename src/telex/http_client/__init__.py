"""How does a program speak to a bus that another process has? The same verbs, asked of a hub over HTTP.

`problems` turns what a hub refuses into the receipts and exceptions that a bus at hand would give, `transport` asks and
asks again where the hub is away for a while, and `bus` has the verbs. A line that blocks never waits for an event loop,
so the same verbs serve a program without one.
"""
