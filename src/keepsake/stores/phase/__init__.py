"""Phase."""
