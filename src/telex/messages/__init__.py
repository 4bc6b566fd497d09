"""A builder for every message type: `from telex.messages import vbw_typed; vbw_typed.execution_update(...)`.

A builder returns the message as a plain mapping, with id, time, version and correlation filled in and a marked
blank for every required field that was left out.
"""
