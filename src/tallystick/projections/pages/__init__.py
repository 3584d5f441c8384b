"""What the pages show, as rows: folded from events, searched, and compared with the files."""
