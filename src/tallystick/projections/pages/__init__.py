"""The rows of pages: folded from events, searched, and compared with the files."""
