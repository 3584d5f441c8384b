"""A graph of memories that stands alone: what it can do, two places to keep it, walking in it, merging, diagnosing."""
