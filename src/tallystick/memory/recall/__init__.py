"""Recall and frames, receipts, feedback, evaluation, working sessions."""
