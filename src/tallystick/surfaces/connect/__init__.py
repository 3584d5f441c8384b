"""Connecting a client of the Model Context Protocol: its configuration file gains one entry, and loses it again.

`clients.py` knows where each client keeps its file and what an entry looks like there. The edits are text in, text out,
and each is checked by reading the text before and after: what is not ours has the same value, comments and order stay.
Only `files.py` reads and writes.
"""
