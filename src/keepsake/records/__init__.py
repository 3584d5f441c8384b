"""The nouns of keepsake, and the errors. Nothing here touches a disk or a network, or imports another room."""
