"""A graph of memories that stands alone: what it can do, two places to keep it, walking in it, merging, diagnosing."""

from __future__ import annotations

from tallystick.stores.phase.graph.diagnostics import Diagnostic, diagnose
from tallystick.stores.phase.graph.file_backed import FileBackedMemoryGraphStore
from tallystick.stores.phase.graph.in_memory import InMemoryMemoryGraphStore
from tallystick.stores.phase.graph.protocol import MemoryGraphStore

__all__ = ["Diagnostic", "FileBackedMemoryGraphStore", "InMemoryMemoryGraphStore", "MemoryGraphStore", "diagnose"]
