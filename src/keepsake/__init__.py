"""keepsake: memory for AI agents that a person can read, replay and prove."""
