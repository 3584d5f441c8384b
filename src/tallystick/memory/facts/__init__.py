"""Facts out of episodes: rules, consolidation, versions."""
