"""The provenance check of deltas, under the name that the MemoryStore contract gives it."""

from tallystick.records.delta import check_provenance as _validate_delta_provenance

__all__ = ["_validate_delta_provenance"]
