"""What every concept stands on: the write gate, the index, masking of secrets, settings files, arguments."""
