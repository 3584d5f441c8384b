"""The one object people hold."""
