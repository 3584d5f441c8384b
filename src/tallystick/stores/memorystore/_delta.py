"""Where a delta is checked, under the name that the MemoryStore contract gives the check."""

from tallystick.records.delta import check_provenance as _validate_delta_provenance

__all__ = ["_validate_delta_provenance"]
