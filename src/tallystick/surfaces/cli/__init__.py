"""The command line: options in, one call, text out.

A command is a function in a file named after it, loaded when it is called; `map.py` lists them all. Whatever goes
wrong becomes one line and an exit status in `exits.py`. Whatever comes out of storage passes through
`present/text.py` before a terminal sees it.
"""

from tallystick.surfaces.cli.root import main

__all__ = ["main"]
