"""What may be recorded? Pure: what is known and what is asked in, drafts of events or a refusal out."""
