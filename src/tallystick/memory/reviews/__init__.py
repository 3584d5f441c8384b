"""Reviews: what needs a person's approval, and the answers."""
