"""What is wrong with a memory folder, and setting it right. `check` changes nothing; `mend` only what it was asked."""
