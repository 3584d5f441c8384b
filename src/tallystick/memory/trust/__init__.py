"""What a program of a given trust may read: one rule, applied where records leave `Memory`."""
