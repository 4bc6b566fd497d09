"""MCP server for coding agents, on stdin and stdout or over HTTP. Only server.py, stdio.py and http.py use the SDK."""
