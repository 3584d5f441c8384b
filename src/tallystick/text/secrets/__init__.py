"""Secrets in text: keys, tokens, passwords, card numbers; found and masked."""
