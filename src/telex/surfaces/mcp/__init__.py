"""MCP server for coding agents, on stdin and stdout or over HTTP. Only http.py uses the SDK."""
