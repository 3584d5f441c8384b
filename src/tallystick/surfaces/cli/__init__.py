"""The command line: options in, one call, text out.

A command is a file of its own, named after it and loaded when it is called; `map.py` lists them all. Whatever goes
wrong becomes one line and an exit status in `ending.py`. Whatever comes out of storage passes through `shown.py`
before a terminal sees it.
"""

from tallystick.surfaces.cli.root import main

__all__ = ["main"]
