"""From episodes to facts: rules, their filters and cadence, confidence and salience. Pure."""
