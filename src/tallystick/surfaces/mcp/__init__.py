"""The MCP server: what a model may call, over a pipe or over HTTP.

A tool is a table row: its words, what it takes, what it gives, and one call of `Memory`. Only `server.py` and what
stands beside it know the protocol; the tools know the memory alone.
"""
