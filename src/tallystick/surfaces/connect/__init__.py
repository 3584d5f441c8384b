"""Connecting an MCP client: its configuration file gains one entry, and loses it again.

`clients.py` knows where each client keeps its file and what an entry looks like there. `json_edit.py` and
`toml_edit.py` are text in, text out; `plan.py` checks each edit by reading the text before and after: what is not ours
has the same value, comments and order stay. Only `plan.py` reads and writes files.
"""
