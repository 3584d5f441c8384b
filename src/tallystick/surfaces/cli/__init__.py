"""The command line: options in, one call, text out.

A command is a function in the file that `map.py` names, loaded when it is called. Whatever goes wrong becomes one line
and an exit status in `root.py`. Whatever comes out of storage passes through `present/text.py` before a terminal sees
it.
"""

from tallystick.surfaces.cli.root import main

__all__ = ["main"]
