"""The page in a real browser. A package, so that a browser lives as long as the tests in it, and no longer."""
