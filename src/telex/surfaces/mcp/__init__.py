"""The door for coding agents: the Model Context Protocol, on stdin and stdout or over HTTP.

`tools.py` is the table of what there is, `tool_calls.py` does it, `text.py` and `token_budget.py` say what came of it.
Only `server.py`, `stdio.py` and `http.py` know the SDK.
"""
