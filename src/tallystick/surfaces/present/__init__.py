"""Wording that all surfaces share: beliefs, events, reviews, times, names; text made safe to show."""
