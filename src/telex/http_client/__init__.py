"""HTTP client of a hub, with the same methods as a local bus.

`problems` converts error responses to the receipts and exceptions of a local bus, `transport` sends and retries
requests, and `bus` has the methods. A blocking transport needs no event loop, so the same methods serve synchronous
programs.
"""
