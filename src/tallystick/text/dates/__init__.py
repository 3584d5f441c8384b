"""When is meant: "last week", "in May", "on the 3rd", read in English and resolved against a moment."""
