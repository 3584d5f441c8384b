"""Reading language: words, sentences, claims, dates, secrets. Pure functions of text."""
