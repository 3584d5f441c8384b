"""The methods of `Memory`, grouped by what they are about."""
