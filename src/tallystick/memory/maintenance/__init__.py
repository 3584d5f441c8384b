"""Status, check, restore, tidy, log, ledger and proofs."""
