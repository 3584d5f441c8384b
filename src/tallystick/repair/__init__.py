"""What is wrong with a memory folder, and repairing it. `check` changes nothing."""
