"""From a question to the memories that answer it, with the reason for each."""
