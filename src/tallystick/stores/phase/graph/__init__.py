"""A stand-alone graph of memories: its protocol, two stores, traversal and merging."""
