"""Connecting an MCP client: its configuration file gains one entry, and loses it again. Only `plan.py` writes files."""
