"""The nouns of tallystick, and the errors. Nothing here touches a disk or a network, or imports another room."""
