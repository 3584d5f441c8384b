"""The command line: options in, one call, text out. A command is a function in the file that `map.py` names."""

from tallystick.surfaces.cli.root import main

__all__ = ["main"]
