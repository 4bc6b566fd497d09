"""The door for coding agents: the Model Context Protocol, on stdin and stdout or over HTTP.

`tools.py` is the table of what there is, `calls.py` does it, `words.py` and `budget.py` say what came of it.
Only `server.py`, `stdio.py` and `http.py` know the SDK.
"""
