"""Pages: Markdown files that follow the ledger, and edits of them that become events."""
