"""`python -m tallystick`."""

from tallystick.surfaces.cli import main

main()
