"""Episodes to facts: rules, the language of their filters, how often, and what is worth promoting. Pure."""
