"""The graph as rows: what was saved in it, and what beliefs say of entities, folded from events."""
