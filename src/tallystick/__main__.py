"""`python -m tallystick`."""

from tallystick.surfaces.cli import exits as main

main()
