"""What decisions are made on, folded from events: beliefs, episodes, paths, pages, reviews, sources. Pure."""
