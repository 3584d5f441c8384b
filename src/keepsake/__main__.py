"""`python -m keepsake`."""

from keepsake.surfaces.cli import main

main()
