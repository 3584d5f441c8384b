"""The chain as files in a folder."""
