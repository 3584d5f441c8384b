"""All that is derived: tables, full text, vectors, pages. Each can be thrown away and made again."""
